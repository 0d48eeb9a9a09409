package record

import (
	"database/sql"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/consent"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// GrantColumns are those of ScanGrant, of the table named g.
const GrantColumns = "g.owner, g.client, g.resource, g.contract, g.method, g.grant_id, g.method_digest, g.binding_digest, " +
	"g.contract_digest, g.effects, g.confirm, " + limitColumns + ", g.state, g.assignment, g.consent, g.created_at, g.expires_at, g.revoked_at"

const (
	limitColumns = "g.per_minute, g.at_once, g.per_day, g.price, g.spend_per_day, g.currency"

	putGrant = "INSERT INTO grants (owner, client, resource, contract, method, grant_id, method_digest, binding_digest, " +
		"contract_digest, effects, confirm, state, assignment, consent, created_at, expires_at, revoked_at, " +
		"per_minute, at_once, per_day, price, spend_per_day, currency) VALUES (" +
		"$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23) " +
		"ON CONFLICT (owner, client, resource, contract, method) DO UPDATE SET grant_id = $6, method_digest = $7, binding_digest = $8, " +
		"contract_digest = $9, effects = $10, confirm = $11, state = $12, assignment = $13, consent = $14, created_at = $15, " +
		"expires_at = $16, revoked_at = $17, per_minute = $18, at_once = $19, per_day = $20, price = $21, spend_per_day = $22, currency = $23"

	grantRows = "SELECT " + GrantColumns + ", m.method_digest, m.binding_digest, m.state, s.assignment, r.kind, r.state, a.state, c.name, r.label FROM grants g " +
		"LEFT JOIN methods m ON m.owner = g.owner AND m.resource = g.resource AND m.contract = g.contract AND m.method = g.method" +
		joinAssignment +
		" LEFT JOIN clients c ON c.owner = g.owner AND c.client = g.client LEFT JOIN resources r ON r.owner = g.owner AND r.resource = g.resource" +
		joinAdapter
	grantsOfOwner  = grantRows + " WHERE g.owner = $1 ORDER BY g.client, g.resource, g.contract, g.method LIMIT $2"
	grantsOfClient = grantRows + " WHERE g.owner = $1 AND g.client = $3 ORDER BY g.client, g.resource, g.contract, g.method LIMIT $2"

	addConsent = "INSERT INTO consents (owner, consent, client, resource, kind, shown, digest, at, ended_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)"
)

func grantFields(r *grant.Row) []any {
	return []any{Text(&r.Key.Owner), Text(&r.Key.Client), Text(&r.Key.Resource), Word(&r.Key.Contract), Word(&r.Key.Method), Text(&r.ID),
		Text(&r.Pin.Method), Text(&r.Pin.Binding), Text(&r.Contract), Text(&r.Effects), Word(&r.Confirm),
		Number(&r.Limit.PerMinute), Number(&r.Limit.AtOnce), Number(&r.Limit.PerDay), Number(&r.Limit.Price), Number(&r.Limit.SpendPerDay),
		Word(&r.Limit.Currency), Word(&r.State),
		Text(&r.Assignment), Text(&r.Consent), Moment(&r.CreatedAt), Moment(&r.ExpiresAt), Moment(&r.RevokedAt)}
}

// ScanGrant reads a row of GrantColumns; more destinations follow it.
func ScanGrant(rows *sql.Rows, more ...any) (r grant.Row, err error) {
	err = rows.Scan(append(grantFields(&r), more...)...)
	return r, err
}

// PutGrant writes a row in place of an older one with the same key.
func PutGrant(tx *sqldb.Tx, r grant.Row) error {
	return one(tx.Exec(putGrant, r.Key.Owner.String(), r.Key.Client.String(), r.Key.Resource.String(), r.Key.Contract, r.Key.Method,
		r.ID.String(), r.Pin.Method.String(), r.Pin.Binding.String(), r.Contract.String(), r.Effects.String(), string(r.Confirm),
		string(r.State), r.Assignment.String(), r.Consent.String(), Millis(r.CreatedAt), Millis(r.ExpiresAt), Millis(r.RevokedAt),
		r.Limit.PerMinute, r.Limit.AtOnce, r.Limit.PerDay, r.Limit.Price, r.Limit.SpendPerDay, r.Limit.Currency))
}

// AddConsent writes the record of what the owner saw and said.
func AddConsent(tx *sqldb.Tx, r consent.Record) error {
	return one(tx.Exec(addConsent, r.Owner.String(), r.ID.String(), r.Client.String(), r.Resource.String(), string(r.Kind), Bytes(r.Shown), r.Digest.String(),
		Millis(r.At)))
}

// Grants reads rows of one client, or of all clients for the zero client, with
// their derived state and the names that a person knows; titles are left out.
func Grants(tx *sqldb.Tx, owner id.Owner, client id.Client, limit int, now time.Time) ([]view.Grant, error) {
	query, args := grantsOfOwner, []any{owner.String(), limit}
	if !client.IsZero() {
		query, args = grantsOfClient, append(args, client.String())
	}
	rows, err := tx.Query(query, args...)
	return sqldb.Collect(rows, err, func(rows *sql.Rows) (view.Grant, error) {
		var g view.Grant
		var at rights
		row, err := ScanGrant(rows, Text(&at.pin.Method), Text(&at.pin.Binding), Word(&at.method.State), Text(&at.assigned),
			Word(&at.resource.Kind), Word(&at.resource.State), Word(&at.adapter), Word(&g.App), Word(&g.Resource))
		// What the row pinned is what its effects were read from.
		at.grant, at.method.Definition.Effects = row, row.Effects
		var s authority.Standing
		at.add(&s)
		g.Row, g.State = row, authority.StateOf(s, now)
		g.Tool = projection.Name(row.Key.Owner, row.Key.Resource, row.Key.Contract, row.Key.Method)
		return g, err
	})
}
