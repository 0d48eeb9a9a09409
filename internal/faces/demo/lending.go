package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// The daemon's part of the story.
const (
	workFolder    = "work"
	runtimeFolder = "run"
	scriptFile    = "model"
)

// part is what the scripted model of the demo plays.
const part = `on time
say "Let me ask the application.\n"
call clock
then
say Its clock says {result}.
on alarm
call set_alarm {"at":"07:00"}
then
say The application answers {result}.
`

const (
	clockContract = `{"input_schema":{"type":"object","properties":{},"required":[],"additionalProperties":false},` +
		`"output_schema":{"type":"object","properties":{"now":{"type":"string","maxLength":40}},"required":["now"],"additionalProperties":false}}`
	alarmContract = `{"input_schema":{"type":"object","properties":{"at":{"type":"string","maxLength":5}},"required":["at"],"additionalProperties":false},` +
		`"output_schema":{"type":"object","properties":{"set":{"type":"boolean"}},"required":["set"],"additionalProperties":false}}`
)

// daemonEnv is the environment of the daemon's verbs in the story's folder.
func daemonEnv(dir string) []string {
	return []string{
		"XDG_RUNTIME_DIR=" + filepath.Join(dir, runtimeFolder), "STEWARD_MODEL=scripted",
		"STEWARD_MODEL_SCRIPT=" + filepath.Join(dir, scriptFile), "STEWARD_MCP_CONFIG=",
	}
}

// daemonFiles makes what the daemon needs.
func daemonFiles(dir string) error {
	for _, name := range []string{homeFolder, workFolder, runtimeFolder} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, scriptFile), []byte(part), 0o600)
}

// talk begins one turn of the story.
func (s *story) talk(ctx context.Context, session *executor.Session, prompt string) (sessionwire.StartAnswer, error) {
	s.say("The user says: %s", prompt)
	return session.Start(ctx, prompt)
}

// end waits for the end of a turn and gives what the agent said.
func (s *story) end(ctx context.Context, c *executor.Client, turn string) (string, error) {
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				return "", c.Err()
			}
			var p sessionwire.TerminalPayload
			if e.Event != sessionwire.TurnTerminal || strictjson.DecodeReply(strictjson.Raw(e.Payload), strictjson.Limits{}, &p) != nil || p.TurnID != turn {
				continue
			}
			return p.AssistantText, must(p.Status == "completed", "the turn ended as %s: %v", p.Status, p.Error)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// startDaemon finds the session daemon that the keeper has started.
func (s *story) startDaemon() error {
	return s.waitFor(func() error {
		var at struct {
			Status    string `json:"status"`
			Version   string `json:"version"`
			Workspace string `json:"workspace"`
			StateRoot string `json:"state_root"`
			Socket    string `json:"socket"`
			Turns     int    `json:"active_turns"`
		}
		if err := s.ask(&at, "daemon", "status", "--workspace", filepath.Join(s.dir, workFolder)); err != nil {
			return err
		}
		s.socket = at.Socket
		s.say("$ steward daemon start-or-connect")
		s.say("It runs, with a model that reads its part from a script: no key, no network.")
		return nil
	})
}

// lend has an application of this machine lend its clock to a session.
func (s *story) lend() error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	memory := executor.InProcess()
	defer memory.Close()
	c, err := executor.Open(ctx, executor.Options{Socket: s.socket, Name: "clock", Version: "1", Memory: memory, Tools: map[string]executor.Handler{
		"clock": func(context.Context, executor.Call) (any, error) {
			return map[string]string{"now": time.Now().Format(time.TimeOnly)}, nil
		},
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	session, err := s.lent(ctx, c, "", "clock", clockContract)
	if err != nil {
		return err
	}
	a, err := s.talk(ctx, session, "what time is it?")
	if err != nil {
		return err
	}
	text, err := s.end(ctx, c, a.TurnID)
	if err != nil {
		return err
	}
	s.say("The agent says: %s", strings.ReplaceAll(text, "\n", " "))
	return must(strings.Contains(text, `{"now":"`), "the agent did not use the clock")
}

// lent claims a session, a new one where there is none, and lends it one tool.
func (s *story) lent(ctx context.Context, c *executor.Client, id, tool, contract string) (*executor.Session, error) {
	if id == "" {
		var err error
		if id, err = c.CreateSession(ctx, "demo"); err != nil {
			return nil, err
		}
	}
	session, err := c.Claim(ctx, id, false)
	if err != nil {
		return nil, err
	}
	_, err = session.Lend(ctx, sessionwire.Resource{Kind: "tool", Name: tool, Description: "Of the demo's application.", Source: executor.Inline(contract)})
	return session, err
}

var errAway = errors.New("the connection is lost")

// goAway has an application lose its connection while it runs a call, and come
// back.
func (s *story) goAway() error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	memory := executor.InProcess()
	defer memory.Close()
	var alarms atomic.Int64
	ringing, back := make(chan struct{}), make(chan struct{})
	o := executor.Options{Socket: s.socket, Name: "alarm", Version: "1", Memory: memory, Tools: map[string]executor.Handler{
		"set_alarm": func(context.Context, executor.Call) (any, error) {
			alarms.Add(1)
			close(ringing)
			<-back
			return map[string]bool{"set": true}, nil
		},
	}}
	var session, turn string
	return executor.Keep(ctx, o, func(ctx context.Context, c *executor.Client) error {
		if session == "" {
			lent, err := s.lent(ctx, c, "", "set_alarm", alarmContract)
			if err != nil {
				close(back)
				return err
			}
			a, err := s.talk(ctx, lent, "set an alarm for seven")
			if err != nil {
				close(back)
				return err
			}
			session, turn = lent.ID, a.TurnID
			<-ringing
			s.say("The application sets the alarm, and its connection breaks before it can say so.")
			c.Close()
			return errAway
		}
		close(back)
		return s.settled(ctx, c, session, turn, alarms.Load())
	})
}

// settled tells what the evidence says after the application came back.
func (s *story) settled(ctx context.Context, c *executor.Client, id, turn string, alarms int64) error {
	session, err := c.Claim(ctx, id, false)
	if err != nil {
		return err
	}
	var text string
	if end := session.Snapshot.Terminal; end != nil {
		text = end.AssistantText
	} else if text, err = s.end(ctx, c, turn); err != nil {
		return err
	}
	evidence, err := session.Evidence(ctx, turn)
	if err != nil {
		return err
	}
	if err := must(len(evidence.Calls) == 1, "there are %d calls", len(evidence.Calls)); err != nil {
		return err
	}
	call := evidence.Calls[0]
	s.say("It comes back and tells what it did. The agent says: %s", text)
	s.say("The evidence of the call: %s, effects %s. The alarm was set once.", call.Status, call.ExternalEffects)
	return must(call.Status == "succeeded" && call.ExternalEffects == "reported" && alarms == 1, "it is %+v after %d alarms", call, alarms)
}
