package resource

import (
	"strconv"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// Offer is one tool of an upstream as the importer proposes it: exact name and
// raw definition, and the method that it would become. Definition has no id
// yet. A Refusal says why it cannot be imported.
type Offer struct {
	Tool       string
	Raw        []byte // the whole tool object as it was received
	Definition contract.Method
	Binding    Binding
	Review     []byte // JSON for the owner's eyes: decisions, losses, hints
	Refusal    string
}

// Kept is a method together with what the importer keeps beside it.
type Kept struct {
	Method   Method
	Raw      []byte
	Review   []byte
	Approved Approved // set where the method is not as the owner approved it
}

// Merge holds a fresh listing against what is stored and returns the methods as
// they now stand, with those first that were there before, and the names of the
// methods that the listing changed (pool page, section 8).
//
// A tool whose definition differs in anything from the approved one needs a new
// yes, and keeps needing it when the upstream takes the change back; what was
// approved is kept beside it until then. A tool that is gone is off. A method keeps its id and contract for ever; new tools fill
// contracts of at most bound.ContractMethods, made by url from a group number.
func Merge(stored []Kept, listing []Offer, url func(group int) string) (after []Kept, changed []string) {
	offers := make(map[string]Offer, len(listing))
	for _, o := range listing {
		offers[o.Tool] = o
	}
	taken := map[string]bool{}
	filled := map[string]int{}
	for _, k := range stored {
		taken[k.Method.Definition.ID] = true
		filled[k.Method.Contract]++
		if b := k.Method.Binding; b.Kind == ByCapsule && b.Tool == "" { // no tool: how a capsule's resources are read
			after = append(after, k)
			continue
		}
		o, offered := offers[k.Method.Binding.Tool]
		delete(offers, k.Method.Binding.Tool)
		next := meet(k, o, offered)
		if next.Method.State != k.Method.State || next.Method.Pin() != k.Method.Pin() {
			changed = append(changed, k.Method.Definition.ID)
		}
		after = append(after, next)
	}
	group := 1
	for _, o := range listing {
		if _, isNew := offers[o.Tool]; !isNew {
			continue
		}
		delete(offers, o.Tool) // a name that stands twice is one tool
		for filled[url(group)] >= bound.ContractMethods.Int() {
			group++
		}
		filled[url(group)]++
		o.Definition.ID = safeID(o.Tool, taken)
		taken[o.Definition.ID] = true
		after = append(after, first(o, url(group)))
		changed = append(changed, o.Definition.ID)
	}
	return after, changed
}

func first(o Offer, url string) Kept {
	m := Method{Contract: url, Definition: o.Definition, Binding: o.Binding, State: Proposed}
	if o.Refusal != "" {
		m.State, m.Reason = Refused, o.Refusal
	}
	return Kept{Method: m, Raw: o.Raw, Review: o.Review}
}

// meet decides what one stored method becomes in the face of a listing.
func meet(k Kept, o Offer, offered bool) Kept {
	before := k.Method
	if before.State == Live && (!offered || before.Binding.Digest() != o.Binding.Digest()) {
		k.Approved = Approved{before.Definition, k.Raw, before.Pin()}
	}
	if !offered {
		k.Method.State, k.Method.Reason = Gone, "the upstream no longer offers it"
		return k
	}
	if before.Binding.Digest() == o.Binding.Digest() && before.State != Gone {
		return k
	}
	o.Definition.ID, o.Binding.DeadlineMS = before.Definition.ID, before.Binding.DeadlineMS
	next := first(o, before.Contract)
	next.Method.Document, next.Approved = before.Document, k.Approved
	if next.Method.State != Refused && (!k.Approved.IsZero() || before.State != Proposed && before.State != Refused) {
		next.Method.State = NeedsConsent
		next.Method.Reason = reason(next, before.State)
	}
	return next
}

// reason tells the owner why a method needs a new yes.
func reason(k Kept, before MethodState) string {
	change, _, _ := k.ChangeOf()
	switch {
	case before == Gone && change != Wording && change != Meaning:
		return "the upstream offers it again"
	case change == Back:
		return "the upstream changed its definition, and took that back"
	case change == Wording:
		return "the upstream changed the words of its definition"
	}
	return "the upstream changed its definition"
}

// safeID gives a method id of the form that contracts accept. The upstream's
// exact name stays in the binding; two names never share an id.
func safeID(tool string, taken map[string]bool) string {
	const most = 64
	id := make([]byte, 0, most)
	for i := 0; i < len(tool) && len(id) < most; i++ {
		c := tool[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if len(id) == 0 && !letter {
			id = append(id, 't', '_')
		}
		if letter || c >= '0' && c <= '9' || c == '_' || c == '-' {
			id = append(id, c)
		} else {
			id = append(id, '_')
		}
	}
	if len(id) == 0 {
		id = append(id, "tool"...)
	}
	base := string(id)
	for n := 2; taken[string(id)]; n++ {
		suffix := "_" + strconv.Itoa(n)
		id = append([]byte(base[:min(len(base), most-len(suffix))]), suffix...)
	}
	return string(id)
}
