// Package intake has the verb that brings servers in: import, with their refresh
// and removal. What fails is said of the one server, and the others go on. The
// verbs keep nothing.
package intake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/interview"
	"github.com/stewardhost/steward/internal/faces/cli/mcpfile"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Import is the verb.
func Import(d *desk.Desk) *cobra.Command { return verbs{d}.importing() }

type verbs struct{ *desk.Desk }

// importing is what import was told.
type importing struct {
	mcpfile.Source
	dryRun          bool
	refresh, remove string
}

func (d verbs) importing() *cobra.Command {
	var i importing
	cmd := d.WithJSON(&cobra.Command{
		Use: "import [FILE | URL]", Short: "list MCP servers and stage their tools for your review", Args: desk.Words(0, 1),
		Long: `Reads the configuration file of a common client as it is, or one command, starts
each server, lists its tools and stages them for review. Nothing becomes callable.
Known are mcpServers files, servers with inputs of VS Code, also in its settings,
and config.toml of Codex; comments are read over. ${NAME} and ${env:NAME} are
taken from your environment, and ${input:ID} is asked for in a terminal. What is
not understood is named with its line.

A relative command or cwd in the file is taken from the file's own folder; a bare
command is looked for in your PATH. The host starts what was found, by its full
path. FILE may be - for standard input.

A server at an address is reached over HTTP. One that leads to this machine or to
your own network is refused, with the exception that would let it through; give
that with --except if it is what you mean.`,
		Example: `  steward import ~/mcp.json --dry-run
  steward import ~/mcp.json
  steward import --command "npx -y some-server --flag" --name files --env ROOT=/srv --env TOKEN
  steward import https://tools.example/mcp --name tools --header 'Authorization: Bearer ${TOKEN}'
  steward import --refresh files`,
		RunE: func(cmd *cobra.Command, args []string) error {
			i.File = strings.Join(args, "")
			return d.runImport(cmd.Context(), i)
		},
	})
	f := cmd.Flags()
	f.StringVar(&i.Command, "command", "", "one server's command line, in place of FILE")
	f.StringVar(&i.Name, "name", "", "the name of the server that --command starts or URL is the address of")
	f.StringArrayVar(&i.Env, "env", nil, "`NAME=VALUE` in the environment of --command, or NAME to hand yours on; may stand several times")
	f.StringArrayVar(&i.Headers, "header", nil, "`NAME: VALUE` to send to URL; ${VARIABLE} in it keeps a secret out of the command")
	f.StringArrayVar(&i.Except, "except", nil, "`ORIGIN=NETWORK` that is not public and may be reached all the same; may stand several times")
	f.BoolVar(&i.dryRun, "dry-run", false, "tell what would become of each tool, and store nothing")
	f.StringVar(&i.refresh, "refresh", "", "list an imported server anew; what changed is off until you review it")
	f.StringVar(&i.remove, "remove", "", "take an imported server and its resource out for good")
	d.CompleteFlag(cmd, "refresh", desk.Server)
	d.CompleteFlag(cmd, "remove", desk.Server)
	return cmd
}

// check holds the flags of import against each other.
func (i importing) check() error {
	sources := 0
	for _, s := range []string{i.File, i.Command, i.refresh, i.remove} {
		if s != "" {
			sources++
		}
	}
	const form = "steward import --help"
	switch {
	case sources != 1:
		return trouble.UsageOf(form, "give one of FILE, --command, --refresh and --remove")
	case i.dryRun && (i.refresh != "" || i.remove != ""):
		return trouble.UsageOf(form, "--dry-run is for FILE and --command")
	case (i.Command == "" && !i.Remote()) != (i.Name == "") || i.Command == "" && len(i.Env) > 0 || !i.Remote() && len(i.Headers) > 0:
		return trouble.UsageOf(form, "--command and URL need --name, --env is for --command and --header for URL")
	}
	return nil
}

func (d verbs) runImport(ctx context.Context, i importing) error {
	if err := i.check(); err != nil {
		return err
	}
	switch {
	case i.refresh != "":
		return d.refresh(ctx, i.refresh)
	case i.remove != "":
		return d.remove(ctx, i.remove)
	}
	loaded, err := i.Load(d.In, d.asker(ctx, i))
	var f *fault.Fault
	if errors.Is(err, fs.ErrNotExist) && i.File != "" {
		return trouble.New(trouble.Failed, "there is no file "+paper.Word(i.File)+" here", "name the file of a client that has an mcpServers object: steward import FILE")
	}
	if err != nil && !errors.As(err, &f) {
		return trouble.New(trouble.Failed, err.Error(), "mend that, or name another file: steward import FILE")
	}
	if err != nil {
		return err
	}
	for _, note := range loaded.Notes {
		d.Note("%s", note)
	}
	if len(loaded.Servers) == 0 {
		return trouble.New(trouble.Failed, "every server of the file is switched off in it", "switch one on there, then "+d.Here(i.Again()))
	}
	// Whether a host runs is one trouble, not one for each server.
	if _, err := desk.Ask(ctx, d.Desk, adminwire.HostVersion, adminwire.Empty{}); err != nil {
		return err
	}
	if i.dryRun {
		return d.plan(ctx, i, loaded.Servers)
	}
	return d.stage(ctx, i, loaded.Servers)
}

