package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stewardhost/steward/cmd/steward/toolbox"
	"github.com/stewardhost/steward/internal/adapters/model"
	"github.com/stewardhost/steward/internal/adapters/sessionlog"
	"github.com/stewardhost/steward/internal/adapters/workspacecapture"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/faces/cli/daemon"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/faces/unixsocket"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/daemonlog"
	"github.com/stewardhost/steward/internal/means/localsocket"
	"github.com/stewardhost/steward/internal/service/sessions"
	"github.com/stewardhost/steward/internal/service/sessions/archive"
	"github.com/stewardhost/steward/internal/service/turns"
)

const (
	skillFolder = ".steward/skills"
	callIDBytes = 16
	stopSlack   = 5 * time.Second // beyond the grace of a turn, for the disk
)

// locate names where the daemon of a workspace and a state root is reached.
func locate(workspace, stateRoot string) (daemon.Place, error) {
	e, err := unixsocket.Locate(workspace, stateRoot, os.Getenv("XDG_RUNTIME_DIR"))
	return daemon.Place{Workspace: e.Workspace, StateRoot: e.StateRoot, Socket: e.Socket()}, err
}

// launchSessions starts a daemon of its own session, which writes its log into
// the state root.
func launchSessions(p daemon.Place) (<-chan error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := daemonlog.Open(p.Log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, "daemon", "foreground", "--workspace", p.Workspace, "--state-root", p.StateRoot) //nolint:noctx // it outlives this process
	cmd.Stderr = log
	cmd.Dir = p.StateRoot
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}

// serveSessions runs the daemon of a place until ctx ends, it was idle for long
// enough, or it cannot go on.
func serveSessions(ctx context.Context, p daemon.Place, ready func()) error {
	signal.Ignore(syscall.SIGHUP) // a terminal that goes away takes no session along
	log := slog.New(slog.NewTextHandler(daemonlog.NewWriter(os.Stderr, p.Log()), nil))
	e, err := unixsocket.Locate(p.Workspace, p.StateRoot, os.Getenv("XDG_RUNTIME_DIR"))
	if err != nil {
		return err
	}
	listener, err := e.Listen(log)
	switch {
	case errors.Is(err, localsocket.ErrUnsafe):
		return trouble.New(trouble.Unsafe, "the folder of the daemon's socket is not safe", "make "+e.Folder+" a folder of yours with mode 0700")
	case errors.Is(err, localsocket.ErrBusy):
		return trouble.New(trouble.Later, "the daemon runs already", "steward daemon status")
	case errors.Is(err, fs.ErrNotExist):
		return trouble.New(trouble.Unsafe, "the folder that XDG_RUNTIME_DIR names is not there", "unset XDG_RUNTIME_DIR, or name a folder of yours")
	case err != nil:
		return err
	}
	defer func() { _ = listener.Close() }() // last: whoever comes now finds no work of this process
	d, err := assembleSessions(ctx, e, log)
	if err != nil {
		return err
	}
	defer d.close()
	return d.serve(ctx, listener, ready)
}

// agency is one session daemon, wired.
type agency struct {
	model   model.Model
	files   *workspacecapture.Workspace
	service *sessions.Service
	server  *unixsocket.Server
	tools   *toolbox.Toolbox
}

