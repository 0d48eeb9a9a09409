package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/manual"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

const nextStatus = "steward status"

// desk is one command as it is being carried out.
type desk struct {
	host     Host
	in       io.Reader
	out, err io.Writer
	homeFlag string
	json     bool
}

// The groups of the help.
const (
	groupStart  = "start"
	groupBring  = "bring"
	groupAllow  = "allow"
	groupLookAt = "look"
)

func (d *desk) root() *cobra.Command {
	root := &cobra.Command{
		Use: "steward", Version: d.host.Version,
		Short: "lend tools and data to AI agents, under your control",
		Long:  manual.Story,
		Args:  d.noSuchVerb, RunE: showHelp,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		what, _, _ := strings.Cut(err.Error(), ": strconv.") // the rest is Go's
		return trouble.UsageOf(helpOf(cmd), "%s", what)
	})
	root.PersistentFlags().StringVar(&d.homeFlag, "home", "", "the data folder of the host")
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Run a host:"},
		&cobra.Group{ID: groupBring, Title: "Bring tools in:"},
		&cobra.Group{ID: groupAllow, Title: "Say who may do what:"},
		&cobra.Group{ID: groupLookAt, Title: "Use it and look at it:"},
	)
	d.group(root, groupStart, d.up(), d.demo(), d.status(), d.version())
	d.group(root, groupBring, d.importing(), d.review(), d.resources())
	d.group(root, groupAllow, d.apps(), d.grants(), d.confirm())
	d.group(root, groupLookAt, d.call(), d.journal())
	root.AddCommand(manual.ExitCodes(), manual.Pages(words(1, 1)))
	return root
}

func (d *desk) group(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

// noun is a verb's parent, such as apps of apps list.
func (d *desk) noun(use, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: d.noSuchVerb, RunE: showHelp}
	cmd.AddCommand(verbs...)
	return cmd
}

func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

func (d *desk) noSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	next := helpOf(cmd)
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		next = cmd.CommandPath() + " " + near[0]
	}
	return trouble.UsageOf(next, "%s has no verb %s", cmd.CommandPath(), paper.Word(args[0]))
}

func helpOf(cmd *cobra.Command) string { return cmd.CommandPath() + " --help" }

// words checks how many words a verb got.
func words(atLeast, atMost int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < atLeast || len(args) > atMost {
			return trouble.UsageOf(helpOf(cmd), "the form is: %s", cmd.UseLine())
		}
		return nil
	}
}

const many = 1 << 16

// withJSON makes a verb a read verb.
func (d *desk) withJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&d.json, "json", false, "print the host's reply as one line of JSON")
	return cmd
}

// home is the data folder.
func (d *desk) home() (string, error) {
	home := d.homeFlag
	if home == "" {
		home = os.Getenv("STEWARD_HOME")
	}
	if home == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return "", trouble.New(trouble.Unsafe, "this user has no configuration folder", "name a data folder with --home or in STEWARD_HOME")
		}
		home = filepath.Join(base, "steward")
	}
	return filepath.Abs(home)
}

// Socket is where the host of a data folder listens for its owner.
func Socket(home string) string { return filepath.Join(home, "run", "admin.sock") }

// ask sends one request to the host of the data folder.
func ask[Req, Rep any](ctx context.Context, d *desk, m adminwire.Method[Req, Rep], req Req) (Rep, error) {
	var none Rep
	home, err := d.home()
	if err != nil {
		return none, err
	}
	c := Dial(Socket(home))
	defer c.Close()
	rep, err := Call(ctx, c, m, req)
	var f *fault.Fault
	switch {
	case err == nil:
		return rep, nil
	case errors.As(err, &f):
		return none, err
	case errors.Is(err, ErrUnsafe):
		return none, trouble.New(trouble.Unsafe, err.Error(), "look who owns "+filepath.Dir(Socket(home))+"; if nobody else does, remove it and start steward up again")
	case m.Changes:
		return none, trouble.New(trouble.Failed, err.Error()+"; what was asked may have been done", "look first: "+nextStatus)
	default:
		return none, trouble.New(trouble.Failed, err.Error(), nextStatus)
	}
}

// show prints a reply: as JSON where that is asked for, else by human.
func show[Rep any](d *desk, rep Rep, human func(Rep)) error {
	if d.json {
		return d.encode(rep)
	}
	human(rep)
	return nil
}

// conclude tells the trouble of a command, if any, and gives the exit code.
func (d *desk) conclude(cmd *cobra.Command, err error) int {
	if err = cmp.Or(err, trouble.Unprinted(outlet.Missing(d.out))); err == nil {
		return trouble.Done
	}
	t := trouble.Of(err, hints(cmd))
	fmt.Fprintf(d.err, "error: %s\nnext: %s\n", paper.Line(t.What), paper.Line(d.here(t.Next)))
	return t.Exit
}

// looks is the annotation that names what lists the things a command is about.
const looks = "looks"

func hints(cmd *cobra.Command) trouble.Hints {
	h := trouble.Hints{List: "steward resources list", Help: helpOf(cmd), Form: "steward review"}
	if look := cmd.Annotations[looks]; look != "" {
		h.List = look
	} else if cmd.HasParent() {
		for _, verb := range cmd.Parent().Commands() {
			if verb.Name() == "list" {
				h.List = verb.CommandPath()
			}
		}
	}
	return h
}

// here makes a command of ours work for the folder that this one was told.
func (d *desk) here(command string) string {
	rest, ours := strings.CutPrefix(command, "steward ")
	if !ours || d.homeFlag == "" {
		return command
	}
	return "steward --home " + paper.Word(d.homeFlag) + " " + rest
}

func (d *desk) encode(v any) error {
	raw, err := strictjson.Encode(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.out, "%s\n", paper.Escaped(string(raw)))
	return err
}

func (d *desk) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// next names the command that comes after this one.
func (d *desk) next(command string) { d.say("next: %s", paper.Line(d.here(command))) }

// note tells of something beside the result.
func (d *desk) note(format string, args ...any) {
	fmt.Fprintf(d.err, "note: %s\n", paper.Line(fmt.Sprintf(format, args...)))
}

// progress tells how far long work is, to a person only.
func (d *desk) progress(format string, args ...any) {
	if outlet.Terminal(d.err) {
		fmt.Fprintf(d.err, "%s\n", paper.Line(fmt.Sprintf(format, args...)))
	}
}
