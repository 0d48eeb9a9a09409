package authority

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// ReaffirmChanges is what a reaffirmation writes: an approval, and the rows of
// authority that go on under it.
type ReaffirmChanges struct {
	ApproveChanges
	Grants []grant.Row
}

// DecideReaffirm is the owner's yes to methods of which the upstream has changed
// nothing but words, or has taken its change back: they are approved with the
// effects that they had, and the rows that rested on the definition before rest on
// this one. Of every other change a row needs a new yes of its own, by GrantMethods.
//
// What comes of old rows is one rule: a row holds for exactly the definition that it
// is pinned to. So it holds again when the owner, not the upstream, brings that
// definition back (field faults, FF75). Grants are all rows on the resource.
func DecideReaffirm(r resource.Row, kept []resource.Kept, grants []grant.Row, c Approve, now time.Time) (ReaffirmChanges, *fault.Fault) {
	methods, was := make([]resource.Method, len(kept)), map[string]grant.Pin{}
	of := map[string]resource.Kept{}
	for i, k := range kept {
		methods[i] = k.Method
		of[k.Method.Definition.ID] = k
	}
	choices := append([]Choice(nil), c.Choices...)
	for i, choice := range choices {
		k, there := of[choice.Method]
		if !there {
			continue // DecideApprove says so
		}
		change, _, drifted := k.ChangeOf()
		switch {
		case !drifted && k.Approved.IsZero() && (k.Method.State == resource.Proposed || k.Method.State == resource.NeedsConsent):
			return ReaffirmChanges{}, fault.Newf(fault.Conflict, "%s was never approved, so that no approval can go on", choice.Method).
				With("fix", "steward review --approve "+r.ID.String()+" --methods "+choice.Method)
		case !drifted:
			return ReaffirmChanges{}, fault.Newf(fault.Conflict, "%s has not changed since it was approved", choice.Method)
		case change == resource.Meaning:
			return ReaffirmChanges{}, fault.Newf(fault.NeedsConsent, "%s has changed in more than words; approve it as a new one", choice.Method).
				With("fix", "steward review "+r.ID.String())
		case !choice.Effects.Empty():
			return ReaffirmChanges{}, fault.Newf(fault.InvalidRequest, "%s keeps the effects that it was approved with", choice.Method)
		}
		choices[i].Effects = k.Approved.Definition.Effects
		was[choice.Method] = k.Approved.Pin
	}
	c.Choices = choices
	approval, bad := DecideApprove(r, methods, c, now)
	if bad != nil {
		return ReaffirmChanges{}, bad
	}
	out := ReaffirmChanges{ApproveChanges: approval}
	for _, m := range approval.Methods {
		before, reaffirmed := was[m.Definition.ID]
		for _, g := range grants {
			if reaffirmed && g.Key.Contract == m.Contract && g.Key.Method == m.Definition.ID && g.StateAt(before, now) == grant.Active {
				g.Pin, g.Contract, g.Consent = m.Pin(), m.Document, c.NewConsent
				out.Grants = append(out.Grants, g)
			}
		}
	}
	return out, nil
}
