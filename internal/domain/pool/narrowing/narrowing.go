// Package narrowing proposes how the schema of an upstream's tool can be made
// to fit profile nested-v1, so that an owner can read and approve it (pool page,
// section 8; mcp reference, section 4).
//
// A proposal is the smallest set of added bounds and left out optional members
// that fits. It is a restriction: what the proposal accepts, the upstream's own
// schema accepts, but for the rules that a Decision says are left to the
// upstream to enforce (format, pattern and the like). Each difference between
// the two is a Decision; nothing is altered beside them. What cannot be
// expressed is refused with the pointer of the place in the upstream's schema.
//
// What a keyword that the package does not know may mean decides its fate. One
// that starts with x- is by convention a note to tools: it is dropped and shown.
// x-mcp- is the protocol's own space, where x-mcp-header has clients copy
// arguments into headers: it refuses the whole tool. Any other could change
// what is accepted, so the schema around it is not expressible. A reference
// that leaves the document refuses the tool; nothing is ever fetched. A
// definition that contains itself is never cut short inside: the optional member
// that leads to it is dropped as a whole, a required one refuses the tool.
//
// An output is the other way round: ProposeOutput widens and never restricts.
//
// It does not promise that a proposal is useful, nor that arguments inside it
// are small: bytes are bounded where they are read. The functions are pure and
// deterministic, their work is bounded whatever the schema refers to, and they
// are safe for concurrent use.
package narrowing

import (
	"errors"
	"slices"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing/shape"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Outcome says what became of a schema.
type Outcome string

// The outcomes, from best to worst.
const (
	AsIs     Outcome = "as_is"    // it fits unchanged
	Narrowed Outcome = "narrowed" // restricted; every parameter can still be given
	Lossy    Outcome = "lossy"    // some optional parameter or value can no longer be given
	Refused  Outcome = "refused"  // a required parameter cannot be expressed
)

// Result is a proposal, or the reason why there is none.
type Result struct {
	Outcome   Outcome
	Schema    []byte          // canonical JSON that compiles under nested-v1; nil when refused
	Decisions []Decision      // what differs, in the order of the schema
	Lost      []Decision      // what can no longer be given
	Reason    *schema.Refusal // when refused; its pointer is into the schema that was given
}

// stepsPerNode bounds the work on one schema: nodes and keywords that are
// looked at, references followed and branches tried, per node that the profile
// admits. Real schemas need a hundred steps in all.
const stepsPerNode = 64

var limits = strictjson.Limits{Bytes: bound.ToolBytes}

// Propose narrows the input schema of a tool. The zero Profile is Default.
func Propose(rawInputSchema []byte, p Profile) Result {
	if s, err := schema.CompileNested(rawInputSchema); err == nil && s.IsObject() {
		return Result{Outcome: AsIs, Schema: s.Canonical()}
	}
	document, err := strictjson.Parse(rawInputSchema, limits)
	if err != nil {
		return refused(refusalOf(err))
	}
	w := newWalk(document, p)
	s, err := w.compiled(document)
	switch {
	case err != nil:
		return refused(refusalOf(err))
	case !s.IsObject():
		return refused(&schema.Refusal{Text: "does not describe an object"})
	}
	r := Result{Outcome: Narrowed, Schema: s.Canonical(), Decisions: w.decisions, Lost: w.lost}
	if len(w.lost) > 0 {
		r.Outcome = Lossy
	}
	return r
}

// ProposeOutput gives the output schema that the results of a tool are held to.
// The upstream sends what it likes, so nothing may be restricted: the schema
// accepts every value that the upstream's own accepts (mcp reference, 4.3). It
// may accept more. A limit that cannot be expressed is loosened or left out, and
// a member that cannot is not described; its object is open and so accepts it as
// it comes. It reports false if there is no such schema; then nothing vouches
// for the structure of a result and only its content can be passed on.
func ProposeOutput(rawOutputSchema []byte) (outputSchema []byte, ok bool) {
	if s, err := schema.CompileOutput(rawOutputSchema); err == nil {
		return s.Canonical(), true
	}
	document, err := strictjson.Parse(rawOutputSchema, limits)
	if err != nil {
		return nil, false
	}
	w := newWalk(document, Profile{})
	w.wide = true
	s, err := w.compiled(document)
	if err != nil || w.narrows(mark{}) {
		return nil, false
	}
	return s.Canonical(), true
}

// compiled writes the whole document anew and proves by compiling that it fits.
func (w *walk) compiled(document strictjson.Value) (*schema.Schema, error) {
	s, bad := shape.Of(document, "")
	var v strictjson.Value
	if bad == nil {
		v, bad = w.node(s, spot{depth: 1})
	}
	if bad == nil {
		v, bad = w.trim(v)
	}
	if bad != nil {
		return nil, bad.Refusal
	}
	return w.compile(v)
}

func (w *walk) compile(v strictjson.Value) (*schema.Schema, error) {
	if w.wide {
		return schema.CompileOutput(v.Append(nil))
	}
	return schema.CompileNested(v.Append(nil))
}

func refused(reason *schema.Refusal) Result { return Result{Outcome: Refused, Reason: reason} }

// walk is the work on one schema.
type walk struct {
	*shape.Reader
	profile   Profile
	wide      bool // for an output: what cannot be expressed is left open
	loose     int  // schemas that demand what an upstream of draft-07 ignores
	decisions []Decision
	lost      []Decision
}

func newWalk(document strictjson.Value, p Profile) *walk {
	return &walk{
		Reader:  shape.NewReader(document, stepsPerNode*bound.SchemaNodes.Int()),
		profile: p.orDefault(),
	}
}

// spot is where a schema stands in the proposal.
type spot struct {
	site  string // JSON pointer
	name  string // of the nearest property, which suggests how long a text may be
	depth int    // in schemas, the root being 1
}

// decide records a decision about the schema at a spot.
func (w *walk) decide(here spot, kind, from, to string) {
	w.decisions = append(w.decisions, newDecision(here.site, kind, from, to))
}

// lose records something that can no longer be given.
func (w *walk) lose(site, kind, from, to string) {
	w.lost = append(w.lost, newDecision(site, kind, from, to))
}

// mark remembers what is recorded, so that a failed attempt leaves no trace.
type mark struct{ decisions, lost, loose int }

func (w *walk) mark() mark { return mark{len(w.decisions), len(w.lost), w.loose} }

func (w *walk) back(m mark) {
	w.decisions, w.lost, w.loose = w.decisions[:m.decisions], w.lost[:m.lost], m.loose
}

// narrows reports whether what was written since a mark accepts less than the
// upstream's own schema does.
func (w *walk) narrows(since mark) bool {
	restricts := func(d Decision) bool { return !kinds[d.Kind].keeps }
	return w.loose > since.loose || len(w.lost) > since.lost || slices.ContainsFunc(w.decisions[since.decisions:], restricts)
}

// refusalOf makes a refusal of what a lower package says.
func refusalOf(err error) *schema.Refusal {
	var r *schema.Refusal
	if errors.As(err, &r) {
		return r
	}
	f := fault.From(err)
	pointer, _ := f.Details["pointer"].(string)
	return &schema.Refusal{Pointer: pointer, Text: f.Text}
}
