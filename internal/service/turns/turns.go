// Package turns is the agent loop: it asks the model, runs what the model asks
// for, and goes on until the model asks for nothing more (sessions page, sections
// 8 and 9).
//
// It promises that a call's record is durable before the call goes out, that its
// result is durable before the model hears of it, and that what the assistant
// said is durable before Run returns; that text which does not fit the turn's
// budget is refused before it is accepted; that a call goes out at most once; and
// that application tools are never seen by a sub-agent. Calls of one answer run
// at once. It does not promise that a model is right about anything: what tools
// say is data to it as it is to us.
//
// Bounds: bound.TurnRounds, bound.TurnRoundCalls, bound.TurnDeltaBytes,
// bound.ArgumentBytes, bound.ResultValueBytes, bound.ToolDeadline,
// bound.AgentTools. A Loop keeps nothing of a turn and is safe for concurrent
// use; Run waits for every goroutine that it started.
package turns

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Ask puts one question to the model. Text goes to delta in parts, on the
// caller's goroutine; an error of delta ends the answer and comes back as it is.
type Ask func(ctx context.Context, r conversation.Request, delta func(string) error) (conversation.Reply, error)

// Hands are what a turn acts with; the session daemon's.
type Hands interface {
	// Say tells more of what the assistant says, at most bound.TurnDeltaBytes
	// encoded. An error means that nothing of it was accepted.
	Say(ctx context.Context, text string) error
	// Show tells what is being done.
	Show(ctx context.Context, kind, name, summary string)
	// Call runs an application tool, at most once.
	Call(ctx context.Context, c turn.Call) turn.Answer
}

// Record makes one record of the turn durable; data is the kind's struct.
type Record func(ctx context.Context, kind transcript.Kind, data any) error

// Ports are what the loop needs of the outside. There may be no Servers.
type Ports struct {
	Ask     Ask
	Files   Files
	Servers []Server
	NewID   func() string // a call id: 128 random bits in 22 characters
	Log     *slog.Logger
}

// Options say what the configuration adds.
type Options struct {
	Skills   []Skill  // discovered in the workspace, whether or not they are enabled
	Disabled []string // names of tools and skills that are switched off, in any case
}

// Skill is plain instruction text of the workspace; one without a text has nothing but
// its name.
type Skill struct{ Name, Text string }

// Loop runs turns.
type Loop struct {
	ports   Ports
	catalog catalog
}

// New returns a loop.
func New(p Ports, o Options) *Loop { return &Loop{p, newCatalog(p, o)} }

// Names gives every name that an application resource may not have, in lower
// case: built-in tools, discovered skills, and names that are switched off, as
// they were before anything was filtered. The prefix mcp_ is reserved whole.
func (l *Loop) Names() []string { return l.catalog.reserved() }

// Run runs one turn to its end.
func (l *Loop) Run(ctx context.Context, plan turn.Plan, hands Hands, record Record) turn.Outcome {
	w := &work{loop: l, plan: plan, hands: hands, record: record}
	tools := l.catalog.tools(ctx)
	a := &agent{work: w, seen: conversation.Seen{}, tools: tools, instructions: l.catalog.instructions(plan.Instructions), say: w.say}
	a.offered = offered(tools, plan.Tools)
	a.messages = append(slices.Clip(plan.History), conversation.Message{Role: conversation.User, Text: plan.Prompt})
	_, out := a.run(ctx)
	if err := w.flush(context.WithoutCancel(ctx)); err != nil {
		return failed(turn.CodePersistenceFailed)
	}
	return out
}

func failed(code string) turn.Outcome { return turn.Outcome{Status: turn.Failed, Code: code} }

var (
	completed = turn.Outcome{Status: turn.Completed}
	cancelled = turn.Outcome{Status: turn.Cancelled, Code: turn.CodeCancelled}
)

// work is one turn. The agent and the sub-agents of a turn share it.
type work struct {
	loop      *Loop
	plan      turn.Plan
	hands     Hands
	record    Record
	questions atomic.Int64

	said string // accepted and not yet durable; only the goroutine of Run has it
}

// chunk is how much text waits before it is made durable on its own.
const chunk = 4 << 10

// errEnd carries how the turn ends through the model's client.
type errEnd struct{ outcome turn.Outcome }

func (e errEnd) Error() string { return "the turn ends: " + e.outcome.Code }