// asker asks a person for the inputs of a file, and nobody where there is none.
func (d verbs) asker(ctx context.Context, i importing) func(clientconfig.Input) (string, bool) {
	if i.File == "-" || !outlet.Terminal(d.In) || !outlet.Terminal(d.Err) {
		return func(clientconfig.Input) (string, bool) { return "", false }
	}
	return interview.New(ctx, d.In, d.Err).Input
}

// Export is the verb that gives the imported servers back.
func Export(d *desk.Desk) *cobra.Command { return verbs{d}.export() }

func (d verbs) export() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "print the imported servers as an mcpServers file, without their secrets", Args: desk.Words(0, 0),
		Long: `Prints the servers that you imported as a file that clients and steward import
read. What looks like a secret is told as ${NAME}; give it in your environment
when you import the file again.`,
		Example: "  steward export > mcp.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := desk.Ask(cmd.Context(), d.Desk, adminwire.ImportExport, adminwire.Empty{})
			if err != nil {
				return err
			}
			var servers []clientconfig.Server
			for _, s := range all.Servers {
				servers = append(servers, clientconfig.Server{Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Cwd: s.Cwd, URL: s.URL, Headers: s.Headers})
			}
			d.Say("%s", paper.JSON(clientconfig.Export(servers), ""))
			return nil
		},
	}
}

func (d verbs) refresh(ctx context.Context, server string) error {
	r, err := desk.Ask(ctx, d.Desk, adminwire.ImportRefresh, adminwire.ServerRef{Server: server})
	if err != nil {
		return err
	}
	return desk.Show(d.Desk, r, func(r adminwire.Review) {
		sheet.Methods(d.Out, r.Methods)
		d.nextReviews(r)
	})
}

func (d verbs) remove(ctx context.Context, server string) error {
	rep, err := desk.Ask(ctx, d.Desk, adminwire.ImportRemove, adminwire.ServerRef{Server: server})
	if err != nil {
		return err
	}
	return desk.Show(d.Desk, rep, func(adminwire.Empty) {
		d.Say("%s is out of the pool. Its grants stay as evidence and allow nothing.", paper.Line(server))
	})
}

func (d verbs) plan(ctx context.Context, i importing, servers []mcpfile.Located) error {
	parts := make([]adminwire.Plan, len(servers))
	failed, err := mcpfile.Each(servers, d.starting, func(n int, one adminwire.Import) (err error) {
		parts[n], err = desk.Ask(ctx, d.Desk, adminwire.ImportPlan, one)
		return err
	})
	if err != nil {
		return err
	}
	all := adminwire.Plan{Tools: []adminwire.PlannedTool{}}
	for n, p := range parts {
		all.Tools, all.Failed = append(all.Tools, p.Tools...), append(all.Failed, mcpfile.Joined(failed[n], p.Failed)...)
	}
	err = desk.Show(d.Desk, all, func(p adminwire.Plan) {
		if len(p.Tools) > 0 {
			sheet.Plan(d.Out, p.Tools)
			d.Say("Nothing was stored.")
			d.Next(i.Again())
		}
	})
	return errors.Join(err, d.failures(i, all.Failed, len(servers)))
}

func (d verbs) stage(ctx context.Context, i importing, servers []mcpfile.Located) error {
	parts := make([]adminwire.Imported, len(servers))
	failed, err := mcpfile.Each(servers, d.starting, func(n int, one adminwire.Import) (err error) {
		parts[n], err = desk.Ask(ctx, d.Desk, adminwire.ImportAdd, one)
		return err
	})
	if err != nil {
		return err
	}
	all := adminwire.Imported{Reviews: []adminwire.Review{}}
	for n, p := range parts {
		all.Reviews, all.Failed = append(all.Reviews, p.Reviews...), append(all.Failed, mcpfile.Joined(failed[n], p.Failed)...)
		all.Known = append(all.Known, p.Known...)
	}
	err = desk.Show(d.Desk, all, func(done adminwire.Imported) {
		for _, name := range done.Known {
			d.Say("%s is known already, as the file has it.", paper.Line(name))
		}
		if len(done.Reviews) > 0 {
			sheet.Plan(d.Out, sheet.Planned(done.Reviews))
		}
		d.nextReviews(done.Reviews...)
	})
	return errors.Join(err, d.failures(i, all.Failed, len(servers)))
}

func (d verbs) nextReviews(reviews ...adminwire.Review) {
	for _, r := range reviews {
		if len(sheet.Waiting(r)) > 0 {
			d.Next("steward review " + paper.Word(r.Resource.Label))
		}
	}
}

func (d verbs) starting(server string) { d.Progress("%s: starting it and listing its tools", server) }

// failures names the servers that failed, with what they said themselves.
func (d verbs) failures(i importing, failed []adminwire.FailedServer, of int) error {
	if len(failed) == 0 {
		return nil
	}
	for n, s := range failed {
		if exception, ok := s.Error.Details["exception"].(string); ok {
			again := i
			again.Except = append(slices.Clone(i.Except), exception)
			failed[n].Error.Details["fix"] = again.Again()
		}
	}
	sheet.Failed(d.Err, failed, d.Here)
	return trouble.New(trouble.Failed, fmt.Sprintf("%d of %s could not be imported", len(failed), paper.Count(of, "server")),
		"mend that, then "+d.Here(i.Again()))
}
