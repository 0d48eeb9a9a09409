package callback

import (
	"strings"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The codes that an executor may report.
const (
	CodeFailed           = "execution_failed"
	CodePermissionDenied = "permission_denied"
)

// Result is what an executor reports.
type Result struct {
	Value   string // JSON of a success; empty is a failure
	Code    string
	Message string
}

// Submission is a result with the binding that it repeats. Whether its sender is
// the executor, under the generation that counts, was checked before.
type Submission struct {
	Session, Turn, Call, Executor, Resource, Revision, Hash string
	Result                                                  Result
}

// Submit takes a result for a call that is pending. Unknown, waiting, settled,
// cancelled and expired calls are unknown_turn; a binding or value that does not
// fit is invalid_payload and leaves the call as it was. After it the call is
// settling: Settle must follow.
func (b *Book) Submit(s Submission) (*Call, error) {
	c := b.calls[s.Call]
	if c == nil || c.Turn != s.Turn || c.Session != s.Session || c.Executor != s.Executor || c.Status != Pending || c.settling {
		return nil, fault.New(fault.UnknownTurn, "no call waits for this result")
	}
	if s.Resource != c.Tool.Resource || s.Revision != c.Tool.Revision || s.Hash != c.Tool.Hash {
		return nil, fault.New(fault.InvalidPayload, "the result repeats another binding")
	}
	if err := c.judge(s.Result); err != nil {
		return nil, err
	}
	r := s.Result
	c.settling, c.result = true, &r
	return c, nil
}

func (c *Call) judge(r Result) error {
	if r.Value == "" {
		return r.judgeFailure()
	}
	if err := bound.ResultValueBytes.Check(len(r.Value)); err != nil {
		return err
	}
	v, err := strictjson.Parse([]byte(r.Value), strictjson.Limits{Bytes: bound.ResultValueBytes})
	if err == nil {
		err = c.Tool.Output.Check(v)
	}
	if err != nil {
		return fault.New(fault.InvalidPayload, "the value does not fit the tool's output schema").Because(err)
	}
	return nil
}

func (r Result) judgeFailure() error {
	if r.Code != CodeFailed && r.Code != CodePermissionDenied {
		return fault.New(fault.InvalidPayload, "an executor reports execution_failed or permission_denied")
	}
	if !utf8.ValidString(r.Message) || strings.ContainsRune(r.Message, 0) {
		return fault.New(fault.InvalidPayload, "a message is plain text")
	}
	return bound.ErrorTextBytes.Check(len(r.Message))
}

// Submitted is the result that is being made durable; nil where there is none.
func (c *Call) Submitted() *Result { return c.result }

// Settle ends a settling call: with the submitted result where it is durable, else
// as a failure of unknown effects.
func (b *Book) Settle(c *Call, durable bool) {
	if !c.settling {
		return
	}
	r := c.result
	c.settling, c.result = false, nil
	switch {
	case !durable:
		c.end(Failed, CodeUnrecorded)
	case r.Value != "":
		c.Status, c.Effects, c.Value = Succeeded, effect.Reported, r.Value
	default:
		c.Status, c.Effects, c.Code, c.Message = Failed, effect.Reported, r.Code, r.Message
	}
}

// CodeUnrecorded is the code of a call whose result could not be made durable.
const CodeUnrecorded = "persistence_failed"
