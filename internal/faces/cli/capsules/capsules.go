// Package capsules has the verbs about capsules, the small programs that hold
// context worth reading: capsule new, check, install, list, reads, logs and
// remove. new and check look at files here; all others ask the host. The verbs keep nothing.
package capsules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/folder"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Noun is capsule with its verbs.
func Noun(d *desk.Desk) *cobra.Command {
	v := verbs{d}
	return d.Noun("capsule", "programs that serve resources and tools to apps", v.newOne(), v.check(), v.install(), v.list(), v.reads(), v.logs(), v.remove())
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
			t := paper.NewTable("capsule", "version", "state", "starts", "serves", "from", "reason")
			for _, c := range all.Capsules {
				starts := fmt.Sprint(c.Restarts + 1)
				if c.State == "off" {
					starts = ""
				}
				t.Row(c.Name, c.Version, c.State, starts, strings.Join(c.Serves, ", "), from(c), c.Reason)
			}
			t.Write(d.Out, "")
			for _, c := range all.Capsules {
				if c.State == "off" || c.State == "changed" {
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
		Example: "  steward capsule install ./diary\n  steward capsule install files ~/Documents/notes\n  steward grants add assistant files read",
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return d.runInstall(cmd.Context(), args) }
	return cmd
}

func (d verbs) runInstall(ctx context.Context, words []string) error {
	req, said, err := wanted(words)
	if err != nil {
		return err
	}
	if said != "" {
		d.Note("%s", said)
	}
	c, err := desk.Ask(ctx, d.Desk, adminwire.CapsulesInstall, req)
	if err != nil {
		return err
	}
	return desk.Show(d.Desk, c, func(c adminwire.Capsule) {
		d.Say("The capsule %s is installed. Its source is %s.", paper.Line(c.Name), c.Source)
		name := d.standing(ctx, c.Name)
		if slices.Contains(c.Serves, "tools") {
			d.Say("Nothing can call its tools before you have looked at them.")
			d.Next("steward review " + paper.Word(name))
			return
		}
		d.Next("steward grants add APP " + paper.Word(name) + " read")
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

func (d verbs) reads() *cobra.Command {
	var limit int
	cmd := d.WithJSON(&cobra.Command{
		Use: "reads", Short: "which app read what, newest first", Args: desk.Words(0, 0),
		Long: `Lists the reads of resources as the audit trail has them: the app, the capsule and
what came of it. Equal ones of one minute may be one row. A read is no call and is
not in the journal; the calls of a capsule's tools are.`,
	})
	cmd.Flags().IntVar(&limit, "limit", 20, "so many rows at most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 1 || limit > bound.PageRows.Int() {
			return trouble.UsageOf("steward capsule reads", "--limit is from 1 to %d", bound.PageRows.Int())
		}
		all, err := desk.Ask(cmd.Context(), d.Desk, adminwire.CapsulesReads, adminwire.ListReads{Limit: limit})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, all, func(all adminwire.Readings) {
			if len(all.Reads) == 0 {
				d.Say("Nothing was read.")
				return
			}
			t := paper.NewTable("time", "app", "resource", "outcome", "times")
			for _, r := range all.Reads {
				t.Row(paper.Stamp(r.At), r.App, r.Resource, r.Outcome, fmt.Sprint(r.Count))
			}
			t.Fit(d.Out)
		})
	}
	return cmd
}

func (d verbs) check() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [FOLDER]", Short: "say what is wrong with a capsule's files, without a host", Args: desk.Words(0, 1),
		Long: `Reads the Capsule.toml of a folder, or of this one, and looks at the program or module
that it names, as an installation does. Nothing is run and nothing is changed.`,
		Example: "  steward capsule check ./diary",
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		path := "."
		if len(args) == 1 {
			path = args[0]
		}
		found, err := folder.Look(path)
		if err == nil {
			err = found.Check()
		}
		if err != nil {
			return err
		}
		d.Say("The capsule %s %s is one to install. It serves %s.", paper.Line(found.Name), paper.Line(found.Version), strings.Join(folder.Serves(found.Claim), " and "))
		if !strings.ContainsAny(path, "/.") { // a bare word is one that comes with the host
			path = "./" + path
		}
		d.Next("steward capsule install " + paper.Word(path))
		return nil
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