// say takes what the model says: it is accepted part by part, then made durable.
func (w *work) say(ctx context.Context, text string) error {
	for text != "" {
		var part string
		part, text = transcript.Cut(text, bound.TurnDeltaBytes.Int())
		if err := w.hands.Say(ctx, part); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if fault.Is(err, fault.LimitExceeded) {
				return errEnd{failed(turn.CodeLimitExceeded)}
			}
			return errEnd{failed(turn.CodeInternalError)}
		}
		w.said += part
		if len(w.said) < chunk {
			continue
		}
		if err := w.flush(ctx); err != nil {
			return errEnd{failed(turn.CodePersistenceFailed)}
		}
	}
	return nil
}

// flush makes durable what was said.
func (w *work) flush(ctx context.Context) error {
	if w.said == "" {
		return nil
	}
	err := w.record(context.WithoutCancel(ctx), transcript.AssistantChunk, transcript.Chunk{Text: w.said})
	if err == nil {
		w.said = ""
	}
	return err
}

// agent is one conversation with the model: the turn's own, or a sub-agent's.
type agent struct {
	*work
	tools        []tool              // what this agent may call, without the application's
	offered      []conversation.Tool // those, and the application's
	instructions string
	messages     []conversation.Message
	say          func(ctx context.Context, text string) error
	seen         conversation.Seen
	parent       string // call id of the delegate call, or empty

	mu   sync.Mutex
	done effect.Outcome // the worst of what this agent's own calls did; under mu
}

// did notes what a call of the agent did.
func (a *agent) did(o effect.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done != effect.Uncertain && (o == effect.Reported || o == effect.Uncertain) {
		a.done = o
	}
}

// run asks until the model wants nothing more, and gives its last text.
func (a *agent) run(ctx context.Context) (string, turn.Outcome) {
	for round := 0; ; round++ {
		if ctx.Err() != nil {
			return "", cancelled
		}
		if a.questions.Add(1) > bound.TurnRounds.Max {
			return "", failed(turn.CodeLimitExceeded)
		}
		reply, err := a.loop.ports.Ask(ctx, conversation.Request{Instructions: a.instructions, Messages: a.messages, Tools: a.offered},
			func(text string) error { return a.say(ctx, text) })
		if err != nil {
			return "", a.broken(ctx, err)
		}
		if reply.Cut {
			a.hands.Show(ctx, "model", "cut", "the model came to its own limit before the end of its answer")
		}
		if len(reply.Calls) == 0 {
			return reply.Text, completed
		}
		if out, ok := a.answer(ctx, round, reply); !ok {
			return "", out
		}
	}
}

// broken says how a turn ends whose model did not answer.
func (a *agent) broken(ctx context.Context, err error) turn.Outcome {
	var end errEnd
	switch {
	case errors.As(err, &end):
		return end.outcome
	case ctx.Err() != nil:
		return cancelled
	}
	a.loop.ports.Log.Warn("the model did not answer", "turn", a.plan.TurnID, "err", err, "cause", errors.Unwrap(err))
	return failed(turn.CodeProviderError)
}

// answer runs the calls of one reply, all at once, and adds them with their
// results to the conversation. False ends the turn.
func (a *agent) answer(ctx context.Context, round int, reply conversation.Reply) (turn.Outcome, bool) {
	if err := a.seen.Check(reply); err != nil {
		return a.broken(ctx, err), false
	}
	if a.parent == "" {
		if err := a.flush(ctx); err != nil {
			return failed(turn.CodePersistenceFailed), false
		}
	}
	results := make([]conversation.Result, len(reply.Calls))
	ends := make([]string, len(reply.Calls))
	calling, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for i, c := range reply.Calls {
		all.Go(func() {
			if results[i], ends[i] = a.call(calling, round, c); ends[i] != "" {
				stop() // the turn is over; nothing else of it is waited for
			}
		})
	}
	all.Wait()
	a.messages = append(a.messages,
		conversation.Message{Role: conversation.Assistant, Text: reply.Text, Calls: reply.Calls},
		conversation.Message{Role: conversation.Answers, Results: results})
	if ctx.Err() != nil {
		return cancelled, false
	}
	return worst(ends)
}

// worst picks the code that a turn ends with: the first that is no mere
// cancellation of the others.
func worst(ends []string) (turn.Outcome, bool) {
	code := ""
	for _, e := range ends {
		if e != "" && (code == "" || code == turn.CodeCancelled) {
			code = e
		}
	}
	return failed(code), code == ""
}

// timed is the time that one of our own tools has.
func timed(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, bound.ToolDeadline.Duration(), errSlow)
}

var errSlow = fault.New(fault.Unavailable, "the tool did not answer in "+bound.ToolDeadline.Duration().Round(time.Second).String())
