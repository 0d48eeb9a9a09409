package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/apps"
	"github.com/stewardhost/steward/internal/faces/cli/bus"
	"github.com/stewardhost/steward/internal/faces/cli/calls"
	"github.com/stewardhost/steward/internal/faces/cli/capsules"
	"github.com/stewardhost/steward/internal/faces/cli/connection"
	"github.com/stewardhost/steward/internal/faces/cli/copies"
	"github.com/stewardhost/steward/internal/faces/cli/daemon"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/dialogue"
	"github.com/stewardhost/steward/internal/faces/cli/doctor"
	"github.com/stewardhost/steward/internal/faces/cli/grants"
	"github.com/stewardhost/steward/internal/faces/cli/intake"
	"github.com/stewardhost/steward/internal/faces/cli/manual"
	"github.com/stewardhost/steward/internal/faces/cli/resources"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

// verbs are those that need to know the program.
type verbs struct {
	*desk.Desk
	host Host
}

// The groups of the help.
const (
	groupStart  = "start"
	groupBring  = "bring"
	groupAllow  = "allow"
	groupLookAt = "look"
	groupTalk   = "talk"
)

func (d verbs) root() *cobra.Command {
	root := &cobra.Command{
		Use: "steward", Version: d.host.Version,
		Short: "lend tools and data to AI agents, under your control",
		Long:  manual.Story,
		Args:  d.NoSuchVerb, RunE: desk.ShowHelp,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 { // the flag may be one of the verb that was meant
			return d.NoSuchVerb(cmd, words)
		}
		what, _, _ := strings.Cut(err.Error(), ": strconv.") // the rest is Go's
		return trouble.UsageOf(desk.HelpOf(cmd), "%s", what)
	})
	root.PersistentFlags().StringVar(&d.HomeFlag, "home", "", "steward's folder: the host's data, and sessions")
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "tell how a command is written", Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err == nil {
				err = d.NoSuchVerb(about, rest)
			}
			if err != nil {
				return err
			}
			return about.Help()
		}})
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Run a host:"},
		&cobra.Group{ID: groupBring, Title: "Bring tools in:"},
		&cobra.Group{ID: groupAllow, Title: "Say who may do what:"},
		&cobra.Group{ID: groupLookAt, Title: "Use it and look at it:"},
		&cobra.Group{ID: groupTalk, Title: "Let an agent work, with the tools of local applications:"},
	)
	d.group(root, groupStart, d.up(), d.demo(), d.status(), doctor.New(d.Desk), d.version())
	d.group(root, groupStart, copies.Verbs(d.Desk, d.host.Keeper)...)
	d.group(root, groupBring, intake.Import(d.Desk), intake.Export(d.Desk), resources.Review(d.Desk), resources.Noun(d.Desk), capsules.Noun(d.Desk), bus.Noun(d.Desk, d.host.Bus))
	d.group(root, groupAllow, apps.Noun(d.Desk), connection.Connect(d.Desk), grants.Noun(d.Desk), calls.Confirm(d.Desk))
	d.group(root, groupLookAt, calls.Call(d.Desk), calls.Journal(d.Desk), connection.MCP(d.Desk))
	d.group(root, groupTalk, daemon.Noun(d.Desk, d.host.Daemon), dialogue.Session(d.Desk, d.host.Daemon), dialogue.Turn(d.Desk, d.host.Daemon))
	root.AddCommand(manual.ExitCodes(), manual.Pages(desk.Words(1, 1)))
	return root
}

func (d verbs) group(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}
