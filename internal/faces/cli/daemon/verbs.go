package daemon

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/means/localsocket"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

type verbs struct {
	*desk.Desk
	keeper Keeper
}

// Noun is daemon with its verbs.
func Noun(d *desk.Desk, k Keeper) *cobra.Command {
	v := verbs{d, k}
	return d.Noun("daemon", "run the sessions of a workspace",
		v.verb("start-or-connect", "make sure that the daemon runs", `Starts the session daemon of a workspace unless it runs already, and prints where it
is. The daemon goes on when this command has ended, and stops by itself once
nobody has used it for 16 minutes. Its model is chosen by the environment in which
it is started; see docs/scripted-model.md.`, v.start),
		d.WithJSON(v.verb("status", "tell whether the daemon runs", "", v.status)), // which is JSON either way
		v.verb("stop", "stop the daemon, unless a turn runs", `Stops the session daemon of a workspace. While a turn runs it refuses; stop the turn
first (steward session stop), or send the daemon a SIGTERM.`, v.stop),
		v.verb("foreground", "run the daemon here", "Runs the session daemon until an interrupt or SIGTERM, which lets turns end.", v.foreground),
	)
}

func (d verbs) verb(use, short, long string, run func(context.Context, Place) error) *cobra.Command {
	var w Where
	return w.Flags(&cobra.Command{
		Use: use, Short: short, Long: long, Args: desk.Words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := w.Locate(d.keeper, d.NamedHome())
			if err != nil {
				return err
			}
			return Trouble(run(cmd.Context(), p))
		},
	})
}

func (d verbs) print(status string, version string, p Place) error {
	return d.Encode(Standing{Status: status, Version: version, Workspace: p.Workspace, StateRoot: p.StateRoot, Socket: p.Socket})
}

func (d verbs) start(ctx context.Context, p Place) error {
	c, started, err := Connect(ctx, d.keeper, p)
	if err != nil {
		return err
	}
	defer c.Close()
	status := "connected"
	if started {
		status = "started"
	}
	return d.print(status, c.Capabilities().Server.Version, p)
}

func (d verbs) status(ctx context.Context, p Place) error {
	c, s, err := standing(ctx, p)
	if err != nil {
		return err
	}
	defer c.Close()
	return d.Encode(Standing{"running", s.Version, p.Workspace, p.StateRoot, p.Socket, &s.ActiveTurns})
}

// standing joins the daemon of a place, and asks how it is. The caller closes the
// client.
func standing(ctx context.Context, p Place) (c *executor.Client, s sessionwire.StatusAnswer, err error) {
	if c, err = Open(ctx, p); err != nil {
		return nil, s, err
	}
	if err = c.Call(ctx, sessionwire.Status, "", nil, "", sessionwire.Empty{}, &s); err != nil {
		c.Close()
		return nil, s, err
	}
	return c, s, nil
}

func (d verbs) foreground(ctx context.Context, p Place) error {
	err := d.keeper.Serve(ctx, p, func() {
		_ = d.print("ready", d.keeper.Version, p) // a daemon that nobody hears has not failed
	})
	return err
}

var errNoPeer = errors.New("the daemon's process is unknown")

// stop asks whether a turn runs, and else sends the process that listens a
// SIGTERM. A turn that is accepted in between ends as shutdown.
func (d verbs) stop(ctx context.Context, p Place) error {
	c, s, err := standing(ctx, p)
	if err != nil {
		return err
	}
	defer c.Close()
	if s.ActiveTurns > 0 {
		return trouble.New(trouble.Later, "a turn runs", "steward session list, and steward session stop SESSION")
	}
	pid, err := peerOf(ctx, p.Socket)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	if err := gone(ctx, c, p); err != nil {
		return err
	}
	return d.print("stopped", s.Version, p)
}

// gone waits until the daemon has let its connections, its socket and its name go.
func gone(ctx context.Context, c *executor.Client, p Place) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return trouble.New(trouble.Later, "the daemon still ends its work", "steward daemon status")
		case <-c.Done():
		}
		if !exists(p.Socket) && localsocket.Free(p.Socket) {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(glance):
		}
	}
}
