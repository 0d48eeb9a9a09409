package authority

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/consent"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Choice is the owner's yes to one method. Empty effects accept the proposed
// ones.
type Choice struct {
	Method   string
	Effects  effect.Set
	Deadline time.Duration // how long a call may take; zero leaves that as it is
}

// Approve turns methods of a resource live as they are defined now. Shown is the
// digest of the review that the owner was looking at (invariant I34).
type Approve struct {
	Owner       id.Owner
	Shown       digest.Digest
	Choices     []Choice
	NewConsent  id.Consent
	NewRevision id.Revision
}

// ApproveChanges is what an approval writes: the methods that changed, the
// contracts that they are in, the resource under its new revision, and the
// record of what was said.
type ApproveChanges struct {
	Resource  resource.Row
	Methods   []resource.Method
	Documents []contract.Document
	Record    consent.Record
}

// ReviewDigest pins everything that a review of the resource shows.
func ReviewDigest(r resource.Row, methods []resource.Method) digest.Digest {
	return digest.Of(digest.Consent, shown(r, methods, nil))
}

// DecideApprove checks an approval against the resource and all of its methods,
// as they are stored.
func DecideApprove(r resource.Row, methods []resource.Method, c Approve, now time.Time) (ApproveChanges, *fault.Fault) {
	if r.State == resource.Removed || len(c.Choices) == 0 {
		return ApproveChanges{}, fault.New(fault.InvalidRequest, "there is nothing to approve")
	}
	review := shown(r, methods, nil)
	if digest.Of(digest.Consent, review) != c.Shown {
		return ApproveChanges{}, fault.New(fault.Conflict, "the definitions changed since they were shown; look at them again").
			With("fix", "steward review "+r.ID.String())
	}
	after := append([]resource.Method(nil), methods...)
	touched := map[string]bool{}
	for _, choice := range c.Choices {
		i, bad := find(after, choice.Method)
		if bad != nil {
			return ApproveChanges{}, bad
		}
		if bad := approveOne(&after[i], choice.Effects); bad != nil {
			return ApproveChanges{}, bad
		}
		if bad := setDeadline(&after[i], choice.Deadline); bad != nil {
			return ApproveChanges{}, bad
		}
		touched[after[i].Contract] = true
	}
	r.Revision = c.NewRevision
	docs, changed, bad := documents(r, after, touched)
	if bad != nil {
		return ApproveChanges{}, bad
	}
	return ApproveChanges{Resource: r, Methods: changed, Documents: docs, Record: consent.Record{
		ID: c.NewConsent, Owner: c.Owner, Resource: r.ID, Kind: consent.Activation, Shown: review, Digest: c.Shown, At: now,
	}}, nil
}

func find(methods []resource.Method, name string) (int, *fault.Fault) {
	for i, m := range methods {
		if m.Definition.ID == name {
			return i, nil
		}
	}
	return 0, fault.Newf(fault.NotFound, "the resource has no method %s", resource.Visible(name))
}

func approveOne(m *resource.Method, effects effect.Set) *fault.Fault {
	switch m.State {
	case resource.Refused:
		return fault.Newf(fault.InvalidArgs, "method %s cannot be imported: %s", m.Definition.ID, m.Reason)
	case resource.Gone:
		return fault.Newf(fault.Conflict, "the upstream no longer offers %s", m.Definition.ID)
	}
	if !effects.Empty() {
		m.Definition.Effects = effects
	}
	if m.Definition.Effects.Empty() {
		return fault.Newf(fault.InvalidArgs, "say what effects %s has", m.Definition.ID).
			With("fix", "steward review --approve … --effects "+m.Definition.ID+"=read")
	}
	m.State, m.Reason = resource.Live, ""
	return nil
}

// setDeadline gives a method a limit of its own (field faults, FF47).
func setDeadline(m *resource.Method, limit time.Duration) *fault.Fault {
	switch {
	case limit == 0:
		return nil
	case limit < time.Millisecond || limit > bound.CallDeadline.Duration():
		return bound.CallDeadline.Exceeded()
	case m.Binding.Kind == resource.ByHost:
		return fault.Newf(fault.InvalidRequest, "%s is the host's own and takes no time", m.Definition.ID)
	}
	m.Binding.DeadlineMS = limit.Milliseconds()
	return nil
}

// documents makes the contracts anew that approved methods are in. A contract
// holds its live methods; each of them gets the document's digest as evidence.
func documents(r resource.Row, methods []resource.Method, touched map[string]bool) ([]contract.Document, []resource.Method, *fault.Fault) {
	var docs []contract.Document
	var changed []resource.Method
	for url := range touched {
		var live []contract.Method
		for _, m := range methods {
			if m.Contract == url && m.State == resource.Live {
				live = append(live, m.Definition)
			}
		}
		doc, err := contract.New(url, r.Label, live)
		if err != nil {
			return nil, nil, fault.From(err)
		}
		docs = append(docs, doc)
		sum := doc.Digest()
		for _, m := range methods {
			if m.Contract == url && m.State == resource.Live {
				m.Document = sum
				changed = append(changed, m)
			}
		}
	}
	return docs, changed, nil
}

type shownResource struct {
	Resource string        `json:"resource"`
	Adapter  string        `json:"adapter"`
	Kind     string        `json:"kind"`
	Methods  []shownMethod `json:"methods"`
	Terms    *terms        `json:"terms,omitzero"` // of a granting
}

type shownMethod struct {
	Contract   string         `json:"contract"`
	Method     string         `json:"method"`
	State      string         `json:"state"`
	Definition strictjson.Raw `json:"definition"`
	Binding    string         `json:"binding"`
}

// shown is what the owner has before the eyes, as JSON; equal sights give equal
// bytes. Definitions were checked before, so that encoding them cannot fail.
func shown(r resource.Row, methods []resource.Method, of *terms) []byte {
	out := shownResource{r.ID.String(), r.Adapter.String(), string(r.Kind), make([]shownMethod, len(methods)), of}
	for i, m := range methods {
		out.Methods[i] = shownMethod{m.Contract, m.Definition.ID, string(m.State), m.Definition.Encode(), m.Binding.Digest().String()}
	}
	raw, err := strictjson.Encode(out)
	if err != nil {
		panic("authority: cannot encode checked definitions: " + err.Error())
	}
	return raw
}
