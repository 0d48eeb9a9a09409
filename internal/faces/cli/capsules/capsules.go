// Package capsules has the verbs about capsules, the small programs that hold
// context worth reading: capsule new, install, list, logs and remove. The verb new
// writes files here; all others ask the host. The verbs keep nothing.
package capsules

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Noun is capsule with its verbs.
func Noun(d *desk.Desk) *cobra.Command {
	v := verbs{d}
	return d.Noun("capsule", "programs that serve resources to apps", v.newOne(), v.install(), v.list(), v.logs(), v.remove())
}

type verbs struct{ *desk.Desk }

func (d verbs) list() *cobra.Command {
	cmd := d.WithJSON(&cobra.Command{Use: "list", Short: "list the installed capsules and how they stand", Args: desk.Words(0, 0)})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := desk.Ask(cmd.Context(), d.Desk, adminwire.CapsulesList, adminwire.Empty{})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, all, func(all adminwire.Capsules) {
			t := paper.NewTable("capsule", "version", "state", "starts", "from", "reason")
			for _, c := range all.Capsules {
				t.Row(c.Name, c.Version, c.State, fmt.Sprint(c.Restarts+1), from(c), c.Reason)
			}
			t.Write(d.Out, "")
			for _, c := range all.Capsules {
				if c.State == "off" {
					d.Next(sheet.Install(c.Folder, c.Name, c.Args))
					return
				}
			}
		})
	}
	return cmd
}

// from says where a capsule comes from.
func from(c adminwire.Capsule) string {
	if c.Folder != "" {
		return c.Folder
	}
	return strings.TrimSpace("this host " + strings.Join(c.Args, " "))
}

func (d verbs) install() *cobra.Command {
	cmd := d.WithJSON(&cobra.Command{
		Use: "install FOLDER|introspect|files [FOLDER]", Short: "run a capsule from now on, or its new build", Args: desk.Words(1, 2),
		Long: `Runs the capsule of a folder with a Capsule.toml, or one that comes with steward:
introspect shows apps, grants, calls and capsules; files serves a folder, read only.
runtime = "mcp" makes a capsule of an MCP server's resources, "wasm" runs a module.
A program has the rights of your user, a module none. Apps see its resources once they hold
the right read on it. Installing again takes in a changed build.`,
		Example: "  steward capsule install ./notes\n  steward capsule install files ~/Documents/notes\n  steward grants add assistant files read",
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return d.runInstall(cmd.Context(), args) }
	return cmd
}

// runInstall makes folders absolute, since the host stands elsewhere.
func (d verbs) runInstall(ctx context.Context, words []string) error {
	req := adminwire.InstallCapsule{What: words[0], Args: []string{}}
	var err error
	if strings.ContainsAny(req.What, "/.~") {
		req.What, err = filepath.Abs(req.What)
	}
	if err == nil && len(words) == 2 {
		var folder string
		folder, err = filepath.Abs(words[1])
		req.Args = append(req.Args, folder)
	}
	if err != nil {
		return err
	}
	c, err := desk.Ask(ctx, d.Desk, adminwire.CapsulesInstall, req)
	if err != nil {
		return err
	}
	return desk.Show(d.Desk, c, func(c adminwire.Capsule) {
		d.Say("The capsule %s is installed. Its source is %s.", paper.Line(c.Name), c.Source)
		d.Next("steward grants add APP " + paper.Word(c.Name) + " read")
	})
}

func (d verbs) logs() *cobra.Command {
	cmd := d.WithJSON(&cobra.Command{Use: "logs CAPSULE", Short: "what a capsule last wrote to standard error", Args: desk.Words(1, 1)})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log, err := desk.Ask(cmd.Context(), d.Desk, adminwire.CapsulesLogs, adminwire.CapsuleRef{Name: args[0]})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, log, func(log adminwire.CapsuleLog) {
			if log.Log == "" {
				log.Log = "It has written nothing."
			}
			fmt.Fprintln(d.Out, strings.TrimSuffix(log.Log, "\n"))
		})
	}
	return cmd
}

func (d verbs) remove() *cobra.Command {
	cmd := &cobra.Command{Use: "remove CAPSULE", Short: "end a capsule, and the grants on it, for good", Args: desk.Words(1, 1)}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := desk.Ask(cmd.Context(), d.Desk, adminwire.CapsulesRemove, adminwire.CapsuleRef{Name: args[0]}); err != nil {
			return err
		}
		d.Say("The capsule %s is removed. Its files are where they were.", paper.Line(args[0]))
		return nil
	}
	return cmd
}
