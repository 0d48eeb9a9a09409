// Package cli is the command line: the verbs that an owner types, grouped one
// noun a package below it, and here those of the host itself. Every verb is a client of the running host's admin socket, but
// for those that cmd/steward hands in: up, demo and the hidden ones (faces page,
// section 1).
//
// It promises that every failure is one line that says what is wrong and one
// that says what to do next, and one of the documented exit codes; that text
// from an upstream is shown with its unseen characters as escapes; and that
// --json prints the admin wire's own reply. It decides nothing: the host does.
// It does not promise the layout of its tables, which are for people.
//
// Answers are bounded by bound.AnswerBytes. Run keeps nothing between calls and
// may be called from several goroutines with streams of their own.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/faces/cli/bus"
	"github.com/stewardhost/steward/internal/faces/cli/copies"
	"github.com/stewardhost/steward/internal/faces/cli/daemon"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
)

// Host is what the program hands in: its own name for its version, and the verbs
// that are no clients. All are required but Hidden. An error that is a trouble.Trouble
// says itself what is told and with which exit code.
type Host struct {
	Version string
	// Up runs a host until ctx ends, and calls o.Ready once when everything
	// answers. It returns nil after an orderly stop.
	Up func(ctx context.Context, o UpOptions) error
	// Demo does the main job on its own and tells on out what it did.
	Demo func(ctx context.Context, out io.Writer) error
	// Keeper copies stores and restores them.
	Keeper copies.Keeper
	// Bus knows what servers of somebody else need.
	Bus bus.Keeper
	// Daemon runs the sessions of a workspace.
	Daemon daemon.Keeper
	// Hidden are verbs for the program's own child processes, by name. They get
	// the words after the name and give the exit code; no help lists them.
	Hidden map[string]func(args []string) int
}

// UpOptions are the settings of a host that is to be started.
type UpOptions struct {
	Listen  string // host:port of the HTTP doors
	Data    string // the folder, which need not exist
	Quiet   bool   // log problems only
	Debug   bool   // log what only an engineer wants to know, too
	JSON    bool   // log lines of JSON
	Metrics string // loopback address of the metrics, trouble.MetricsSocket, or empty for none
	// How often each resource behind an outside executor may be called.
	Ceiling budget.Ceiling
	// What may be reached beside public addresses, each an origin and a network.
	Exceptions []string
	Document   string      // URL of the client ID metadata document that names this steward; empty for none
	Servers    bus.Servers // of somebody else, that carry the bus; the zero value is none
	Ready      func(Doors) // must be called once, from any goroutine
}

// Doors is where a running host can be found.
type Doors struct {
	Listen []string // base URLs of the HTTP doors, without a slash at the end
}

// Run does what the words after the program's name say and returns the exit
// code. The first interrupt or SIGTERM ends ctx for the verb, which then stops in
// order; the second ends the process.
func Run(ctx context.Context, h Host, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if verb, ok := h.Hidden[args[0]]; ok {
			return verb(args[1:])
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	d := verbs{&desk.Desk{In: stdin, Out: outlet.New(stdout), Err: stderr}, h}
	root := d.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(d.Out)
	root.SetErr(stderr)
	return d.Conclude(root.ExecuteContextC(ctx))
}
