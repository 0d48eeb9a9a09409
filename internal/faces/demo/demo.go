// Package demo tells steward's main job as a story and does it: a real host, a
// real MCP server, real clients of both protocol eras, all on this machine, in a
// folder that is removed at the end.
//
// Every step states what must be true and the story ends with an error at the
// first step that is not so. It uses the same commands that a person types. It
// leaves no process and no file behind, also where it is killed, interrupted or
// no longer read: host and folder belong to a keeper, a process that ends them
// when the story's end of a pipe is closed. It promises nothing about speed. One
// process tells one story at a time.
package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// Options say where the story is told.
type Options struct {
	Self string    // the steward binary
	Out  io.Writer // the story
}

// story is everything that one run of the demo knows.
type story struct {
	ctx   context.Context
	self  string
	out   io.Writer
	dir   string // of the host's keeper, who removes it
	host  *host
	app   added
	tools map[string]string // method to its tool name
	sent  attempt           // the call that is cut

	socket string // of the session daemon
}

func (s *story) home() string    { return filepath.Join(s.dir, homeFolder) }
func (s *story) notes() string   { return filepath.Join(s.dir, "notes") }
func (s *story) pidFile() string { return filepath.Join(s.dir, "notes.pid") }

type step struct {
	title string
	run   func(*story) error
}

var steps = []step{
	{"Start the host", (*story).startHost},
	{"Look at what an MCP server offers, before anything is stored", (*story).dryRun},
	{"Import it, and read the definitions as they would be approved", (*story).importServer},
	{"Approve three methods, with the effects that each may have", (*story).approve},
	{"Add an app and grant it exactly these three", (*story).grant},
	{"The app connects to /mcp and sees exactly its methods", (*story).listLegacy},
	{"It writes a note and reads it back", (*story).callLegacy},
	{"The same endpoint in the stateless protocol of 2026-07-28", (*story).callModern},
	{"Sending something needs the owner's fresh yes for this exact input", (*story).confirmSend},
	{"The same transaction twice over /rpc/v1 is executed once", (*story).replay},
	{"A method that was not granted does not exist for the app", (*story).refuse},
	{"The server is killed in the middle of a call", (*story).cut},
	{"An equal call is held back, since nobody knows whether the first one happened", (*story).heldBack},
	{"The owner finds out and says so; the doubt is over", (*story).reconcile},
	{"Revoking a grant stops the next call", (*story).revoke},
	{"A capsule serves a folder as resources, to who was granted reading it", (*story).capsule},
	{"The capsule introspect shows the app what it may do here", (*story).introspection},
	{"A capsule of your own is a folder with a manifest and a program", (*story).ownCapsule},
	{"The journal is checked, row by row", (*story).verify},
	{"Start the session daemon of a folder", (*story).startDaemon},
	{"An application lends its clock to an agent session, and the agent uses it", (*story).lend},
	{"An application loses its connection in the middle of a call, and nothing runs twice", (*story).goAway},
	{"Stop the host and the daemon", (*story).stopHost},
}

// Run tells the whole story. Its error names the step that was not as stated.
// While it runs, a reader of standard output that goes away does not end the
// process.
func Run(ctx context.Context, o Options) error {
	unheard := make(chan os.Signal, 1)
	signal.Notify(unheard, syscall.SIGPIPE)
	defer signal.Stop(unheard)
	told := &telling{to: o.Out}
	s := &story{ctx: ctx, self: o.Self, out: told}
	defer func() {
		if s.host != nil {
			s.host.end()
		}
	}()
	began := time.Now()
	for i, st := range steps {
		fmt.Fprintf(s.out, "\n%2d  %s\n", i+1, st.title)
		if told.failed != nil {
			return fmt.Errorf("the story ends before step %d, since it cannot be told: %w", i+1, told.failed)
		}
		if err := st.run(s); err != nil {
			return fmt.Errorf("step %d, %q, is not as stated: %w", i+1, st.title, err)
		}
	}
	fmt.Fprintf(s.out, "\nAll %d steps were as stated, in %.1f s. Nothing of it is left on this machine.\n",
		len(steps), time.Since(began).Seconds())
	return told.failed
}

// telling remembers that nobody listens any more.
type telling struct {
	to     io.Writer
	failed error
}

func (t *telling) Write(p []byte) (int, error) {
	if t.failed != nil {
		return 0, t.failed
	}
	n, err := t.to.Write(p)
	t.failed = err
	return n, err
}

// say prints one line of the story.
func (s *story) say(format string, args ...any) {
	fmt.Fprintf(s.out, "    "+format+"\n", args...)
}

// must makes a claim of the story.
func must(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
