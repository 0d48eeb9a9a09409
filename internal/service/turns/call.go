package turns

import (
	"context"
	"errors"
	"slices"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// call runs one call and gives what the model is told, or the terminal code with
// which the turn ends.
func (a *agent) call(ctx context.Context, round int, c conversation.Call) (conversation.Result, string) {
	if ctx.Err() != nil {
		return conversation.Result{}, turn.CodeCancelled
	}
	if a.parent == "" && slices.ContainsFunc(a.plan.Tools, func(t conversation.Tool) bool { return t.Name == c.Name }) {
		answer := a.hands.Call(ctx, turn.Call{Round: round, ProviderCallID: c.ID, Name: c.Name, Arguments: c.Arguments})
		return conversation.Result{CallID: c.ID, Failed: answer.Status != transcript.Succeeded, Text: answer.Text}, answer.Fatal
	}
	at := slices.IndexFunc(a.tools, func(t tool) bool { return t.Name == c.Name })
	if at < 0 {
		return a.refuse(ctx, round, c, transcript.Builtin, "unknown_tool", "there is no tool of this name")
	}
	if err := bound.ArgumentBytes.Check(len(c.Arguments)); err != nil {
		return a.refuse(ctx, round, c, a.tools[at].source, "invalid_arguments", fault.From(err).Text)
	}
	if _, err := strictjson.Members([]byte(c.Arguments), strictjson.Limits{Bytes: bound.ArgumentBytes}); err != nil {
		return a.refuse(ctx, round, c, a.tools[at].source, "invalid_arguments", "the arguments must be one JSON object")
	}
	return a.own(ctx, a.tools[at], round, c)
}

// own runs a tool that is not the application's, between its two records.
func (a *agent) own(ctx context.Context, t tool, round int, c conversation.Call) (conversation.Result, string) {
	id, err := a.asked(ctx, t.source, round, c)
	if err != nil {
		return conversation.Result{}, turn.CodePersistenceFailed
	}
	a.hands.Show(ctx, "tool", c.Name, t.summary(c.Arguments))
	timely, done := timed(ctx)
	defer done()
	if t.delegates {
		timely = ctx // the tools of a sub-agent have times of their own
	}
	out, code := t.run(timely, a, id, c.Arguments)
	if code != "" {
		return conversation.Result{}, code
	}
	a.did(effect.Outcome(out.Effects))
	return a.answered(ctx, id, c, out)
}

// asked makes durable what the model asks for, as far as a call may be long.
func (a *agent) asked(ctx context.Context, source string, round int, c conversation.Call) (id string, err error) {
	id = a.loop.ports.NewID()
	return id, a.record(context.WithoutCancel(ctx), transcript.ToolCall, transcript.Call{
		Round: round, CallID: id, ProviderCallID: c.ID, Name: transcript.Kept(c.Name, bound.ToolNameBytes), Arguments: transcript.Kept(c.Arguments, bound.ArgumentBytes),
		Source: source, Parent: a.parent, Contract: strictjson.Raw("null"), Binding: strictjson.Raw("null"),
	})
}

// answered makes a result durable, and only then is it the model's.
func (a *agent) answered(ctx context.Context, id string, c conversation.Call, out transcript.Result) (conversation.Result, string) {
	out.CallID, out.ProviderCallID = id, c.ID
	if err := a.record(context.WithoutCancel(ctx), transcript.ToolResult, out); err != nil {
		return conversation.Result{}, turn.CodePersistenceFailed
	}
	return conversation.Result{CallID: c.ID, Failed: out.Status != transcript.Succeeded, Text: out.Text}, ""
}

// refuse records a call that does not go out, and tells the model why.
func (a *agent) refuse(ctx context.Context, round int, c conversation.Call, source, code, text string) (conversation.Result, string) {
	id, err := a.asked(ctx, source, round, c)
	if err != nil {
		return conversation.Result{}, turn.CodePersistenceFailed
	}
	return a.answered(ctx, id, c, unsuccessful(code, text, effect.NotDispatched))
}

type saidError struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// failure is a failure as models read it.
func failure(code, text string) string {
	var e saidError
	e.Error.Code, e.Error.Message = code, text
	raw, err := strictjson.Encode(e)
	if err != nil {
		return `{"error":{"code":"tool_failed","message":"the tool failed"}}`
	}
	return string(raw)
}

// succeeded is a result of a tool without effects.
func succeeded(text string) transcript.Result {
	if err := bound.ResultValueBytes.Check(len(text)); err != nil {
		return unsuccessful("result_too_large", fault.From(err).Text, effect.None)
	}
	return transcript.Result{Status: transcript.Succeeded, Effects: string(effect.None), Text: text}
}

func unsuccessful(code, text string, effects effect.Outcome) transcript.Result {
	return transcript.Result{Status: transcript.Failed, Effects: string(effects), Code: code, Text: failure(code, text)}
}

// fell is the result of a tool without effects that gave an error. What the
// error says is ours, unless it is no fault.
func fell(ctx context.Context, err error) transcript.Result {
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		return unsuccessful("tool_timeout", errSlow.Text, effect.None)
	case ctx.Err() != nil:
		return transcript.Result{Status: transcript.Cancelled, Effects: string(effect.None), Code: turn.CodeCancelled, Text: failure(turn.CodeCancelled, "the turn was stopped")}
	}
	f := fault.From(err)
	return unsuccessful(string(f.Code), f.Text, effect.None)
}
