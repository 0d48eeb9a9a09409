// Package desk is what every verb of the command line stands on: the streams of
// one command, the folder of the host that it is for, and the way to that host.
// A verb asks the host with Ask and prints its reply with Show, so that --json is
// the admin wire's own reply everywhere; Conclude tells its trouble in two lines
// and gives the exit code (faces page, section 1).
//
// It promises that what is printed has no character that a terminal might obey.
// It decides nothing. A Desk belongs to one command and one goroutine, but for
// Ask, which several may use at once.
package desk

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

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

const nextStatus = "steward status"

// Desk is one command as it is being carried out.
type Desk struct {
	In       io.Reader
	Out, Err io.Writer
	HomeFlag string // the data folder that the command was told, if any
	JSON     bool   // print replies as one line of JSON
}

// Noun is a verb's parent, such as apps of apps list.
func (d *Desk) Noun(use, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: d.NoSuchVerb, RunE: ShowHelp}
	cmd.AddCommand(verbs...)
	return cmd
}

// ShowHelp is the action of a command that only has verbs.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// NoSuchVerb refuses a word that is no verb, and names the nearest one.
func (d *Desk) NoSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	next := HelpOf(cmd)
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		next = cmd.CommandPath() + " " + near[0]
	}
	return trouble.UsageOf(next, "%s has no verb %s", cmd.CommandPath(), paper.Word(args[0]))
}

// HelpOf is the command that tells how a command is written.
func HelpOf(cmd *cobra.Command) string { return cmd.CommandPath() + " --help" }

// Words checks how many words a verb got.
func Words(atLeast, atMost int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < atLeast || len(args) > atMost {
			return trouble.UsageOf(HelpOf(cmd), "the form is: %s", cmd.UseLine())
		}
		return nil
	}
}

// Many is more words than a command line holds.
const Many = 1 << 16

// WithJSON makes a verb a read verb.
func (d *Desk) WithJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&d.JSON, "json", false, "print the host's reply as one line of JSON")
	return cmd
}

// NamedHome is steward's folder as it was named, empty where nobody has named one.
func (d *Desk) NamedHome() string {
	if d.HomeFlag != "" {
		return d.HomeFlag
	}
	return os.Getenv("STEWARD_HOME")
}

// Home is the data folder of the host.
func (d *Desk) Home() (string, error) {
	home := d.NamedHome()
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

// Ask sends one request to the host of the data folder.
func Ask[Req, Rep any](ctx context.Context, d *Desk, m adminwire.Method[Req, Rep], req Req) (Rep, error) {
	var none Rep
	home, err := d.Home()
	if err != nil {
		return none, err
	}
	c := client.Dial(Socket(home))
	defer c.Close()
	rep, err := client.Call(ctx, c, m, req)
	var f *fault.Fault
	switch {
	case err == nil:
		return rep, nil
	case errors.As(err, &f):
		return none, err
	case errors.Is(err, client.ErrUnsafe):
		return none, trouble.New(trouble.Unsafe, err.Error(), "look who owns "+filepath.Dir(Socket(home))+"; if nobody else does, remove it and start steward up again")
	case m.Changes:
		return none, trouble.New(trouble.Failed, err.Error()+"; what was asked may have been done", "look first: "+nextStatus)
	default:
		return none, trouble.New(trouble.Failed, err.Error(), nextStatus)
	}
}

// Show prints a reply: as JSON where that is asked for, else by human.
func Show[Rep any](d *Desk, rep Rep, human func(Rep)) error {
	if d.JSON {
		return d.Encode(rep)
	}
	human(rep)
	return nil
}

// Conclude tells the trouble of a command, if any, and gives the exit code.
func (d *Desk) Conclude(cmd *cobra.Command, err error) int {
	if err = cmp.Or(err, trouble.Unprinted(outlet.Missing(d.Out))); err == nil {
		return trouble.Done
	}
	t := trouble.Of(err, HintsOf(cmd))
	fmt.Fprintf(d.Err, "error: %s\nnext: %s\n", paper.Line(t.What), paper.Line(d.Here(t.Next)))
	return t.Exit
}

// Looks is the annotation that names what lists the things a command is about.
const Looks = "looks"

// HintsOf are what helps with a command: what lists the things that it is about,
// and its own help.
func HintsOf(cmd *cobra.Command) trouble.Hints {
	h := trouble.Hints{List: "steward resources list", Help: HelpOf(cmd), Form: "steward review"}
	if look := cmd.Annotations[Looks]; look != "" {
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

// Here makes a command of ours work for the folder that this one was told.
func (d *Desk) Here(command string) string {
	rest, ours := strings.CutPrefix(command, "steward ")
	if !ours || d.HomeFlag == "" {
		return command
	}
	return "steward --home " + paper.Word(d.HomeFlag) + " " + rest
}

// Encode prints a value as one line of JSON.
func (d *Desk) Encode(v any) error {
	raw, err := strictjson.Encode(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.Out, "%s\n", paper.Escaped(string(raw)))
	return err
}

// Say prints one line.
func (d *Desk) Say(format string, args ...any) { fmt.Fprintf(d.Out, format+"\n", args...) }

// Next names the command that comes after this one.
func (d *Desk) Next(command string) { d.Say("next: %s", paper.Line(d.Here(command))) }

// Note tells of something beside the result.
func (d *Desk) Note(format string, args ...any) {
	fmt.Fprintf(d.Err, "note: %s\n", paper.Line(fmt.Sprintf(format, args...)))
}

// Progress tells how far long work is, to a person only.
func (d *Desk) Progress(format string, args ...any) {
	if outlet.Terminal(d.Err) {
		fmt.Fprintf(d.Err, "%s\n", paper.Line(fmt.Sprintf(format, args...)))
	}
}
