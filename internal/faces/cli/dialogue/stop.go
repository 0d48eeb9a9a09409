package dialogue

import (
	"context"
	"time"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// listed is one session of list. A session that is not in use is idle.
type listed struct {
	sessionwire.SessionRow
	State  string  `json:"state"`
	TurnID *string `json:"turn_id"`
}

// inUse gives the sessions that are controlled or at work.
func inUse(ctx context.Context, c *executor.Client) (map[string]sessionwire.ActiveRow, error) {
	var active sessionwire.ActiveAnswer
	err := c.Call(ctx, sessionwire.SessionActive, "", nil, "", sessionwire.Empty{}, &active)
	out := map[string]sessionwire.ActiveRow{}
	for _, a := range active.Sessions {
		out[a.SessionID] = a
	}
	return out, err
}

// stopped is what stop prints.
type stopped struct {
	SessionID string `json:"session_id"`
	TurnID    string `json:"turn_id"`
	Status    string `json:"status"`
}

var errNoTurn = trouble.New(trouble.Failed, "no turn runs in this session", "steward session list")

// stopSlack is beyond the grace of a turn, for the disk.
const stopSlack = 5 * time.Second

const (
	stopSoon = 2 * time.Second // in which who takes a session over to stop its turn does so
	glance   = 50 * time.Millisecond
)

// takenOver is the trouble of a turn whose session another program took over. Where
// that was to stop it, the record says so once the turn has ended.
func (d verbs) takenOver(ctx context.Context, c *executor.Client, session string) error {
	other := trouble.New(trouble.Failed, "another program took the session over", "steward session list")
	soon, over := time.Now().Add(stopSoon), time.Now().Add(bound.TurnStop.Duration()+stopSlack)
	for {
		active, err := inUse(ctx, c)
		if err != nil {
			return other
		}
		state := active[session].State
		if state == "" || state == "idle" {
			break
		}
		if now := time.Now(); state != "cancelling" && now.After(soon) || now.After(over) {
			return other
		}
		select {
		case <-ctx.Done():
			return other
		case <-time.After(glance):
		}
	}
	status := ""
	err := d.replay(ctx, c, session, func(e sessionwire.Recorded) error {
		if e.Kind != "turn_status" {
			return nil
		}
		var s said
		err := strictjson.DecodeReply(strictjson.Raw(e.Data), strictjson.Limits{}, &s)
		status = s.Status
		return err
	})
	if err != nil || status != "cancelled" {
		return other
	}
	return trouble.New(trouble.Failed, "the turn was stopped by another program", "steward session show "+session)
}

// stop takes the session over, if a turn runs in it, since whoever has it may be gone
// or hang, and waits for the turn's end.
func (d verbs) stop(ctx context.Context, c *executor.Client, session string) error {
	active, err := inUse(ctx, c)
	if err != nil {
		return err
	}
	if used, ok := active[session]; ok && used.State == "idle" {
		return errNoTurn
	}
	s, err := c.Claim(ctx, session, true)
	if err != nil {
		return err
	}
	t := s.Snapshot.Turn
	if t == nil {
		return errNoTurn
	}
	if err := s.Stop(ctx, t.TurnID); err != nil {
		return err
	}
	over := time.After(bound.TurnStop.Duration() + stopSlack)
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				return c.Err()
			}
			var p sessionwire.TerminalPayload
			if e.Event != sessionwire.TurnTerminal {
				continue
			}
			if err := strictjson.DecodeReply(strictjson.Raw(e.Payload), strictjson.Limits{}, &p); err != nil {
				return err
			}
			return desk.Show(d.Desk, stopped{session, p.TurnID, p.Status}, func(s stopped) { d.line("the turn is %s", s.Status) })
		case <-over:
			return trouble.New(trouble.Later, "the turn has not ended yet", "steward session list")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
