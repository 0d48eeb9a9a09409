package record

import (
	"database/sql"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// What a client may be able to call: its grants, or for the owner's own hand
// every method.
const (
	listColumns  = "SELECT " + rightsColumns + ", r.resource, r.label, m.contract, m.method"
	rightsListed = listColumns + " FROM grants g JOIN resources r ON r.owner = g.owner AND r.resource = g.resource" + joinAdapter +
		" JOIN methods m ON m.owner = g.owner AND m.resource = g.resource AND m.contract = g.contract AND m.method = g.method" +
		joinAssignment + " WHERE g.owner = $1 AND g.client = $2 ORDER BY g.resource, g.contract, g.method"
	methodsListed = listColumns + " FROM resources r" + joinAdapter +
		" JOIN methods m ON m.owner = r.owner AND m.resource = r.resource" +
		" LEFT JOIN grants g ON g.owner = r.owner AND g.client = $2 AND g.resource = m.resource AND g.contract = m.contract AND g.method = m.method" +
		joinAssignment + " WHERE r.owner = $1 ORDER BY m.resource, m.contract, m.method"
)

// Listed is the standing of one method that a client may be able to call.
type Listed struct {
	Standing authority.Standing
	Target   invocation.Target
	Label    string // of the resource
}

// Presence loads who asks, without any target, and the owner's count of changes.
func Presence(tx *sqldb.Tx, c authority.Caller) (s authority.Standing, changes int64, err error) {
	p, err := readPresence(tx, c)
	if err != nil || p == nil {
		return authority.Standing{}, 0, err
	}
	return p.standing(), p.changes, nil
}

// Listing loads the standing of every method that the caller holds a row for, or
// of all methods for the owner's own hand. Who asks is as Presence gave it.
func (m *Memory) Listing(tx *sqldb.Tx, c authority.Caller, who authority.Standing) ([]Listed, error) {
	query := rightsListed
	if who.Client.Kind == authority.OwnersHand {
		query = methodsListed
	}
	rows, err := tx.Query(query, c.Owner.String(), c.Client.String())
	list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (Listed, error) {
		r, l := &rights{}, Listed{Standing: who}
		err := rows.Scan(append(r.fields(), Text(&l.Target.Resource), Word(&l.Label), Word(&l.Target.Contract), Word(&l.Target.Method))...)
		r.name(rightsKey{c.Owner, c.Client, l.Target})
		r.add(&l.Standing)
		return l, err
	})
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if err := m.fill(tx, c.Owner, l.Target, l.Standing.Pin, l.Standing.Method); err != nil {
			return nil, err
		}
	}
	return list, nil
}
