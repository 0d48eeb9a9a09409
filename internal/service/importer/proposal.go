package importer

import (
	"maps"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Proposal is what the importer would do with one tool.
type Proposal struct {
	Server    string
	Name      string
	Outcome   narrowing.Outcome
	Decisions []narrowing.Decision
	Lost      []narrowing.Decision
	Reason    *Reason

	offer resource.Offer
}

// Reason says where and why a tool cannot be imported.
type Reason struct {
	Pointer string `json:"pointer"`
	Text    string `json:"text"`
}

// reviewJSON is the proposal as it is kept beside the method for the owner's
// eyes. It has the form of a dry run's row (faces page, section 1).
type reviewJSON struct {
	Server    string         `json:"server"`
	Name      string         `json:"name"`
	Outcome   string         `json:"outcome"`
	Decisions []decisionJSON `json:"decisions"`
	Lost      []decisionJSON `json:"lost"`
	Reason    *Reason        `json:"reason,omitzero"`
}

type decisionJSON struct {
	Pointer   string `json:"pointer"`
	Kind      string `json:"kind"`
	From      string `json:"from,omitzero"`
	To        string `json:"to,omitzero"`
	Exception bool   `json:"exception,omitzero"`
}

// tool is what is read of an upstream's tool; other members are pinned by the
// digest of the whole but have no meaning here.
type tool struct {
	title, description string
	input, output      []byte
	hints              hints
	withheld           []narrowing.Decision
}

// The members of a tool, and of its annotations, that apps see or that need not
// be told. What else there is is withheld, and the owner sees that (field faults,
// FF13).
var (
	toolMembers       = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
	annotationMembers = []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
)

// hints are the upstream's claims; nil is "not said".
type hints struct{ readOnly, destructive, openWorld *bool }

var toolLimits = strictjson.Limits{Bytes: bound.ToolBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes}

// propose reads one tool and narrows it. Whatever is wrong with it becomes a
// visible refusal of that tool alone.
func propose(adapter id.Adapter, server string, t Tool, profile narrowing.Profile) Proposal {
	p := Proposal{Server: server, Name: resource.Visible(t.Name), Decisions: []narrowing.Decision{}, Lost: []narrowing.Decision{}}
	p.offer = resource.Offer{Tool: t.Name, Raw: t.Raw}
	p.offer.Binding = resource.Binding{Kind: resource.ByMCP, Adapter: adapter, Tool: t.Name}
	if t.Trouble != nil {
		p.offer.Binding.Tooldef = digest.Join(t.Name, t.Trouble.Text).Sum(digest.Definition)
		return p.refuse("", t.Trouble.Text)
	}
	sum, err := definitionDigest(t.Raw)
	if err != nil {
		p.offer.Binding.Tooldef = digest.Of(digest.Definition, t.Raw)
		return p.refuse("", fault.From(err).Text)
	}
	p.offer.Binding.Tooldef = sum
	read, reason := readTool(t.Raw)
	if reason != nil {
		return p.refuse(reason.Pointer, reason.Text)
	}
	n := narrowing.Propose(read.input, profile)
	p.Outcome = n.Outcome
	p.Decisions, p.Lost = append(p.Decisions, n.Decisions...), append(p.Lost, n.Lost...)
	if n.Outcome == narrowing.Refused {
		return p.refuse("/inputSchema"+n.Reason.Pointer, n.Reason.Text)
	}
	output, form := narrowing.ProposeOutput(read.output)
	if len(read.output) > 0 && !form {
		p.Lost = append(p.Lost, narrowing.Withheld(narrowing.KindWithholdOutput, "/outputSchema"))
	}
	p.Decisions = append(p.Decisions, read.withheld...)
	p.offer.Definition = contract.Method{Title: read.title, Description: read.description, Input: n.Schema, Output: output,
		Effects: read.hints.effects(), Errors: []fault.Code{fault.UpstreamFailed, fault.Indeterminate}}
	p.offer.Review = p.review()
	return p
}

func (p Proposal) refuse(pointer, text string) Proposal {
	p.Outcome, p.Reason = narrowing.Refused, &Reason{pointer, text}
	p.offer.Refusal = strings.TrimSpace(pointer + " " + text)
	// What is refused is kept for the owner to see; the empty object stands in
	// for an input that has no narrowed form.
	p.offer.Definition = contract.Method{Input: strictjson.Raw(emptyInput)}
	p.offer.Review = p.review()
	return p
}

const emptyInput = `{"additionalProperties":false,"properties":{},"type":"object"}`

// review encodes plain strings that were checked before, so it cannot fail.
func (p Proposal) review() []byte {
	raw, err := strictjson.Encode(reviewJSON{p.Server, p.Name, string(p.Outcome), decisionsJSON(p.Decisions), decisionsJSON(p.Lost), p.Reason})
	if err != nil {
		panic("importer: cannot encode a proposal: " + err.Error())
	}
	return raw
}

func decisionsJSON(ds []narrowing.Decision) []decisionJSON {
	out := make([]decisionJSON, len(ds))
	for i, d := range ds {
		out[i] = decisionJSON{d.Pointer, d.Kind, d.From, d.To, d.Exception}
	}
	return out
}

// readTool picks out what a method is made of. Text is made visible, so that the
// owner approves exactly the characters that models will be told.
func readTool(raw []byte) (tool, *Reason) {
	members, err := strictjson.Members(raw, toolLimits)
	if err != nil {
		return tool{}, &Reason{"", fault.From(err).Text}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) { // of several the same each time
		if strings.HasPrefix(strings.ToLower(name), "x-mcp-") {
			return tool{}, &Reason{"/" + name, "not importable: " + name}
		}
	}
	t := tool{input: members["inputSchema"], output: members["outputSchema"]}
	if len(t.input) == 0 {
		return tool{}, &Reason{"/inputSchema", "the tool has no input schema"}
	}
	annotations, _ := strictjson.Parse(members["annotations"], toolLimits)
	t.hints = hints{flag(annotations, "readOnlyHint"), flag(annotations, "destructiveHint"), flag(annotations, "openWorldHint")}
	t.title = text(members["title"])
	if shown, ok := annotations.Get("title"); t.title == "" && ok {
		t.title = resource.Visible(shown.Text)
	}
	t.description = text(members["description"])
	if bound.TitleBytes.Check(len(t.title)) != nil {
		return tool{}, &Reason{"/title", "the title is longer than can be shown whole"}
	}
	if bound.DescriptionBytes.Check(len(t.description)) != nil {
		return tool{}, &Reason{"/description", "the description is longer than can be shown whole"}
	}
	tasks, _ := strictjson.Parse(members["execution"], toolLimits)
	if support, _ := tasks.Get("taskSupport"); support.Text == "required" {
		return tool{}, &Reason{"/execution/taskSupport", "the tool can be called as a task only, which this host does not do"}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(toolMembers, name) {
			t.withheld = append(t.withheld, withheld("/"+name))
		}
	}
	for _, m := range annotations.Members {
		if !slices.Contains(annotationMembers, m.Name) || m.Name == "title" && resource.Visible(m.Value.Text) != t.title {
			t.withheld = append(t.withheld, withheld("/annotations/"+m.Name))
		}
	}
	return t, nil
}

func withheld(pointer string) narrowing.Decision {
	return narrowing.Withheld(narrowing.KindWithholdMember, resource.Visible(pointer))
}

func text(raw []byte) string {
	v, err := strictjson.Parse(raw, toolLimits)
	if err != nil || v.Kind != strictjson.String {
		return ""
	}
	return resource.Visible(v.Text)
}

func flag(v strictjson.Value, name string) *bool {
	m, ok := v.Get(name)
	if !ok || m.Kind != strictjson.Bool {
		return nil
	}
	return &m.Bool
}

// effects proposes classes from hints, which are never authority: the owner
// confirms or changes them (pool page, section 8).
func (h hints) effects() effect.Set {
	says := func(b *bool) bool { return b != nil && *b }
	classes := []effect.Class{effect.Write}
	switch {
	case says(h.readOnly):
		classes = []effect.Class{effect.Read}
	case says(h.destructive):
		classes = append(classes, effect.Delete)
	}
	// Unsaid, the world of a tool that changes something is an open one (MCP).
	if !says(h.readOnly) && (h.openWorld == nil || *h.openWorld) {
		classes = append(classes, effect.Communicate)
	}
	set, err := effect.SetOf(classes...)
	if err != nil {
		panic("importer: " + err.Error()) // the classes are our own constants
	}
	return set
}

// definitionDigest pins a whole tool so that key order, white space and the
// spelling of numbers are no drift (field faults, FF76). A number that has no
// exact canonical form, such as a bound of 2^63-1, is pinned as it is spelled.
func definitionDigest(raw []byte) (digest.Digest, error) {
	if sum, err := digest.JSON(digest.Definition, raw, toolLimits); err == nil {
		return sum, nil
	}
	v, err := strictjson.Parse(raw, toolLimits)
	if err != nil {
		return digest.Digest{}, err
	}
	return digest.Of(digest.Definition, sorted(v).Append(nil)), nil
}

func sorted(v strictjson.Value) strictjson.Value {
	v.Items = slices.Clone(v.Items)
	for i, item := range v.Items {
		v.Items[i] = sorted(item)
	}
	v.Members = slices.Clone(v.Members)
	slices.SortFunc(v.Members, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
	for i, m := range v.Members {
		v.Members[i].Value = sorted(m.Value)
	}
	return v
}
