package connection

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/difference"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// connecting is what connect was told.
type connecting struct {
	client              clientconfig.Client
	app, name, file     string
	http, write, dryRun bool
	rotate              bool
}

// Connect is the verb that joins a client to the host.
func Connect(d *desk.Desk) *cobra.Command { return verbs{d}.connect() }

func (d verbs) connect() *cobra.Command {
	var c connecting
	cmd := d.WithJSON(&cobra.Command{
		Use: "connect [CLIENT]", Short: "join a client to this host, by its own configuration file", Args: desk.Words(0, 1),
		Long: `Tells what belongs into the configuration file of a client so that it reaches this
host, or writes it there with --write: one entry, and no other byte of the file,
with a copy of the file as it was beside it. The app that the client is to be is
made if it is not there; its token is kept in a file for you alone and stands in
no other; with --rotate it is a new one, and all others of the app end. Without
CLIENT, lists the clients that are known.

The client starts steward mcp serve; with --http it is given the address of the
host, and takes the token from the variable STEWARD_MCP_TOKEN.`,
		Example: "  steward connect claude --write\n  steward connect vscode --write --dry-run\n  steward connect cursor --app work --file ./.cursor/mcp.json --write\n  steward connect claude --write --rotate",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return d.clients()
			}
			return d.runConnect(cmd.Context(), args[0], c)
		},
		ValidArgs: clientconfig.Known(),
	})
	f := cmd.Flags()
	f.StringVar(&c.app, "app", "", "the app that the client is to be; the client's name if left out")
	f.StringVar(&c.name, "name", "steward", "the name of the entry in the client's file")
	f.StringVar(&c.file, "file", "", "another file than the client's usual one, such as a project's")
	f.BoolVar(&c.http, "http", false, "point the client at the host's address in place of starting steward mcp serve")
	f.BoolVar(&c.write, "write", false, "write the file")
	f.BoolVar(&c.rotate, "rotate", false, "with --write: give the app new tokens, as after a restore; its old ones end")
	f.BoolVar(&c.dryRun, "dry-run", false, "with --write: tell what would change, and change nothing")
	return cmd
}

// joined is what connect found or did.
type joined struct {
	Client    string         `json:"client"`
	File      string         `json:"file"`
	App       string         `json:"app"`
	Entry     strictjson.Raw `json:"entry"`
	Changes   bool           `json:"changes"` // whether the file has the entry in another form, or not at all
	Written   bool           `json:"written"`
	Backup    string         `json:"backup,omitzero"`
	TokenFile string         `json:"token_file"`
	AppAdded  bool           `json:"app_added"`
	Rotated   bool           `json:"tokens_rotated,omitzero"`
	Diff      string         `json:"diff"` // of the entry alone, with … in the place of what may be a secret

	then  string
	value strictjson.Value // Entry
}

func (d verbs) runConnect(ctx context.Context, name string, c connecting) error {
	var ok bool
	if c.client, ok = clientconfig.ClientOf(name); !ok {
		return trouble.New(trouble.Unknown, "no client is known as "+paper.Word(name)+"; known are "+strings.Join(clientconfig.Known(), ", "), "steward connect")
	}
	if c.dryRun && !c.write {
		return trouble.UsageOf("steward connect "+name+" --write --dry-run", "--dry-run is for --write")
	}
	if c.rotate && !c.write {
		return trouble.UsageOf("steward connect "+name+" --write --rotate", "--rotate is for --write")
	}
	if c.http && !c.client.TakesURL() {
		return trouble.UsageOf("steward connect "+name, "%s starts its servers itself and takes no address", c.client.Title)
	}
	if c.app == "" {
		c.app = c.client.Name
	}
	if c.file == "" {
		file, err := pathOf(c.client)
		if err != nil {
			return err
		}
		c.file = file
	}
	home, err := d.Home()
	if err != nil {
		return err
	}
	server, err := d.server(ctx, home, c)
	if err != nil {
		return err
	}
	entry := c.client.Entry(server, tokenName)
	before, err := readClient(c.file)
	if err != nil {
		return trouble.New(trouble.Failed, err.Error(), "name another file with --file")
	}
	after, err := c.client.Set(before, c.name, entry)
	if err != nil {
		return unreadable(c, err)
	}
	j := joined{Client: c.client.Name, File: c.file, App: c.app, Entry: entry.Append(nil), Changes: string(before) != string(after),
		TokenFile: TokenFile(home, c.app), Diff: changed(c, before, entry), then: c.client.Then, value: entry}
	if c.write && !c.dryRun {
		if err := d.join(ctx, c, &j, before, after); err != nil {
			return err
		}
	}
	return desk.Show(d.Desk, j, func(j joined) { d.tell(c, j) })
}

