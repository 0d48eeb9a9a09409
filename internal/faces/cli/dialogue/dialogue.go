// Package dialogue has the verbs that talk with the agent of a session: session
// list, show, replay and stop, and turn, which is a plain terminal client of the session
// daemon. The verbs keep nothing.
package dialogue

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/internal/faces/cli/daemon"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

type verbs struct {
	*desk.Desk
	keeper daemon.Keeper
}

// Session is session with its verbs.
func Session(d *desk.Desk, k daemon.Keeper) *cobra.Command {
	v := verbs{d, k}
	return d.Noun("session", "look at the sessions of a workspace",
		v.verb("list", "list sessions", 0, func(ctx context.Context, c *executor.Client, _ []string) error { return v.list(ctx, c) }),
		v.verb("show SESSION", "show what was said in a session", 1, func(ctx context.Context, c *executor.Client, args []string) error { return v.show(ctx, c, args[0]) }),
		v.verb("replay SESSION", "print the durable record of a session, a line an event", 1, func(ctx context.Context, c *executor.Client, args []string) error {
			return v.replay(ctx, c, args[0], func(e sessionwire.Recorded) error { return v.Encode(e) })
		}),
		v.verb("stop SESSION", "stop the turn of a session, whoever started it", 1, func(ctx context.Context, c *executor.Client, args []string) error { return v.stop(ctx, c, args[0]) }),
	)
}

// verb makes a verb that asks a daemon that runs.
func (d verbs) verb(use, short string, words int, run func(context.Context, *executor.Client, []string) error) *cobra.Command {
	var w daemon.Where
	return d.WithJSON(w.Flags(&cobra.Command{
		Use: use, Short: short, Args: desk.Words(words, words),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := w.Locate(d.keeper, d.NamedHome())
			if err != nil {
				return err
			}
			c, err := daemon.Open(cmd.Context(), p)
			if err != nil {
				return daemon.Trouble(err)
			}
			defer c.Close()
			return daemon.Trouble(run(cmd.Context(), c, args))
		},
	}))
}

func (d verbs) list(ctx context.Context, c *executor.Client) error {
	all := struct {
		Sessions []listed `json:"sessions"`
	}{[]listed{}}
	active, err := inUse(ctx, c)
	if err != nil {
		return err
	}
	for after := (*string)(nil); ; {
		var page sessionwire.SessionListAnswer
		if err := c.Call(ctx, sessionwire.SessionList, "", nil, "", sessionwire.ListPayload{After: after}, &page); err != nil {
			return err
		}
		for _, row := range page.Sessions {
			l := listed{row, "idle", nil}
			if a, ok := active[row.SessionID]; ok {
				l.State, l.TurnID = a.State, a.TurnID
			}
			all.Sessions = append(all.Sessions, l)
		}
		if after = page.Next; after == nil {
			break
		}
	}
	if d.JSON {
		return d.Encode(all)
	}
	if len(all.Sessions) == 0 {
		d.Note(`there is no session yet: steward turn "PROMPT" begins one`)
		return nil
	}
	table := paper.NewTable("session", "updated", "state", "title")
	for _, s := range all.Sessions {
		at, err := time.Parse(time.RFC3339Nano, s.UpdatedAt)
		if err != nil {
			return err
		}
		table.Row(s.SessionID, paper.Stamp(at), s.State, s.Title)
	}
	table.Fit(d.Out)
	return nil
}

// line prints a line whose words may come from anywhere.
func (d verbs) line(format string, args ...any) {
	d.text(fmt.Sprintf(format, args...) + "\n")
}

func (d verbs) replay(ctx context.Context, c *executor.Client, session string, each func(sessionwire.Recorded) error) error {
	for after := (*string)(nil); ; {
		var page sessionwire.ReplayAnswer
		if err := c.Call(ctx, sessionwire.SessionReplay, session, nil, "", sessionwire.ReplayPayload{After: after}, &page); err != nil {
			return err
		}
		for _, e := range page.Events {
			if err := each(e); err != nil {
				return err
			}
		}
		if after = page.Next; after == nil {
			return nil
		}
	}
}

// said is what show reads of an event.
type said struct {
	Text   string `json:"text"`
	Name   string `json:"name"`
	Source string `json:"source"`
	Status string `json:"status"`
	Code   string `json:"code"`
}

// end is how a turn ended, with the reason where that is another word.
func (s said) end() string {
	if s.Code == "" || s.Code == s.Status {
		return s.Status
	}
	return s.Status + " " + s.Code
}

