package authority

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/consent"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// GrantMethods gives an app explicit rows for methods of one resource. The
// owner's command is the consent; it names every method (invariant I45).
type GrantMethods struct {
	Owner         id.Owner
	Client        id.Client
	Methods       []string
	Confirm       grant.Confirm
	Limit         budget.Limit
	ExpiresAt     time.Time // zero: none
	NewConsent    id.Consent
	NewAssignment id.Assignment
	NewGrants     []id.Grant // one for each method
}

// GrantFacts is what the decision looks at.
type GrantFacts struct {
	Client     *Client
	Resource   *resource.Row
	Methods    []resource.Method
	Assignment id.Assignment // the standing one of this client and resource, or zero
	Standing   []grant.Row   // the client's rows on the resource that were not revoked
}

// GrantChanges is what a granting writes. A row replaces an older one with the
// same key: Replaced has it at the same place, or a zero row. NewAssignment is zero
// where one stands.
type GrantChanges struct {
	Rows          []grant.Row
	Replaced      []grant.Row
	NewAssignment id.Assignment
	Record        consent.Record
}

// DecideGrant makes the rows; all of them or none.
func DecideGrant(f GrantFacts, c GrantMethods, now time.Time) (GrantChanges, *fault.Fault) {
	if f.Client == nil || !f.Client.Connected || f.Resource == nil || f.Resource.State == resource.Removed {
		return GrantChanges{}, NotFound()
	}
	if f.Client.Kind != Application {
		return GrantChanges{}, fault.New(fault.InvalidRequest, "the owner's own hand needs no grant")
	}
	if len(c.Methods) == 0 {
		return GrantChanges{}, fault.New(fault.InvalidRequest, "name the methods to grant")
	}
	if !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(now) {
		return GrantChanges{}, fault.New(fault.InvalidRequest, "the expiry is in the past")
	}
	if err := c.Limit.Check(); err != nil {
		return GrantChanges{}, fault.From(err)
	}
	out := GrantChanges{}
	assignment := f.Assignment
	if assignment.IsZero() {
		assignment, out.NewAssignment = c.NewAssignment, c.NewAssignment
	}
	var granted []resource.Method
	seen := map[string]bool{}
	for i, name := range c.Methods {
		at, bad := find(f.Methods, name)
		if bad != nil {
			return GrantChanges{}, bad
		}
		m := f.Methods[at]
		if seen[name] {
			return GrantChanges{}, fault.Newf(fault.InvalidRequest, "method %s is named twice", name)
		}
		seen[name] = true
		if m.State == resource.Gone {
			gone := fault.Newf(fault.NeedsConsent, "method %s is not there now: %s", name, m.Reason)
			if f.Resource.Kind == resource.Capsule {
				gone = gone.With("fix", "steward capsule list")
			}
			return GrantChanges{}, gone
		}
		if m.State != resource.Live {
			return GrantChanges{}, fault.Newf(fault.NeedsConsent, "method %s is %s; approve it first", name, m.State).
				With("fix", "steward review "+f.Resource.ID.String())
		}
		granted = append(granted, m)
		key := grant.Key{Owner: c.Owner, Client: c.Client, Resource: f.Resource.ID, Contract: m.Contract, Method: name}
		out.Replaced = append(out.Replaced, withKey(f.Standing, key))
		out.Rows = append(out.Rows, grant.Row{
			ID: c.NewGrants[i], Key: key,
			Pin: m.Pin(), Contract: m.Document, Effects: m.Definition.Effects, Confirm: c.Confirm, Limit: c.Limit, State: grant.Active,
			Assignment: assignment, Consent: c.NewConsent, CreatedAt: now, ExpiresAt: c.ExpiresAt,
		})
	}
	sight := shown(*f.Resource, granted, termsOf(c))
	out.Record = consent.Record{ID: c.NewConsent, Owner: c.Owner, Client: c.Client, Resource: f.Resource.ID, Kind: consent.Granting,
		Shown: sight, Digest: digest.Of(digest.Consent, sight), At: now}
	return out, nil
}

func withKey(rows []grant.Row, key grant.Key) grant.Row {
	for _, r := range rows {
		if r.Key == key {
			return r
		}
	}
	return grant.Row{}
}

// terms are what holds for each row of a granting beside the method itself.
type terms struct {
	Confirm   string       `json:"confirm"`
	ExpiresAt string       `json:"expires_at,omitzero"`
	Budget    budget.Limit `json:"budget,omitzero"`
}

func termsOf(c GrantMethods) *terms {
	t := &terms{Confirm: string(c.Confirm), Budget: c.Limit}
	if !c.ExpiresAt.IsZero() {
		t.ExpiresAt = c.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return t
}

// Revoke ends a row; ending it twice changes nothing (invariants I44, I46).
func Revoke(r grant.Row, now time.Time) grant.Row {
	if r.State == grant.Revoked {
		return r
	}
	r.State, r.RevokedAt = grant.Revoked, now
	return r
}
