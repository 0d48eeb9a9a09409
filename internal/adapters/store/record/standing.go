package record

import (
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

// The facts of an authorization, each read by its key: who asks, and what that
// client has to do with the target. Of resource and grant they hold what
// decisions look at.
const (
	presenceColumns = "c.kind, c.connected, o.changes, t.audience, t.expires_at, t.revoked_at"
	ofCaller        = " FROM clients c JOIN owners o ON o.owner = c.owner" +
		" LEFT JOIN tokens t ON t.hash = $3 AND t.owner = c.owner AND t.client = c.client"
	ofClient = " WHERE c.owner = $1 AND c.client = $2"

	callerOf = "SELECT " + presenceColumns + ofCaller + ofClient

	// The owner's count of changes, by which what is remembered is known to stand, and
	// whether there is a row of the tx and one in doubt of the input, and the numbers
	// around the owner's next call.
	callOf = "SELECT o.changes" +
		", (SELECT i.attempt FROM invocations i WHERE i.owner = o.owner AND i.client = $2 AND i.tx = $3)" +
		", (SELECT COUNT(*) FROM invocations d WHERE d.owner = o.owner AND d.client = $2 AND d.input = $4 AND d.state = 'indeterminate')" +
		", o.number, (SELECT n.number FROM invocations n WHERE n.number > o.number AND n.number < o.number + 1099511627776 ORDER BY n.number DESC LIMIT 1)" +
		" FROM owners o WHERE o.owner = $1"

	// The same count, and of the row of the tx what may have changed.
	attemptOf = "SELECT o.changes, " + openColumns +
		" FROM owners o LEFT JOIN invocations i ON i.owner = o.owner AND i.client = $2 AND i.tx = $3 WHERE o.owner = $1"

	rightsColumns = "r.kind, r.adapter, r.revision, r.state, a.state, m.document_digest, m.method_digest, m.binding_digest, m.state, " +
		"g.grant_id, g.method_digest, g.binding_digest, g.effects, g.confirm, " + limitColumns + ", g.state, g.assignment, g.expires_at, s.assignment"
	joinAdapter    = " LEFT JOIN adapters a ON a.owner = r.owner AND a.adapter = r.adapter"
	joinAssignment = " LEFT JOIN assignments s ON s.owner = g.owner AND s.assignment = g.assignment AND s.ended_at = 0"

	rightsOf = "SELECT " + rightsColumns + ", r.number" +
		", (SELECT COUNT(*) FROM assignments n WHERE n.owner = o.owner AND n.resource = $3 AND n.ended_at = 0) FROM owners o" +
		" LEFT JOIN resources r ON r.owner = o.owner AND r.resource = $3" + joinAdapter +
		" LEFT JOIN methods m ON m.owner = o.owner AND m.resource = $3 AND m.contract = $4 AND m.method = $5" +
		" LEFT JOIN grants g ON g.owner = o.owner AND g.client = $2 AND g.resource = $3 AND g.contract = $4 AND g.method = $5" +
		joinAssignment + " WHERE o.owner = $1"

	// Asked only where the row for the target itself lets nothing be seen.
	holdsOther = "SELECT g.grant_id FROM grants g WHERE g.owner = $1 AND g.client = $2 AND g.resource = $3 AND g.state = 'active' " +
		"AND (g.expires_at = 0 OR g.expires_at > $4) LIMIT 1"
)

// CallsOfOwner is how many numbers of calls each owner has.
const CallsOfOwner = 1 << 40

// presence is who asks, as it stands in this transaction. It never changes once it
// is read.
type presence struct {
	client  authority.Client
	changes int64
	token   authority.Token
	revoked time.Time
}

func (p *presence) fields() []any {
	return []any{Word(&p.client.Kind), Flag(&p.client.Connected), Number(&p.changes), Word(&p.token.Audience), Moment(&p.token.ExpiresAt),
		Moment(&p.revoked)}
}

// readPresence reads who asks; nil where there is no such client.
func readPresence(tx *sqldb.Tx, c authority.Caller) (*presence, error) {
	var p presence
	found, err := tx.One(callerOf, callerKey(c), p.fields()...)
	if err != nil || !found {
		return nil, err
	}
	p.token.Revoked = !p.revoked.IsZero()
	return &p, nil
}

func (p *presence) standing() authority.Standing {
	s := authority.Standing{Client: &p.client}
	if p.token.Audience != "" {
		s.Token = &p.token
	}
	return s
}

func callerKey(c authority.Caller) []any {
	return []any{c.Owner.String(), c.Client.String(), c.Token[:]}
}

// rights is what a client has to do with a target. It never changes.
type rights struct {
	changes  int64 // the owner's count when it was read
	resource resource.Row
	adapter  view.AdapterState
	method   resource.Method
	pin      grant.Pin
	grant    grant.Row
	assigned id.Assignment
	place    int64 // the resource's number
	apps     int64 // that the resource is assigned to
}

func (r *rights) fields() []any {
	return []any{Word(&r.resource.Kind), Text(&r.resource.Adapter), Text(&r.resource.Revision), Word(&r.resource.State), Word(&r.adapter),
		Text(&r.method.Document), Text(&r.pin.Method), Text(&r.pin.Binding), Word(&r.method.State),
		Text(&r.grant.ID), Text(&r.grant.Pin.Method), Text(&r.grant.Pin.Binding), Text(&r.grant.Effects), Word(&r.grant.Confirm),
		Number(&r.grant.Limit.PerMinute), Number(&r.grant.Limit.AtOnce), Number(&r.grant.Limit.PerDay), Number(&r.grant.Limit.Price),
		Number(&r.grant.Limit.SpendPerDay), Word(&r.grant.Limit.Currency), Word(&r.grant.State), Text(&r.grant.Assignment), Moment(&r.grant.ExpiresAt), Text(&r.assigned)}
}

// name writes the keys that the row was found by into it.
func (r *rights) name(key rightsKey) {
	t := key.target
	r.resource.ID, r.resource.Owner = t.Resource, key.owner
	r.method.Contract, r.method.Definition.ID = t.Contract, t.Method
	r.grant.Key = grant.Key{Owner: key.owner, Client: key.client, Resource: t.Resource, Contract: t.Contract, Method: t.Method}
}

// add puts the rights into a standing; what an outer join did not find is nil.
func (r *rights) add(s *authority.Standing) {
	if r.resource.State != "" {
		s.Resource = &r.resource
		s.AdapterLive = r.resource.Kind != resource.Connection || r.adapter == view.Enabled
	}
	if r.method.State != "" {
		s.Method, s.Pin = &r.method, r.pin
	}
	if r.grant.State != "" {
		s.Grant, s.Assigned = &r.grant, !r.assigned.IsZero()
	}
}

// CallStanding is the standing for a new call, and what the journal holds.
type CallStanding struct {
	authority.Standing
	Known   bool  // there is a row of the tx
	InDoubt bool  // there is a row in doubt of the input
	Place   int64 // the number of the target's resource
	Apps    int64 // that the resource is assigned to
	Next    int64 // the number of the owner's next call
	fresh   fresh
}

// fresh is what was read and may be remembered once the transaction that it was read
// in is durable: one that is not may have seen what never was.
type fresh struct {
	caller   authority.Caller
	presence *presence
	key      rightsKey
	rights   *rights
}

// CallStanding loads what a decision about a call looks at first.
func (m *Memory) CallStanding(tx *sqldb.Tx, c authority.Caller, t invocation.Target, which id.Tx, input digest.Digest, now time.Time) (CallStanding, error) {
	var changes, attempt, doubts, base, last int64
	found, err := tx.One(callOf, []any{c.Owner.String(), c.Client.String(), which.String(), input.String()},
		&changes, Number(&attempt), Number(&doubts), &base, Number(&last))
	if err != nil || !found {
		return CallStanding{}, err
	}
	out := CallStanding{Known: attempt > 0, InDoubt: doubts > 0, Next: max(base, last) + 1}
	p, err := m.presence(tx, c, changes, &out.fresh)
	if err != nil || p == nil {
		return CallStanding{}, err
	}
	s, r, err := m.complete(tx, p, c, t, now, &out.fresh)
	if err == nil {
		out.Standing, out.Place, out.Apps = s, r.place, r.apps
	}
	return out, err
}

// presence gives who asks while the owner's count of changes is this.
func (m *Memory) presence(tx *sqldb.Tx, c authority.Caller, changes int64, read *fresh) (*presence, error) {
	if p := m.caller(c, changes); p != nil {
		return p, nil
	}
	p, err := readPresence(tx, c)
	read.caller, read.presence = c, p
	return p, err
}

// AttemptStanding loads the row of a caller's tx, nil if there is none, and the
// standing for what it is about.
func (m *Memory) AttemptStanding(tx *sqldb.Tx, c authority.Caller, which id.Tx, now time.Time) (*invocation.Row, authority.Standing, error) {
	var changes int64
	var read fresh // an attempt is remembered by the call that it is of
	row := invocation.Row{Owner: c.Owner, Client: c.Client, Tx: which}
	found, err := tx.One(attemptOf, []any{c.Owner.String(), c.Client.String(), which.String()}, append([]any{&changes}, openFields(&row)...)...)
	if err != nil || !found {
		return nil, authority.Standing{}, err
	}
	p, err := m.presence(tx, c, changes, &read)
	if err != nil || p == nil {
		return nil, authority.Standing{}, err
	}
	whole, target := (*invocation.Row)(nil), invocation.Target{}
	switch {
	case row.State == "": // there is none
	case row.State.Unresolved() && m.opened(&row):
		whole, target = &row, row.Target
	default:
		if whole, err = m.InvocationByTx(tx, c.Owner, c.Client, which); err != nil || whole == nil {
			return nil, authority.Standing{}, err
		}
		target = whole.Target
	}
	s, _, err := m.complete(tx, p, c, target, now, &read)
	return whole, s, err
}

// complete adds what the client has to do with the target, and where that lets
// it see nothing, whether another row of it does. What does not exist and what is
// not the caller's take the same statements (invariant I51).
func (m *Memory) complete(tx *sqldb.Tx, p *presence, c authority.Caller, t invocation.Target, now time.Time, read *fresh) (authority.Standing, *rights, error) {
	s := p.standing()
	key := rightsKey{c.Owner, c.Client, t}
	hand := p.client.Kind == authority.OwnersHand
	r := m.known(key, p.changes)
	if r == nil {
		r = &rights{changes: p.changes}
		if _, err := tx.One(rightsOf, []any{c.Owner.String(), c.Client.String(), t.Resource.String(), t.Contract, t.Method},
			append(r.fields(), Number(&r.place), Number(&r.apps))...); err != nil {
			return s, nil, err
		}
		r.name(key)
		if r.method.State != "" && (hand || r.grant.State != "") {
			if err := m.fill(tx, c.Owner, t, r.pin, &r.method); err != nil {
				return s, nil, err
			}
			read.key, read.rights = key, r
		}
	}
	r.add(&s)
	if hand || s.Grant != nil && !ended(*s.Grant, now) {
		return s, r, nil
	}
	var other string
	var err error
	s.HoldsOther, err = tx.One(holdsOther, []any{c.Owner.String(), c.Client.String(), t.Resource.String(), now.UnixMilli()}, &other)
	return s, r, err
}

// ended reports whether a row gives its client nothing to see any more.
func ended(g grant.Row, now time.Time) bool {
	state := g.StateAt(g.Pin, now)
	return state == grant.Revoked || state == grant.Expired
}