func (d verbs) show(ctx context.Context, c *executor.Client, session string) error {
	speaker, space := "", ""
	err := d.replay(ctx, c, session, func(e sessionwire.Recorded) error {
		if d.JSON {
			return d.Encode(e)
		}
		var s said
		if err := strictjson.DecodeReply(strictjson.Raw(e.Data), strictjson.Limits{}, &s); err != nil {
			return err
		}
		switch e.Kind {
		case "user_input", "assistant_chunk":
			if speaker != e.Kind {
				speaker = e.Kind
				fmt.Fprintf(d.Out, "%s%s: ", space, map[string]string{"user_input": "you", "assistant_chunk": "agent"}[e.Kind])
				space = "\n\n"
			}
			d.text(s.Text)
		case "tool_call":
			d.line("\n[%s tool %s]", s.Source, s.Name)
			space = ""
			speaker = ""
		case "turn_status":
			d.line("\n[%s]", s.end())
			space = "\n"
			speaker = ""
		}
		return nil
	})
	return err
}

// text prints a text whose lines are its own.
func (d verbs) text(text string) {
	for i, l := range strings.Split(text, "\n") {
		if i > 0 {
			fmt.Fprintln(d.Out)
		}
		_, _ = io.WriteString(d.Out, paper.Line(l)) // the outlet remembers an error
	}
}

// Turn is the verb that gives the agent a prompt.
func Turn(d *desk.Desk, k daemon.Keeper) *cobra.Command {
	var w daemon.Where
	var session string
	v := verbs{d, k}
	cmd := d.WithJSON(w.Flags(&cobra.Command{
		Use: `turn "PROMPT"`, Short: "give the agent of a session a prompt, and print its answer", Args: desk.Words(1, 1),
		Long: `Starts one turn in a session and prints what the agent says as it says it. Without
--session a new session is made. The daemon is started if it does not run. An
interrupt stops the turn.`,
		Example: "  steward turn \"what is in this folder?\"\n  steward turn --session ID \"and in the one below?\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := w.Locate(k, d.NamedHome())
			if err != nil {
				return err
			}
			return daemon.Trouble(v.turn(cmd.Context(), p, session, args[0]))
		},
	}))
	cmd.Flags().StringVar(&session, "session", "", "the session to go on with")
	return cmd
}

func (d verbs) turn(ctx context.Context, p daemon.Place, session, prompt string) error {
	c, _, err := daemon.Connect(ctx, d.keeper, p)
	if err != nil {
		return err
	}
	defer c.Close()
	if session == "" {
		if session, err = c.CreateSession(ctx, title(prompt)); err != nil {
			return err
		}
		d.Note("session %s", session)
	}
	s, err := c.Claim(ctx, session, false)
	if err != nil {
		return err
	}
	// An interrupt stops the turn; until its ID is there nobody could.
	started, err := s.Start(context.WithoutCancel(ctx), prompt)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		// The person has had enough; the turn's end still comes as an event.
		_ = s.Stop(context.WithoutCancel(ctx), started.TurnID)
	})
	defer stop()
	for e := range c.Events() {
		if e.Event == sessionwire.ControlRevoked {
			return d.takenOver(ctx, c, session)
		}
		if end, err := d.heard(e, p, session); end || err != nil {
			return err
		}
	}
	return c.Err()
}

// title is the first line of a prompt, short enough for a list.
func title(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	if r := []rune(line); len(r) > 60 {
		line = string(r[:60])
	}
	return line
}

// heard prints one event, and says whether it was the turn's end.
func (d verbs) heard(e sessionwire.Event, place daemon.Place, session string) (end bool, err error) {
	if d.JSON {
		if err := d.Encode(e); err != nil {
			return true, err
		}
	}
	lim := strictjson.Limits{}
	switch e.Event {
	case sessionwire.TurnDelta:
		var p sessionwire.DeltaPayload
		if err := strictjson.Decode(strictjson.Raw(e.Payload), lim, &p); err != nil {
			return true, err
		}
		if !d.JSON {
			d.text(p.Text)
		}
	case sessionwire.TurnActivity:
		var p sessionwire.ActivityPayload
		if err := strictjson.Decode(strictjson.Raw(e.Payload), lim, &p); err != nil {
			return true, err
		}
		d.Note("%s %s", p.Name, p.Summary)
	case sessionwire.TurnTerminal:
		var p sessionwire.TerminalPayload
		if err := strictjson.DecodeReply(strictjson.Raw(e.Payload), lim, &p); err != nil {
			return true, err
		}
		if !d.JSON {
			fmt.Fprintln(d.Out)
		}
		switch {
		case p.Status == "cancelled" && p.Error != nil:
			return true, trouble.New(trouble.Failed, p.Error.Message, "steward session show "+session)
		case p.Error == nil && p.AssistantText == "":
			d.Note("the agent has said nothing")
		}
		if p.Error != nil {
			return true, trouble.New(trouble.Failed, fmt.Sprintf("the turn %s: %s (%s)", p.Status, p.Error.Message, p.Error.Code), "look into the daemon's log, "+paper.Word(place.Log()))
		}
		return true, nil
	}
	return false, nil
}