// changed tells what becomes of the entry. Of the rest of the file, and of secrets
// in the entry that is there, nothing is told.
func changed(c connecting, file []byte, entry strictjson.Value) string {
	was := ""
	if old, ok := c.client.Current(file, c.name); ok {
		was = c.client.Shown(c.name, old)
	}
	return difference.Patch(was, c.client.Shown(c.name, entry))
}

// server is this host as the client is to know it.
func (d verbs) server(ctx context.Context, home string, c connecting) (clientconfig.Server, error) {
	if c.http {
		status, err := desk.Ask(ctx, d.Desk, adminwire.HostStatus, adminwire.Empty{})
		if err != nil {
			return clientconfig.Server{}, err
		}
		if len(status.Listen) == 0 {
			return clientconfig.Server{}, trouble.New(trouble.Failed, "the host has no HTTP door", "steward connect "+c.client.Name)
		}
		return clientconfig.Server{Name: c.name, URL: status.Listen[0] + "/mcp"}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return clientconfig.Server{}, err
	}
	// The client need not have the folder's variable in its environment.
	return clientconfig.Server{Name: c.name, Command: self, Args: []string{"--home", home, "mcp", "serve", "--app", c.app}}, nil
}

func unreadable(c connecting, err error) error {
	f := fault.From(err)
	what := c.file + ": " + f.Text
	if line, ok := f.Details["line"].(int); ok {
		what += fmt.Sprintf(", on line %d", line)
	}
	next, ok := f.Details["fix"].(string)
	if !ok {
		next = "mend the file, which was left as it is, or name another one with --file"
	}
	return trouble.New(trouble.Failed, what, next)
}

// join makes the app and its token where they are not there, then writes the file.
func (d verbs) join(ctx context.Context, c connecting, j *joined, before, after []byte) (err error) {
	if err := d.ensureApp(ctx, c, j); err != nil {
		return err
	}
	if !j.Changes {
		return nil
	}
	j.Backup, err = replace(j.File, before, after)
	j.Written = err == nil
	if errors.Is(err, errMeanwhile) {
		return trouble.New(trouble.Later, err.Error(), "steward connect "+j.Client+" --write")
	}
	if err != nil {
		return trouble.New(trouble.Failed, err.Error(), "name another file with --file")
	}
	return nil
}

func (d verbs) tell(c connecting, j joined) {
	switch {
	case !c.write:
		d.Say("For %s, in %s:", c.client.Title, paper.Line(j.File))
		d.Say("%s", strings.TrimRight(paper.Block(string(c.client.Snippet(c.name, j.value)), "  "), " \n"))
		if !j.Changes {
			d.Say("It is there already.")
		}
		d.Next("steward connect " + c.client.Name + appFlag(c) + " --write")
		return
	case c.dryRun && j.Changes:
		d.Say("Would change %s:", paper.Line(j.File))
	case j.Changes:
		d.Say("Changed %s:", paper.Line(j.File))
	default:
		d.Say("%s has it already.", paper.Line(j.File))
	}
	if j.Diff != "" {
		d.Say("%s", paper.Block(strings.TrimRight(j.Diff, "\n"), "  "))
	}
	if c.dryRun && c.rotate {
		d.Say("Would give the app %s new tokens, and end its old ones.", paper.Line(j.App))
		d.Next("steward connect " + c.client.Name + appFlag(c) + " --write --rotate")
		return
	}
	if c.dryRun {
		d.Next("steward connect " + c.client.Name + appFlag(c) + " --write")
		return
	}
	if j.Backup != "" {
		d.Say("What it was is in %s.", paper.Line(j.Backup))
	}
	if j.AppAdded {
		d.Say("The app %s was made; its token is in %s, for you alone.", paper.Line(j.App), paper.Line(j.TokenFile))
		d.Next("steward grants add " + paper.Word(j.App) + " RESOURCE METHOD")
	}
	if j.Rotated {
		d.Say("The app %s has new tokens, in %s; its old ones have ended.", paper.Line(j.App), paper.Line(j.TokenFile))
	}
	if c.http {
		d.Say("Give the client the variable %s from %s.", tokenName, paper.Line(j.TokenFile))
	}
	d.Say("Then, in %s: %s.", c.client.Title, j.then)
}

func appFlag(c connecting) string {
	if c.app == c.client.Name {
		return ""
	}
	return " --app " + paper.Word(c.app)
}
