// Package rights pins who may do what in the audit trail: a digest over everything
// that an owner's rights and definitions are made of. Each change of them has its row
// with the digest as it is after the change, in the same transaction, so that a bit
// that flips on a disk, or an edit, is a difference that a verification names (threats,
// A78; proof, R7).
//
// Definitions and bindings are pinned by the digests that stand beside them, which Sum
// covers and Definitions checks. What a listing refreshes without changing anything, such as
// its time, is not pinned. The functions keep nothing.
package rights

import (
	"database/sql"
	"fmt"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// The statements of Sum, in the order in which their rows are joined.
const (
	sumClients = "SELECT c.client, c.name, c.kind, c.connected, c.created_at FROM clients c WHERE c.owner = $1 ORDER BY c.client"
	sumTokens  = "SELECT t.hash, t.client, t.audience, t.created_at, t.expires_at, t.revoked_at FROM tokens t WHERE t.owner = $1 ORDER BY t.client, t.hash"
	sumEntries = "SELECT a.adapter, a.name, a.kind, a.configuration, a.server, a.protocol, a.state, a.created_at FROM adapters a " +
		"WHERE a.owner = $1 ORDER BY a.adapter"
	sumResources = "SELECT r.resource, r.number, r.kind, r.label, r.alias, r.adapter, r.storage, r.revision, r.state, r.created_at FROM resources r " +
		"WHERE r.owner = $1 ORDER BY r.resource"
	sumMethods = "SELECT m.resource, m.contract, m.method, m.document_digest, m.method_digest, m.binding_digest, m.upstream, m.review, m.approved, m.state, m.reason " +
		"FROM methods m WHERE m.owner = $1 ORDER BY m.resource, m.contract, m.method"
	sumAssignments = "SELECT s.assignment, s.client, s.resource, s.created_at, s.ended_at FROM assignments s WHERE s.owner = $1 ORDER BY s.assignment"
	sumGrants      = "SELECT g.client, g.resource, g.contract, g.method, g.grant_id, g.method_digest, g.binding_digest, g.contract_digest, g.effects, g.confirm, " +
		"g.per_minute, g.at_once, g.per_day, g.price, g.spend_per_day, g.currency, g.state, g.assignment, g.consent, g.created_at, g.expires_at, g.revoked_at " +
		"FROM grants g WHERE g.owner = $1 ORDER BY g.client, g.resource, g.contract, g.method"

	sumCapsules = "SELECT c.name, c.installed, c.off FROM capsules c WHERE c.owner = $1 ORDER BY c.name"

	keepSum   = "UPDATE owners SET rights = $2 WHERE owner = $1 AND rights <> $2"
	allOwners = "SELECT o.owner FROM owners o ORDER BY o.number"

	definitions = "SELECT m.resource, m.method, m.method_digest, m.binding_digest, m.definition, m.binding FROM methods m " +
		"WHERE m.owner = $1 ORDER BY m.resource, m.contract, m.method"
	documents = "SELECT c.digest, c.document FROM contracts c WHERE c.owner = $1 ORDER BY c.digest"
)

// Sum is the digest of an owner's rights as they are in this transaction.
func Sum(tx *sqldb.Tx, owner id.Owner) (digest.Digest, error) {
	all := digest.Join(owner.String())
	for _, query := range []string{sumClients, sumTokens, sumEntries, sumResources, sumMethods, sumAssignments, sumGrants, sumCapsules} {
		rows, err := tx.Query(query, owner.String())
		n := int64(0)
		_, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (none struct{}, err error) {
			n++
			return none, join(all, rows)
		})
		if err != nil {
			return digest.Digest{}, err
		}
		all.Int(n)
	}
	return all.Sum(digest.Rights), nil
}

// join adds the values of a row.
func join(all *digest.Fields, rows *sql.Rows) error {
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	for i, v := range values {
		switch v := v.(type) {
		case int64:
			all.Int(v)
		case string:
			all.Text(v)
		case []byte:
			all.Bytes(v)
		case nil:
			all.Absent()
		default:
			return fmt.Errorf("rights: column %s holds a %T", names[i], v)
		}
	}
	return nil
}

// Pin notes an owner's rights in the trail, if they are not what was noted last. It is
// the last thing that a transaction does which may have changed them.
func Pin(tx *ledger.Tx, owner id.Owner) error {
	if tx.RightsStand {
		return nil
	}
	sum, err := Sum(tx.Tx, owner)
	if err != nil {
		return err
	}
	changed, err := tx.Exec(keepSum, owner.String(), sum.String())
	if err != nil || changed == 0 {
		return err
	}
	_, err = tx.Audit(audit.Entry{Owner: owner, Kind: audit.Rights, Subject: owner.String(), Detail: sum.String()})
	return err
}

// Owners lists all owners.
func Owners(tx *sqldb.Tx) ([]id.Owner, error) {
	rows, err := tx.Query(allOwners)
	return sqldb.Collect(rows, err, func(rows *sql.Rows) (owner id.Owner, err error) {
		err = rows.Scan(record.Text(&owner))
		return owner, err
	})
}

// Definitions names the methods and documents of an owner that are not what the
// digests beside them say.
func Definitions(tx *sqldb.Tx, owner id.Owner) (wrong []string, err error) {
	rows, err := tx.Query(definitions, owner.String())
	if _, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (none struct{}, err error) {
		var which, method, pin, bound string
		var definition, binding []byte
		if err := rows.Scan(&which, &method, &pin, &bound, &definition, &binding); err != nil {
			return none, err
		}
		if !holds(method, pin, bound, definition, binding) {
			wrong = append(wrong, which+" "+method)
		}
		return none, nil
	}); err != nil {
		return nil, err
	}
	rows, err = tx.Query(documents, owner.String())
	_, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (none struct{}, err error) {
		var sum string
		var document []byte
		if err := rows.Scan(&sum, &document); err != nil {
			return none, err
		}
		if digest.Of(digest.Contract, document).String() != sum {
			wrong = append(wrong, sum)
		}
		return none, nil
	})
	return wrong, err
}

func holds(method, pin, bound string, definition, binding []byte) bool {
	m, b, err := record.DecodeMethod(method, definition, binding)
	return err == nil && m.Digest().String() == pin && b.Digest().String() == bound
}
