// Package scripted is a model that reads its part from a small text: no key, no
// network, the same answer every time. It serves the demo, tests, and whoever
// wants to see sessions work before choosing a model. docs/scripted-model.md
// tells the form.
//
// It promises that a script which Parse accepts can be followed to its end, and
// that the same conversation gets the same answer. It does not promise to be
// clever. Bounds: bound.ScriptBytes, bound.ScriptSteps. Faults: invalid_request
// with the line, for a script; upstream_failed where the script says so. A Script
// is immutable and safe for concurrent use.
package scripted

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Default is the script of a daemon that was given no model.
const Default = `on *
say This answer comes from the scripted model, which needs no key and no network.
say  Set STEWARD_MODEL to openai or anthropic for a real one, or STEWARD_MODEL_SCRIPT to a script of your own, and ` + "`steward daemon stop`" + ` first, since the daemon that runs keeps its settings.
`

// Script is a parsed script.
type Script struct{ scenes []scene }

// scene is what is said to the prompts that hold a text.
type scene struct {
	on     string // "*" is any
	rounds [][]step
}

type step struct {
	verb  string
	text  string        // of say: the text; of call: the arguments
	name  string        // of call
	pause time.Duration // of pause
}

const longestPause = 10 * time.Second

// Parse reads a script.
func Parse(text string) (*Script, error) {
	if err := bound.ScriptBytes.Check(len(text)); err != nil {
		return nil, err
	}
	s := &Script{}
	steps := 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if steps++; steps > bound.ScriptSteps.Int() {
			return nil, bound.ScriptSteps.Exceeded()
		}
		if err := s.line(line); err != nil {
			return nil, fault.Newf(fault.InvalidRequest, "line %d of the script: %s", i+1, err)
		}
	}
	if len(s.scenes) == 0 {
		return nil, fault.New(fault.InvalidRequest, `the script has no scene; one begins with "on"`)
	}
	return s, nil
}

func (s *Script) line(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	if verb == "on" {
		if rest = strings.TrimSpace(rest); rest == "" {
			return fmt.Errorf(`"on" wants a part of the prompt, or *`)
		}
		s.scenes = append(s.scenes, scene{on: rest, rounds: [][]step{nil}})
		return nil
	}
	if len(s.scenes) == 0 {
		return fmt.Errorf(`the first scene begins with "on"`)
	}
	c := &s.scenes[len(s.scenes)-1]
	last := &c.rounds[len(c.rounds)-1]
	if verb == "then" && rest == "" {
		if !calls(*last) {
			return fmt.Errorf(`"then" goes on after calls, and there are none before it`)
		}
		c.rounds = append(c.rounds, nil)
		return nil
	}
	next, err := parseStep(verb, rest)
	if err == nil {
		*last = append(*last, next)
	}
	return err
}

func calls(round []step) bool {
	for _, s := range round {
		if s.verb == "call" {
			return true
		}
	}
	return false
}

func parseStep(verb, rest string) (step, error) {
	switch verb {
	case "say":
		if strings.HasPrefix(rest, `"`) {
			var text string
			if err := strictjson.Decode([]byte(rest), strictjson.Limits{Bytes: bound.ScriptBytes}, &text); err != nil {
				return step{}, fmt.Errorf("the quoted text is no JSON string")
			}
			rest = text
		}
		return step{verb: verb, text: rest}, nil
	case "call":
		name, arguments, _ := strings.Cut(rest, " ")
		if name == "" {
			return step{}, fmt.Errorf(`"call" wants the name of a tool`)
		}
		if arguments == "" {
			arguments = "{}"
		}
		return step{verb: verb, name: name, text: arguments}, nil
	case "pause":
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > longestPause {
			return step{}, fmt.Errorf(`"pause" wants a time such as 200ms, at most %v`, longestPause)
		}
		return step{verb: verb, pause: d}, nil
	case "fail":
		return step{verb: verb}, nil
	}
	return step{}, fmt.Errorf(`a line begins with on, say, call, then, pause, fail or #`)
}

// Close does nothing.
func (*Script) Close() {}

// Ask plays the next answer of the first scene that fits the newest prompt. Text
// goes to delta, one part a "say"; an error of delta is returned as it is. A
// conversation that no scene fits is answered by silence.
func (s *Script) Ask(ctx context.Context, r conversation.Request, delta func(string) error) (conversation.Reply, error) {
	prompt, round, results := where(r)
	for _, c := range s.scenes {
		if c.on != "*" && !strings.Contains(prompt, c.on) {
			continue
		}
		if round >= len(c.rounds) {
			return conversation.Reply{}, ctx.Err()
		}
		return play(ctx, c.rounds[round], round, known(r, results), delta)
	}
	return conversation.Reply{}, ctx.Err()
}

// where tells the newest prompt, how many answers came to it, and the results of
// the last calls.
func where(r conversation.Request) (prompt string, round int, results []conversation.Result) {
	for _, m := range r.Messages {
		switch m.Role {
		case conversation.User:
			prompt, round, results = m.Text, 0, nil
		case conversation.Answers:
			round++
			results = m.Results
		}
	}
	return prompt, round, results
}

// known is what a say may repeat.
func known(r conversation.Request, results []conversation.Result) *strings.Replacer {
	names := make([]string, 0, len(r.Tools))
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	words := []string{"{tools}", strings.Join(names, " "), "{instructions}", r.Instructions}
	for i, res := range results {
		words = append(words, "{result "+strconv.Itoa(i+1)+"}", res.Text)
	}
	if len(results) > 0 {
		words = append(words, "{result}", results[0].Text)
	}
	return strings.NewReplacer(words...)
}

func play(ctx context.Context, steps []step, round int, known *strings.Replacer, delta func(string) error) (conversation.Reply, error) {
	var reply conversation.Reply
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return conversation.Reply{}, context.Cause(ctx)
		}
		switch s.verb {
		case "say":
			text := known.Replace(s.text)
			if text == "" {
				continue
			}
			reply.Text += text
			if err := delta(text); err != nil {
				return conversation.Reply{}, err
			}
		case "call":
			reply.Calls = append(reply.Calls, conversation.Call{
				ID: fmt.Sprintf("scripted-%d-%d", round+1, len(reply.Calls)+1), Name: s.name, Arguments: s.text,
			})
		case "pause":
			if err := wait(ctx, s.pause); err != nil {
				return conversation.Reply{}, err
			}
		case "fail":
			return conversation.Reply{}, fault.New(fault.UpstreamFailed, "the script lets the model fail here")
		}
	}
	return reply, nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
