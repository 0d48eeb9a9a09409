// Package daemon has the verbs of the session daemon: daemon start-or-connect,
// status, stop and foreground. Each prints one JSON object where it succeeds
// (sessions page, section 7). The verbs keep nothing.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/means/localsocket"
	"github.com/stewardhost/steward/internal/means/ownership"
)

// Place is where a daemon of a workspace and a state root is reached; both exist
// and are canonical.
type Place struct {
	Workspace, StateRoot, Socket string
}

// Log is the file into which a daemon that Launch started writes.
func (p Place) Log() string { return filepath.Join(p.StateRoot, "daemon.log") }

// Keeper is what the program hands in. All are required.
type Keeper struct {
	Version string // of this program
	// Locate names the place; it makes neither folder.
	Locate func(workspace, stateRoot string) (Place, error)
	// Serve runs the daemon until ctx ends or it was idle for long enough, and
	// calls ready once when it answers.
	Serve func(ctx context.Context, p Place, ready func()) error
	// Launch starts a daemon that outlives this process. The channel gets how it
	// ended, if it does.
	Launch func(p Place) (<-chan error, error)
}

// Standing is what a verb prints.
type Standing struct {
	Status    string `json:"status"` // started, connected, running, stopped or ready
	Version   string `json:"version"`
	Workspace string `json:"workspace"`
	StateRoot string `json:"state_root"`
	Socket    string `json:"socket"`
	Turns     *int   `json:"active_turns,omitzero"` // of status
}

const (
	patience = 30 * time.Second // for a daemon that starts, or ends its work before another can
	glance   = 20 * time.Millisecond
)

// Where is the place that a verb is about, as it was told.
type Where struct{ Workspace, StateRoot string }

// Flags adds the flags that name it.
func (w *Where) Flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&w.Workspace, "workspace", ".", "the folder that the sessions are about")
	cmd.Flags().StringVar(&w.StateRoot, "state-root", "", "where sessions are kept; the folder daemon of --home or $STEWARD_HOME, else the user's state folder, if left out")
	return cmd
}

// Locate makes the state root if it is missing and names the place. Home is steward's
// folder as it was named, or empty.
func (w *Where) Locate(k Keeper, home string) (Place, error) {
	state := w.StateRoot
	if state == "" && home != "" {
		state = filepath.Join(home, "daemon") // not among the host's own files
	}
	if state == "" {
		usual, err := usualState()
		if err != nil {
			return Place{}, trouble.New(trouble.Unsafe, "this user has no home folder", "name a folder with --state-root")
		}
		state = usual
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return Place{}, trouble.New(trouble.Unsafe, "the state root cannot be made", "name another folder with --state-root")
	}
	info, err := os.Stat(state)
	if err != nil || info.Mode().Perm()&0o022 != 0 || !ownership.Mine(info) {
		return Place{}, trouble.New(trouble.Unsafe, "the state root belongs to others or can be changed by them", "chmod 700 "+state)
	}
	p, err := k.Locate(w.Workspace, state)
	if err != nil {
		return Place{}, trouble.New(trouble.Usage, "the workspace is no folder", "name an existing folder with --workspace")
	}
	return p, nil
}

func usualState() (string, error) {
	if folder := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "steward"), nil
	}
	home, err := os.UserHomeDir()
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "steward", "state"), err
	}
	return filepath.Join(home, ".local", "state", "steward"), err
}

// Open connects an ordinary client to a daemon that runs.
func Open(ctx context.Context, p Place) (*executor.Client, error) {
	return executor.Open(ctx, executor.Options{Socket: p.Socket, Name: "steward", Version: "cli", Plain: true, Dial: dial})
}

func dial(ctx context.Context, path string) (net.Conn, error) { return localsocket.Dial(ctx, path) }

// Connect connects to the daemon of a place, and starts it if there is none. One
// that lets nobody in any more and still ends its work is waited for.
func Connect(ctx context.Context, k Keeper, p Place) (c *executor.Client, started bool, err error) {
	if c, err = Open(ctx, p); err == nil {
		return c, false, nil
	}
	ended, err := k.Launch(p)
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if c, err = Open(ctx, p); err == nil {
			return c, true, nil
		}
		select {
		case <-ctx.Done():
			return nil, false, trouble.New(trouble.Later, "the daemon does not answer", "steward daemon foreground, and see what it says")
		case err := <-ended: // perhaps because another one was faster
			if c, dialed := Open(ctx, p); dialed == nil {
				return c, false, nil
			}
			if codeOf(err) != trouble.Later {
				return nil, false, lastWords(codeOf(err), p.Log())
			}
			ended = nil
		case <-time.After(glance):
		}
		if ended == nil && localsocket.Free(p.Socket) {
			if ended, err = k.Launch(p); err != nil {
				return nil, false, err
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// codeOf passes on what the daemon's own process gave.
func codeOf(err error) int {
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return trouble.Failed
}

// Trouble is the trouble of a client: what the daemon refused, or that there is
// none.
func Trouble(err error) error {
	var refused *executor.Error
	var known *trouble.Trouble
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &refused):
		return trouble.New(exitOf(refused.Code), fmt.Sprintf("the daemon refused: %s (%s)", refused.Message, refused.Code), nextOf(refused.Code))
	case errors.Is(err, context.Canceled):
		return trouble.New(trouble.Failed, "interrupted", "steward session list")
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return trouble.New(trouble.Later, "no session daemon runs for this workspace and state root", "steward daemon start-or-connect")
	case errors.Is(err, syscall.EINVAL):
		return trouble.New(trouble.Unsafe, "the path of the daemon's socket is too long for this system", "set XDG_RUNTIME_DIR to a folder with a shorter name")
	}
	return err
}

// exitOf and nextOf say what a code of the wire means to whoever typed.
func exitOf(code string) int {
	switch code {
	case "unknown_session", "unknown_turn", "resource_not_found":
		return trouble.Unknown
	case "session_busy", "conflict", "limit_exceeded", "shutting_down", "configuration_busy":
		return trouble.Later
	case "invalid_payload":
		return trouble.Usage
	}
	return trouble.Failed
}

func nextOf(code string) string {
	switch code {
	case "session_busy":
		return "close the other program that has this session"
	case "conflict":
		return "wait for the turn that runs, or use another session"
	case "shutting_down":
		return "steward daemon start-or-connect"
	}
	return "steward session list"
}
