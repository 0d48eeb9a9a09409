package record

import (
	"database/sql"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// The facts of an authorization are read at once, each by its key. Of resource
// and grant they hold what decisions look at.
const (
	standingColumns = "c.kind, c.connected, t.audience, t.expires_at, t.revoked_at, r.kind, r.adapter, r.revision, r.state, a.state, " +
		"m.document_digest, m.method_digest, m.binding_digest, m.state, g.grant_id, g.method_digest, g.binding_digest, " +
		"g.effects, g.confirm, g.state, g.assignment, g.expires_at, s.assignment"

	joinToken      = " LEFT JOIN tokens t ON t.hash = $3 AND t.owner = c.owner AND t.client = c.client"
	joinAdapter    = " LEFT JOIN adapters a ON a.owner = r.owner AND a.adapter = r.adapter"
	joinAssignment = " LEFT JOIN assignments s ON s.owner = g.owner AND s.assignment = g.assignment AND s.ended_at = 0"
	ofClient       = " WHERE c.owner = $1 AND c.client = $2"

	ofTarget = " FROM clients c" + joinToken +
		" LEFT JOIN resources r ON r.owner = c.owner AND r.resource = $4" + joinAdapter +
		" LEFT JOIN methods m ON m.owner = c.owner AND m.resource = $4 AND m.contract = $5 AND m.method = $6" +
		" LEFT JOIN grants g ON g.owner = c.owner AND g.client = c.client AND g.resource = $4 AND g.contract = $5 AND g.method = $6" +
		joinAssignment + ofClient

	standingOf = "SELECT " + standingColumns + ofTarget

	// The same, and whether there is a row of the tx and one in doubt of the input.
	callStandingOf = "SELECT " + standingColumns +
		", (SELECT i.attempt FROM invocations i WHERE i.owner = c.owner AND i.client = c.client AND i.tx = $7)" +
		", (SELECT COUNT(*) FROM invocations d WHERE d.owner = c.owner AND d.client = c.client AND d.input = $8 AND d.state = 'indeterminate')" +
		ofTarget

	holdsOther = "SELECT g.grant_id FROM grants g WHERE g.owner = $1 AND g.client = $2 AND g.resource = $3 AND g.state = 'active' " +
		"AND (g.expires_at = 0 OR g.expires_at > $4) AND (g.contract <> $5 OR g.method <> $6) LIMIT 1"

	// What a client may be able to call: its grants, or for the owner's own hand
	// every method.
	listColumns      = ", r.resource, r.label, m.contract, m.method"
	standingOfGrants = "SELECT " + standingColumns + listColumns + " FROM clients c JOIN grants g ON g.owner = c.owner AND g.client = c.client" + joinToken +
		" JOIN resources r ON r.owner = g.owner AND r.resource = g.resource" + joinAdapter +
		" JOIN methods m ON m.owner = g.owner AND m.resource = g.resource AND m.contract = g.contract AND m.method = g.method" +
		joinAssignment + ofClient + " ORDER BY g.resource, g.contract, g.method"
	standingOfMethods = "SELECT " + standingColumns + listColumns + " FROM clients c JOIN resources r ON r.owner = c.owner" + joinToken + joinAdapter +
		" JOIN methods m ON m.owner = r.owner AND m.resource = r.resource" +
		" LEFT JOIN grants g ON g.owner = c.owner AND g.client = c.client AND g.resource = m.resource AND g.contract = m.contract AND g.method = m.method" +
		joinAssignment + ofClient + " ORDER BY m.resource, m.contract, m.method"
)

// facts is one row of standingColumns.
type facts struct {
	client   authority.Client
	token    authority.Token
	revoked  time.Time
	resource resource.Row
	adapter  view.AdapterState
	method   resource.Method
	pin      grant.Pin
	grant    grant.Row
	assigned id.Assignment
}

func (f *facts) fields() []any {
	return []any{Word(&f.client.Kind), Flag(&f.client.Connected), Word(&f.token.Audience), Moment(&f.token.ExpiresAt), Moment(&f.revoked),
		Word(&f.resource.Kind), Text(&f.resource.Adapter), Text(&f.resource.Revision), Word(&f.resource.State), Word(&f.adapter),
		Text(&f.method.Document), Text(&f.pin.Method), Text(&f.pin.Binding), Word(&f.method.State),
		Text(&f.grant.ID), Text(&f.grant.Pin.Method), Text(&f.grant.Pin.Binding), Text(&f.grant.Effects), Word(&f.grant.Confirm),
		Word(&f.grant.State), Text(&f.grant.Assignment), Moment(&f.grant.ExpiresAt), Text(&f.assigned)}
}

// standing turns the columns into facts; what an outer join did not find is nil.
func (f *facts) standing(c authority.Caller, t invocation.Target) authority.Standing {
	s := authority.Standing{Client: &f.client}
	if f.token.Audience != "" {
		f.token.Revoked = !f.revoked.IsZero()
		s.Token = &f.token
	}
	if f.resource.State != "" {
		f.resource.ID, f.resource.Owner = t.Resource, c.Owner
		s.Resource = &f.resource
		s.AdapterLive = f.resource.Kind == resource.Builtin || f.adapter == view.Enabled
	}
	if f.method.State != "" {
		f.method.Contract, f.method.Definition.ID = t.Contract, t.Method
		s.Method, s.Pin = &f.method, f.pin
	}
	if f.grant.State != "" {
		f.grant.Key = grant.Key{Owner: c.Owner, Client: c.Client, Resource: t.Resource, Contract: t.Contract, Method: t.Method}
		s.Grant, s.Assigned = &f.grant, !f.assigned.IsZero()
	}
	return s
}

// Standing loads what an authorization looks at. What does not exist and what is
// not the caller's take the same statements (invariant I51).
func (d *Definitions) Standing(tx *sqldb.Tx, c authority.Caller, t invocation.Target, now time.Time) (authority.Standing, error) {
	var f facts
	found, err := tx.One(standingOf, standingKey(c, t), f.fields()...)
	if err != nil || !found {
		return authority.Standing{}, err
	}
	return d.complete(tx, f.standing(c, t), c, t, now)
}

// CallStanding is the standing for a new call, and what the journal may hold of
// its tx and of its input.
type CallStanding struct {
	authority.Standing
	Known   bool // there is a row of the tx
	InDoubt bool // there is a row in doubt of the input
}

// CallStanding loads what a decision about a call looks at first.
func (d *Definitions) CallStanding(tx *sqldb.Tx, c authority.Caller, t invocation.Target, which id.Tx, input digest.Digest, now time.Time) (CallStanding, error) {
	var f facts
	var attempt, doubts int64
	found, err := tx.One(callStandingOf, append(standingKey(c, t), which.String(), input.String()),
		append(f.fields(), Number(&attempt), Number(&doubts))...)
	if err != nil || !found {
		return CallStanding{}, err
	}
	out := CallStanding{Known: attempt > 0, InDoubt: doubts > 0}
	out.Standing, err = d.complete(tx, f.standing(c, t), c, t, now)
	return out, err
}

func standingKey(c authority.Caller, t invocation.Target) []any {
	return []any{c.Owner.String(), c.Client.String(), c.Token[:], t.Resource.String(), t.Contract, t.Method}
}

// complete loads what only some calls need: whether another row of the client's
// lets the resource be seen, and the definition.
func (d *Definitions) complete(tx *sqldb.Tx, s authority.Standing, c authority.Caller, t invocation.Target, now time.Time) (authority.Standing, error) {
	if s.Client.Kind != authority.OwnersHand && (s.Grant == nil || ended(*s.Grant, now)) {
		var other string
		found, err := tx.One(holdsOther, []any{c.Owner.String(), c.Client.String(), t.Resource.String(), now.UnixMilli(), t.Contract, t.Method}, &other)
		s.HoldsOther = found
		return s, err
	}
	if s.Method == nil {
		return s, nil
	}
	return s, d.fill(tx, c.Owner, t, s.Pin, s.Method)
}

// ended reports whether a row gives its client nothing to see any more.
func ended(g grant.Row, now time.Time) bool {
	state := g.StateAt(g.Pin, now)
	return state == grant.Revoked || state == grant.Expired
}

// Listed is the standing of one method that a client may be able to call.
type Listed struct {
	Standing authority.Standing
	Target   invocation.Target
	Label    string // of the resource
}

// Standings loads the caller's own standing, and the standing of every method
// that it holds a row for, or of all methods for the owner's own hand.
func (d *Definitions) Standings(tx *sqldb.Tx, c authority.Caller) (authority.Standing, []Listed, error) {
	var own facts
	found, err := tx.One(standingOf, standingKey(c, invocation.Target{}), own.fields()...)
	if err != nil || !found {
		return authority.Standing{}, nil, err
	}
	query := standingOfGrants
	if own.client.Kind == authority.OwnersHand {
		query = standingOfMethods
	}
	rows, err := tx.Query(query, c.Owner.String(), c.Client.String(), c.Token[:])
	list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (Listed, error) {
		var f facts
		var l Listed
		err := rows.Scan(append(f.fields(), Text(&l.Target.Resource), Word(&l.Label), Word(&l.Target.Contract), Word(&l.Target.Method))...)
		l.Standing = f.standing(c, l.Target)
		return l, err
	})
	if err != nil {
		return authority.Standing{}, nil, err
	}
	for _, l := range list {
		if err := d.fill(tx, c.Owner, l.Target, l.Standing.Pin, l.Standing.Method); err != nil {
			return authority.Standing{}, nil, err
		}
	}
	return own.standing(c, invocation.Target{}), list, nil
}
