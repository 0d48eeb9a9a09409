package callback

import (
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// contract is what the application promised, as it is recorded with a call.
type contract struct {
	Input     strictjson.Raw `json:"input_schema"`
	Output    strictjson.Raw `json:"output_schema"`
	TimeoutMS int64          `json:"timeout_ms"`
}

// binding is who alone may answer a call, as it is recorded with it.
type binding struct {
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	ResourceID         string `json:"resource_id"`
	RevisionID         string `json:"revision_id"`
	RevisionSHA256     string `json:"revision_sha256"`
}

// Record is what is durable of a call before anything of it is done: its contract
// and binding, where the turn has such a tool.
func (n Need) Record(round int, name string) (transcript.Call, error) {
	r := transcript.Call{
		Round: round, CallID: n.ID, ProviderCallID: n.ProviderCall, Name: transcript.Kept(name, bound.ToolNameBytes), Arguments: transcript.Kept(n.Arguments, bound.ArgumentBytes),
		Source: transcript.Application, Contract: strictjson.Raw("null"), Binding: strictjson.Raw("null"),
	}
	if n.Executor == "" {
		return r, nil
	}
	t := n.Tool
	var err error
	if r.Contract, err = strictjson.Encode(contract{t.Input.Canonical(), t.Output.Canonical(), t.Timeout.Milliseconds()}); err != nil {
		return r, err
	}
	r.Binding, err = strictjson.Encode(binding{n.Executor, n.Generation, t.Resource, t.Revision, t.Hash})
	return r, err
}

// Outcome is a call's end as it is recorded and the model is told.
type Outcome struct {
	CallID       string
	ProviderCall string
	Status       string // a word of transcript
	Text         string // the value's JSON, or {"error":{code,message}}
	Code         string // of a failure
	Effects      effect.Outcome
}

// Failure is the outcome of a need that failed.
func (n Need) Failure(code, message string, effects effect.Outcome) Outcome {
	return Outcome{n.ID, n.ProviderCall, transcript.Failed, failureText(code, message), code, effects}
}

// Reported is the outcome that an executor's result stands for.
func (c *Call) Reported(r Result) Outcome {
	if r.Value == "" {
		return Outcome{c.ID, c.ProviderCall, transcript.Failed, failureText(r.Code, r.Message), r.Code, effect.Reported}
	}
	return Outcome{c.ID, c.ProviderCall, transcript.Succeeded, r.Value, "", effect.Reported}
}

// Unreported is the outcome of a call that ended without a report.
func (c *Call) Unreported() Outcome {
	o := Outcome{c.ID, c.ProviderCall, transcript.Failed, failureText(c.Code, ""), c.Code, c.Effects}
	if c.Status == Cancelled {
		o.Status = transcript.Cancelled
	}
	return o
}

// Record is the durable form of an outcome.
func (o Outcome) Record() transcript.Result {
	return transcript.Result{CallID: o.CallID, ProviderCallID: o.ProviderCall, Status: o.Status, Effects: string(o.Effects), Code: o.Code, Text: o.Text}
}

// failureText is what the model is told of a failure.
func failureText(code, message string) string {
	type failure struct {
		Code    string `json:"code"`
		Message string `json:"message,omitzero"`
	}
	text, err := strictjson.Encode(struct {
		Error failure `json:"error"`
	}{failure{code, message}})
	if err != nil { // both were checked to be text
		panic(err)
	}
	return string(text)
}