func assembleSessions(ctx context.Context, e unixsocket.Endpoint, log *slog.Logger) (*agency, error) {
	settings, err := model.FromEnvironment(os.Getenv)
	if err != nil {
		return nil, unusable(err)
	}
	d := &agency{}
	if d.model, err = model.Open(settings); err != nil {
		return nil, unusable(err)
	}
	if d.tools, err = toolbox.New(os.Getenv("STEWARD_MCP_CONFIG"), version); err != nil {
		d.close()
		return nil, unusable(err)
	}
	if d.files, err = workspacecapture.Open(e.Workspace, e.StateRoot); err != nil {
		d.close()
		return nil, unusable(err)
	}
	name := strings.TrimSuffix(filepath.Base(e.Socket()), localsocket.SocketEnd)
	store, err := sessionlog.Open(filepath.Join(e.StateRoot, "sessions", name), time.Now, log)
	if err != nil {
		d.close()
		return nil, err
	}
	loop := turns.New(turns.Ports{
		Ask: d.model.Ask, Files: filesOf(d.files), Servers: d.tools.Servers(), NewID: newCallID, Log: log,
	}, turns.Options{Skills: skillsOf(ctx, d.files, log), Disabled: strings.FieldsFunc(os.Getenv("STEWARD_DISABLED"), func(r rune) bool { return r == ',' || r == ' ' })})
	d.service = sessions.New(sessions.Ports{
		Log: streams{store}, Names: loop.Names, Capture: d.files.Capture,
		RunTurn: func(ctx context.Context, plan turn.Plan, hands *sessions.Hands, record sessions.Record) turn.Outcome {
			return loop.Run(ctx, plan, hands, turns.Record(record))
		},
	})
	d.server = unixsocket.New(d.service, unixsocket.About{Version: version, Workspace: e.Workspace, StateRoot: e.StateRoot}, log)
	return d, nil
}

// unusable is the trouble of a setting that a person can mend.
func unusable(err error) error {
	return trouble.New(trouble.Unsafe, fault.From(err).Text, "see docs/scripted-model.md for the settings of the model")
}

func (d *agency) serve(ctx context.Context, l *localsocket.Listener, ready func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(ctx, l) }()
	ready()
	var err error
	select {
	case <-ctx.Done():
	case <-d.service.Idle():
	case err = <-served:
		served <- nil
	}
	stop()
	err = errors.Join(err, <-served)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound.TurnStop.Duration()+stopSlack)
	defer cancel()
	err = errors.Join(err, d.service.Close(drain))
	d.server.Close()
	return err
}

func (d *agency) close() {
	if d.files != nil {
		_ = d.files.Close() // it was read only
	}
	if d.tools != nil {
		d.tools.Close()
	}
	d.model.Close()
}

func newCallID() string {
	raw := make([]byte, callIDBytes)
	_, _ = rand.Read(raw) // it never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

func filesOf(w *workspacecapture.Workspace) turns.Files {
	return turns.Files{
		Read: w.Capture,
		List: func(ctx context.Context, folder string) ([]string, error) {
			entries, err := w.List(ctx, folder)
			names := make([]string, 0, len(entries))
			for _, e := range entries {
				if e.Folder {
					e.Name += "/"
				}
				names = append(names, e.Name)
			}
			return names, err
		},
		Search: w.Search,
	}
}

// skillsOf finds the skills of the workspace: one text file each, NAME.md. One that
// cannot be captured says nothing to the agent, which the log tells; its name is taken
// all the same, as that of every skill that was discovered.
func skillsOf(ctx context.Context, w *workspacecapture.Workspace, log *slog.Logger) []turns.Skill {
	entries, err := w.List(ctx, skillFolder)
	if err != nil {
		return nil // most workspaces have none
	}
	var out []turns.Skill
	left := bound.InstructionBytes.Int()
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name, ".md")
		if e.Folder || !ok {
			continue
		}
		text, err := w.Capture(ctx, skillFolder+"/"+e.Name, left)
		if err != nil {
			log.Warn("a skill of the workspace cannot be read; turns go without it", "skill", name, "err", err)
		}
		left -= len(text)
		out = append(out, turns.Skill{Name: name, Text: string(text)})
	}
	return out
}

// streams gives the store of sessions the shape in which the coordinator knows it.
type streams struct{ *sessionlog.Store }

func (s streams) List(ctx context.Context, after string, limit int) ([]archive.Listed, error) {
	rows, err := s.Store.List(ctx, after, limit)
	out := make([]archive.Listed, 0, len(rows))
	for _, r := range rows {
		out = append(out, archive.Listed(r))
	}
	return out, err
}

// Open keeps a nil pointer from becoming a stream.
func (s streams) Open(ctx context.Context, session string) (archive.Stream, []conversation.Message, error) {
	stream, history, err := s.Store.Open(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	return stream, history, nil
}
