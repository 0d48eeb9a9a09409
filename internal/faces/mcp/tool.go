package mcp

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// tool is one callable method as clients see it.
type tool struct {
	view.Callable
	imported    bool      // results have the form of invocation.Result
	conditional bool      // the precondition is shown as the argument "if"
	listed      [2][]byte // the tool's object in a list of each era
}

// is reports whether this tool is what a fresh reading says.
func (t *tool) is(m view.Callable) bool {
	d, n := &t.Method, &m.Method
	return t.Tool == m.Tool && t.Target == m.Target && t.Resource == m.Resource && d.Title == n.Title &&
		d.Description == n.Description && d.Effects == n.Effects && d.Precondition == n.Precondition &&
		bytes.Equal(d.Input, n.Input) && bytes.Equal(d.Output, n.Output)
}

func (t *tool) reference() dispatch.Reference {
	return dispatch.Reference{Resource: t.Target.Resource.String(), Contract: t.Target.Contract, Method: t.Target.Method}
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

func newTool(m view.Callable) *tool {
	t := &tool{Callable: m, imported: isImported(m.Target.Contract)}
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
	t.listed[modern] = encode(out)
	t.listed[legacy] = t.listed[modern]
	if s, err := schema.CompileNested(m.Method.Output); len(m.Method.Output) > 0 && (err != nil || !s.IsObject()) {
		out.Output = nil // the older revisions know objects only
		t.listed[legacy] = encode(out)
	}
	return t
}

// isImported tells an upstream's tool from a method of the host by its contract,
// whose name the host makes (product page, "The house").
func isImported(contract string) bool {
	return strings.Contains(contract, ".steward.invalid/contracts/imported/")
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
		panic("mcp: cannot encode an approved method: " + err.Error())
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

// splitCondition takes the precondition out of the arguments.
func splitCondition(args strictjson.Raw) (rest, condition strictjson.Raw) {
	v, err := strictjson.Parse(args, messageLimits)
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
