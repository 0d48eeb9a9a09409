package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/internal/adapters/sessionlog"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// callbackCommits is how many records become durable, one after the other, between
// what the agent says before a call and what it says after it: that text, the
// binding, the result.
const callbackCommits = 3

// callbackTurns is how many turns with a call are measured: a daemon keeps the
// evidence of 256 for ten minutes (guide, Reconnect evidence).
const callbackTurns = 240

const (
	callbackScript   = "on *\nsay Acting.\ncall act {\"what\":\"x\"}\nthen\nsay The application says {result}.\n"
	callbackContract = `{"input_schema":{"type":"object","properties":{"what":{"type":"string","maxLength":64}},"required":["what"],"additionalProperties":false},` +
		`"output_schema":{"type":"object","properties":{"done":{"type":"string","maxLength":64}},"required":["done"],"additionalProperties":false},"timeout_ms":20000}`
)

// agent measures the session daemon: its memory, and a callback's round trip beyond
// its commits, which are measured beside it, since a disk has its moods.
func (b *bench) agent() error {
	d, err := b.daemon()
	if err != nil {
		return err
	}
	defer d.close()
	<-time.After(2 * time.Second)
	resident, err := meter.Resident(d.cmd.Process.Pid)
	if err != nil {
		return err
	}
	c, s, err := lend(b.ctx, d.socket)
	if err != nil {
		return err
	}
	defer c.Close()
	commit, closed, err := b.commits()
	if err != nil {
		return err
	}
	defer closed()
	var trips, commits []float64
	for range callbackTurns {
		if _, err := s.Start(b.ctx, "act"); err != nil {
			return err
		}
		took, err := callback(c)
		if err != nil {
			return err
		}
		one, err := commit()
		if err != nil {
			return err
		}
		trips, commits = append(trips, ms(took)), append(commits, ms(one))
	}
	trip, one := meter.Median(trips), meter.Median(commits)
	b.add(row{what: "callback round trip (model asks, executor answers, model goes on) beyond its commits, p50", figure: trip - callbackCommits*one, unit: "ms", bar: 1, stretch: 0.4,
		beside: fmt.Sprintf("p50 %.2f ms with %d commits of %.2f ms", trip, callbackCommits, one)})
	b.add(row{what: "resident memory of the session daemon, idle", figure: float64(resident) / (1 << 20), unit: "MiB", bar: 40, stretch: 30, beside: "2 s after ready"})
	c.Close()
	return errors.Join(d.cmd.Process.Signal(syscall.SIGTERM), d.cmd.Wait())
}

type sessionDaemon struct {
	cmd    *exec.Cmd
	socket string
	run    string // folder of the socket
}

// close leaves nothing of a daemon, which was told to end before.
func (d *sessionDaemon) close() {
	_ = d.cmd.Process.Kill()
	_ = os.RemoveAll(d.run)
}

// daemon starts a session daemon with the script as its model.
func (b *bench) daemon() (*sessionDaemon, error) {
	run, err := os.MkdirTemp("", "ses-") // a socket's path is short
	if err != nil {
		return nil, err
	}
	script := filepath.Join(b.dir, "callback.script")
	if err := os.WriteFile(script, []byte(callbackScript), 0o600); err != nil {
		return nil, err
	}
	work := filepath.Join(b.dir, "agent")
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	d := &sessionDaemon{run: run, cmd: exec.Command(b.steward, "daemon", "foreground", "--workspace", work, "--state-root", filepath.Join(b.dir, "agent-state"))}
	d.cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+run, "STEWARD_MODEL=scripted", "STEWARD_MODEL_SCRIPT="+script)
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	var ready struct {
		Socket string `json:"socket"`
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	d.socket = ready.Socket
	if err != nil {
		return nil, errors.Join(err, d.cmd.Process.Kill(), d.cmd.Wait(), os.RemoveAll(run))
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // nothing more of it is of use
	return d, nil
}

// lend attaches an application that lends one tool to a session of its own.
func lend(ctx context.Context, socket string) (*executor.Client, *executor.Session, error) {
	act := func(context.Context, executor.Call) (any, error) { return map[string]string{"done": "yes"}, nil }
	c, err := executor.Open(ctx, executor.Options{Socket: socket, Name: "bench", Version: "1", Memory: executor.InProcess(), Tools: map[string]executor.Handler{"act": act}})
	if err != nil {
		return nil, nil, err
	}
	session, err := c.CreateSession(ctx, "")
	if err != nil {
		return c, nil, err
	}
	s, err := c.Claim(ctx, session, false)
	if err == nil {
		_, err = s.Lend(ctx, sessionwire.Resource{Kind: "tool", Name: "act", Description: "Acts.", Source: executor.Inline(callbackContract)})
	}
	return c, s, err
}

// callback is the time from the agent's word before a call to its word after it. It
// returns when the turn has ended.
func callback(c *executor.Client) (took time.Duration, err error) {
	var began time.Time
	for e := range c.Events() {
		switch {
		case e.Event == sessionwire.TurnDelta && began.IsZero():
			began = time.Now()
		case e.Event == sessionwire.TurnDelta:
			took = time.Since(began)
		case e.Event == sessionwire.TurnTerminal && took == 0:
			return 0, errors.New("the turn ended without its call")
		case e.Event == sessionwire.TurnTerminal:
			return took, nil
		}
	}
	return 0, c.Err()
}

// commits measures what one durable record takes on the same disk.
func (b *bench) commits() (commit func() (time.Duration, error), closed func(), err error) {
	store, err := sessionlog.Open(filepath.Join(b.dir, "records"), time.Now, slog.New(slog.DiscardHandler))
	if err == nil {
		err = store.Create(b.ctx, "S", "")
	}
	if err != nil {
		return nil, nil, err
	}
	w, _, err := store.Open(b.ctx, "S")
	return func() (time.Duration, error) {
		began := time.Now()
		err := w.Append(b.ctx, "T", transcript.AssistantChunk, transcript.Chunk{Text: strings.Repeat("x", 400)})
		return time.Since(began), err
	}, func() { _ = w.Close() }, err
}
