// Package copies has the verbs that copy a host's store and put a copy in its place:
// backup and restore. They are no clients of the host: a backup is made beside it, a
// restore where none runs. What they do is handed in; the verbs keep nothing.
package copies

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

// Keeper does the work. Both may be called once a process; their errors are told as
// they are.
type Keeper struct {
	Backup  func(ctx context.Context, o BackupOptions) (Backup, error)
	Restore func(ctx context.Context, o RestoreOptions) (Restore, error)
}

// Progress tells of a step, and of how much of it is done; a total of zero is not
// known.
type Progress func(step string, done, total int64)

// BackupOptions say what is copied, and where to.
type BackupOptions struct {
	Data     string // the host's folder
	To       string // a file that is not there
	WithKey  bool
	Progress Progress
}

// Backup is a copy that was made, also as the machine form of the verb.
type Backup struct {
	File   string    `json:"file"`
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256"`
	Key    string    `json:"key,omitzero"`
	At     time.Time `json:"at"`

	BusKeys bool `json:"bus_keys_left_out,omitzero"` // the host has keys for servers of the bus
}

// RestoreOptions say what is put in place of what.
type RestoreOptions struct {
	Data     string
	From     string
	Key      string // empty: the one beside the backup, or the folder's own
	Replace  bool
	Progress Progress
}

// Restore is what a restore took back, also as the machine form of the verb.
type Restore struct {
	At            time.Time `json:"at"`
	Node          string    `json:"node"`
	Tokens        int64     `json:"tokens_revoked"`
	Grants        int64     `json:"grants_to_consent"`
	Methods       int64     `json:"methods_to_review"`
	Servers       int64     `json:"servers_off"`
	SignIns       int64     `json:"sign_ins_forgotten"`
	Questions     int64     `json:"questions_denied"`
	Indeterminate int       `json:"indeterminate"`
	Capsules      []Capsule `json:"capsules_off"`
	Trail         string    `json:"trail"` // ok, or where it does not hold
	Replaced      string    `json:"replaced,omitzero"`
	BusServers    string    `json:"bus_servers,omitzero"` // that do not know this host yet
}

// Capsule is one that is switched off since the restore.
type Capsule struct {
	Name    string `json:"name"`
	Install string `json:"install"`          // the command that runs it again
	Missing string `json:"missing,omitzero"` // the folder of its files, where they are not there
}

type verbs struct {
	*desk.Desk
	keeper Keeper
}

// Verbs are backup and restore.
func Verbs(d *desk.Desk, k Keeper) []*cobra.Command {
	v := verbs{d, k}
	return []*cobra.Command{v.backup(), v.restore()}
}

const nameForm = "steward-20060102T150405Z.backup"

func (d verbs) backup() *cobra.Command {
	var withKey bool
	cmd := d.WithJSON(&cobra.Command{
		Use: "backup FILE|FOLDER", Short: "copy the host's store, also while it runs", Args: desk.Words(1, 1),
		Long: `Copies the store as it is at one instant into a new file, or into a file named
after the time in a folder that is there. The host may go on meanwhile. Programs are
not in it: those of servers and capsules stay where they are. The root key
is left out, so that the copy alone tells no secret: keep keys/root elsewhere, or let
--with-key put a copy of it beside the backup.`,
		Example: "  steward backup ./backups\n  steward backup ./pool.backup --with-key",
	})
	cmd.Flags().BoolVar(&withKey, "with-key", false, "copy the root key too, into FILE.key")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		home, err := d.Home()
		if err != nil {
			return err
		}
		to, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		if info, err := os.Stat(to); err == nil && info.IsDir() {
			to = filepath.Join(to, time.Now().UTC().Format(nameForm))
		}
		bar := d.bar()
		got, err := d.keeper.Backup(cmd.Context(), BackupOptions{Data: home, To: to, WithKey: withKey, Progress: bar.tell})
		bar.end()
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, got, func(b Backup) {
			t := paper.NewTable()
			t.Row("backup", b.File)
			t.Row("size", paper.Count(int(b.Bytes), "byte"))
			t.Row("sha256", b.SHA256)
			if b.Key != "" {
				t.Row("root key", b.Key)
			} else {
				t.Row("root key", "left out; it is "+filepath.Join(home, "keys", "root"))
			}
			if b.BusKeys {
				t.Row("bus keys", "in no backup; a host elsewhere makes its own, and the servers of the bus need its lines: steward bus config")
			}
			t.Write(d.Out, "")
		})
	}
	return cmd
}

func (d verbs) restore() *cobra.Command {
	var o RestoreOptions
	cmd := d.WithJSON(&cobra.Command{
		Use: "restore FILE", Short: "make a backup the store of a host that does not run", Args: desk.Words(1, 1),
		Long: `Puts a backup in the place of the store of a host that does not run. What was done
since the backup is not known to it, so that nothing of before the restore is
trusted: all tokens are revoked, imported methods and all grants need your new yes,
imported servers and capsules are switched off and what you signed in to is forgotten,
calls that were not over are in doubt, and a tx of before the restore is refused.
Nothing is executed again. A store that is there is kept aside with --replace.`,
		Example: "  steward restore ./pool.backup\n  steward restore ./pool.backup --replace --key ./root.copy",
	})
	cmd.Flags().StringVar(&o.Key, "key", "", "the backup's root key; FILE.key or the folder's own if left out")
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "put a store that is there aside")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if o.Data, err = d.Home(); err != nil {
			return err
		}
		if o.From, err = filepath.Abs(args[0]); err != nil {
			return err
		}
		if _, err := os.Stat(o.From); err != nil {
			return trouble.UsageOf(desk.HelpOf(cmd), "the backup cannot be read: %v", err)
		}
		bar := d.bar()
		o.Progress = bar.tell
		got, err := d.keeper.Restore(cmd.Context(), o)
		bar.end()
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, got, d.restored)
	}
	return cmd
}

func (d verbs) restored(r Restore) {
	d.Say("The store is restored, and nothing of before it is trusted.")
	t := paper.NewTable("", "because of the restore")
	t.Row(paper.Count(int(r.Tokens), "token"), "revoked; to give an app new ones: steward apps rotate")
	t.Row(paper.Count(int(r.Grants), "grant"), "to consent to again: steward grants add")
	t.Row(paper.Count(int(r.Methods), "method"), "to approve again: steward review")
	t.Row(paper.Count(int(r.Servers), "server"), "switched off; to start one again: steward import --refresh")
	t.Row(paper.Count(len(r.Capsules), "capsule"), "switched off; to run one again: steward capsule install")
	t.Row(paper.Count(int(r.SignIns), "sign-in"), "forgotten; to sign in again: steward resources authorize")
	t.Row(paper.Count(r.Indeterminate, "call"), "in doubt: steward journal list --indeterminate")
	t.Row(paper.Count(int(r.Questions), "question"), "denied")
	t.Write(d.Out, "")
	for _, c := range r.Capsules {
		if c.Missing != "" {
			d.Note("the folder of the capsule %s is not there, and no backup has it: %s", paper.Line(c.Name), paper.Line(c.Missing))
		}
		d.Note("to run the capsule %s again, once the host is up: %s", paper.Line(c.Name), c.Install)
	}
	if r.Trail != "ok" {
		d.Note("the backup's audit trail does not hold: %s", r.Trail)
	}
	if r.BusServers != "" {
		d.Note("no backup has the keys of the bus, and %s know others; every one of these servers needs the lines of: steward bus config", paper.Line(r.BusServers))
	}
	if r.Replaced != "" {
		d.Note("the files of the store that was there are in %s", r.Replaced)
	}
	d.Next("steward up")
}
