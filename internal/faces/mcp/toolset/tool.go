package toolset

import (
	"bytes"
	"cmp"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// Tool is one callable method as clients see it.
type Tool struct {
	method      view.Callable
	imported    bool               // results have the form of invocation.Result
	conditional bool               // the precondition is shown as the argument "if"
	listed      [frame.Eras][]byte // the tool's object in a list
}

// Name is the tool's name.
func (t *Tool) Name() string { return t.method.Tool }

// Reference names the method for the port.
func (t *Tool) Reference() dispatch.Reference {
	target := t.method.Target
	return dispatch.Reference{Resource: target.Resource.String(), Contract: target.Contract, Method: target.Method}
}

// Upstream is the resource of an imported server whose tool it is, false for a method
// of the host.
func (t *Tool) Upstream() (id.Resource, bool) { return t.method.Target.Resource, t.imported }

// is reports whether the tool is what a fresh reading says.
func (t *Tool) is(m view.Callable) bool {
	old, now := &t.method.Method, &m.Method
	return t.method.Tool == m.Tool && t.method.Target == m.Target && t.method.Resource == m.Resource &&
		old.Title == now.Title && old.Description == now.Description && old.Effects == now.Effects &&
		old.Precondition == now.Precondition && bytes.Equal(old.Input, now.Input) && bytes.Equal(old.Output, now.Output)
}

// listedTool is a tool of a list. Every text in it was approved by the owner, and
// the hints follow from the effects that the owner approved, not from what an
// upstream says (threats, A47).
type listedTool struct {
	Name        string         `json:"name"`
	Title       string         `json:"title,omitzero"`
	Description string         `json:"description,omitzero"`
	Input       strictjson.Raw `json:"inputSchema"`
	Output      strictjson.Raw `json:"outputSchema,omitzero"`
	Hints       hints          `json:"annotations"`
}

type hints struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

func newTool(m view.Callable) *Tool {
	t := &Tool{method: m, imported: contract.IsImported(m.Target.Contract)}
	effects := m.Method.Effects
	out := listedTool{
		Name: m.Tool, Title: m.Method.Title, Description: m.Method.Description, Input: m.Method.Input,
		Output: m.Method.Output,
		Hints: hints{
			Title:       m.Resource + ": " + cmp.Or(m.Method.Title, m.Method.ID),
			ReadOnly:    onlyLooks(effects),
			Destructive: effects.Has(effect.Write) || effects.Has(effect.Delete),
			OpenWorld:   effects.Has(effect.Communicate) || effects.Has(effect.Spend),
		},
	}
	if m.Method.Precondition {
		out.Input, t.conditional = withCondition(m.Method.Input)
	}
	t.listed[frame.Modern] = encode(out)
	t.listed[frame.Legacy] = t.listed[frame.Modern]
	if s, err := schema.CompileOutput(m.Method.Output); len(m.Method.Output) > 0 && (err != nil || !s.IsObject()) {
		out.Output = nil // the older revisions know objects only
		t.listed[frame.Legacy] = encode(out)
	}
	return t
}

func onlyLooks(s effect.Set) bool {
	for _, c := range s.Classes() {
		if c != effect.Compute && c != effect.Read {
			return false
		}
	}
	return !s.Empty()
}

// encode writes a struct of ours; what is in it was checked when it was
// approved, so a failure is a broken invariant.
func encode(v any) []byte {
	b, err := strictjson.Encode(v)
	if err != nil {
		panic("toolset: cannot encode an approved method: " + err.Error())
	}
	return b
}

// conditionMember is the argument that stands for a call's precondition. MCP has
// no place of its own for it, and a model can only give arguments.
const conditionMember = "if"

const conditionSchema = `{"additionalProperties":false,"description":"What must hold for the change to be made: ` +
	`{\"absent\":true} for something new, or {\"version\":\"…\"} as it was read.",` +
	`"properties":{"absent":{"type":"boolean"},"version":{"maxLength":64,"type":"string"}},"type":"object"}`

// withCondition adds the precondition to an input schema, unless the method has
// an argument of that name.
func withCondition(input strictjson.Raw) (strictjson.Raw, bool) {
	v, err := strictjson.Parse(input, strictjson.Limits{})
	condition, bad := strictjson.Parse([]byte(conditionSchema), strictjson.Limits{})
	if err != nil || bad != nil {
		return input, false
	}
	properties, _ := v.Get("properties")
	if _, taken := properties.Get(conditionMember); taken {
		return input, false
	}
	required, _ := v.Get("required")
	properties.Kind, required.Kind = strictjson.Object, strictjson.Array
	properties.Members = append(properties.Members, strictjson.Member{Name: conditionMember, Value: condition})
	required.Items = append(required.Items, strictjson.Value{Kind: strictjson.String, Text: conditionMember})
	members := []strictjson.Member{{Name: "properties", Value: properties}, {Name: "required", Value: required}}
	for _, m := range v.Members {
		if m.Name != "properties" && m.Name != "required" {
			members = append(members, m)
		}
	}
	v.Members = members
	out, err := strictjson.Canonical(v.Append(nil), strictjson.Limits{})
	return out, err == nil
}

// Split takes the precondition out of the arguments, which are a JSON object, if
// the tool has one; nil where there is none.
func (t *Tool) Split(args strictjson.Raw) (rest, condition strictjson.Raw) {
	if !t.conditional {
		return args, nil
	}
	v, err := strictjson.Parse(args, frame.Limits)
	if err != nil {
		return args, nil
	}
	kept := v.Members[:0:0]
	for _, m := range v.Members {
		if m.Name == conditionMember {
			condition = m.Value.Append(nil)
			continue
		}
		kept = append(kept, m)
	}
	v.Members = kept
	return v.Append(nil), condition
}
