package record

import (
	"database/sql"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// ResourceColumns and AdapterColumns are those of ScanResource, of the tables
// named r and a, which is joined from outside.
const (
	ResourceColumns = "r.owner, r.resource, r.kind, r.label, r.alias, r.adapter, r.storage, r.revision, r.state, r.created_at"
	AdapterColumns  = "a.owner, a.adapter, a.name, a.kind, a.configuration, a.server, a.protocol, a.state, a.listed_at"
)

const (
	resourceByID = "SELECT " + ResourceColumns + ", " + AdapterColumns + " FROM resources r " +
		"LEFT JOIN adapters a ON a.owner = r.owner AND a.adapter = r.adapter WHERE r.owner = $1 AND r.resource = $2"
	addResource = "INSERT INTO resources (owner, resource, kind, label, alias, adapter, storage, revision, state, created_at, number) " +
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, (SELECT COALESCE(MAX(n.number), 0) + 1 FROM resources n))"
	changeResource = "UPDATE resources SET revision = $3, state = $4 WHERE owner = $1 AND resource = $2"

	methodsOf = "SELECT m.contract, m.method, m.document_digest, m.method_digest, m.binding_digest, m.definition, m.binding, " +
		"m.upstream, m.review, m.approved, m.state, m.reason FROM methods m WHERE m.owner = $1 AND m.resource = $2 ORDER BY m.contract, m.method"
	putMethod = "INSERT INTO methods (owner, resource, contract, method, document_digest, method_digest, binding_digest, " +
		"definition, binding, upstream, review, approved, state, reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $14, $12, $13) " +
		"ON CONFLICT (owner, resource, contract, method) DO UPDATE SET document_digest = $5, method_digest = $6, binding_digest = $7, " +
		"definition = $8, binding = $9, upstream = $10, review = $11, approved = $14, state = $12, reason = $13"

	addContract = "INSERT INTO contracts (owner, digest, url, document, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"
)

func resourceFields(r *resource.Row) []any {
	return []any{Text(&r.Owner), Text(&r.ID), Word(&r.Kind), Word(&r.Label), Word(&r.Alias), Text(&r.Adapter), Word(&r.Storage),
		Text(&r.Revision), Word(&r.State), Moment(&r.CreatedAt)}
}

func adapterFields(a *view.Adapter) []any {
	return []any{Text(&a.Owner), Text(&a.ID), Word(&a.Name), Word(&a.Kind), &a.Configuration, Word(&a.Server), Word(&a.Protocol),
		Word(&a.State), Moment(&a.ListedAt)}
}

// ScanAdapter reads a row of AdapterColumns and the resource that it serves.
func ScanAdapter(rows *sql.Rows) (a view.Adapter, err error) {
	err = rows.Scan(append(adapterFields(&a), Text(&a.Resource))...)
	return a, err
}

// ScanResource reads a row of ResourceColumns and AdapterColumns.
func ScanResource(rows *sql.Rows) (out view.Resource, err error) {
	err = rows.Scan(append(resourceFields(&out.Row), adapterFields(&out.Adapter)...)...)
	if !out.Adapter.ID.IsZero() {
		out.Adapter.Resource = out.Row.ID
	}
	return out, err
}

// ResourceByID reads a resource of the owner's with its methods, nil if there is
// none.
func ResourceByID(tx *sqldb.Tx, owner id.Owner, which id.Resource) (*view.Resource, error) {
	var out view.Resource
	fields := append(resourceFields(&out.Row), adapterFields(&out.Adapter)...)
	found, err := tx.One(resourceByID, []any{owner.String(), which.String()}, fields...)
	if err != nil || !found {
		return nil, err
	}
	if !out.Adapter.ID.IsZero() {
		out.Adapter.Resource = out.Row.ID
	}
	out.Methods, err = MethodsOf(tx, owner, which)
	return &out, err
}

// AddResource writes a new resource.
func AddResource(tx *sqldb.Tx, r resource.Row) error {
	return one(tx.Exec(addResource, r.Owner.String(), r.ID.String(), string(r.Kind), r.Label, r.Alias, r.Adapter.String(),
		string(r.Storage), r.Revision.String(), string(r.State), Millis(r.CreatedAt)))
}

// ChangeResource writes a resource's revision and state.
func ChangeResource(tx *sqldb.Tx, r resource.Row) error {
	return one(tx.Exec(changeResource, r.Owner.String(), r.ID.String(), r.Revision.String(), string(r.State)))
}

// stored are the columns of a method that are kept as documents.
type stored struct {
	pinMethod, pinBinding digest.Digest
	definition, binding   []byte
}

// MethodsOf reads the methods of a resource, by contract and id.
func MethodsOf(tx *sqldb.Tx, owner id.Owner, which id.Resource) ([]resource.Kept, error) {
	rows, err := tx.Query(methodsOf, owner.String(), which.String())
	return sqldb.Collect(rows, err, func(rows *sql.Rows) (k resource.Kept, err error) {
		m, s := &k.Method, stored{}
		var approved []byte
		if err := rows.Scan(Word(&m.Contract), Word(&m.Definition.ID), Text(&m.Document), Text(&s.pinMethod), Text(&s.pinBinding),
			&s.definition, &s.binding, &k.Raw, &k.Review, &approved, Word(&m.State), Word(&m.Reason)); err != nil {
			return k, err
		}
		if m.Definition, m.Binding, err = DecodeMethod(m.Definition.ID, s.definition, s.binding); err == nil {
			k.Approved, err = decodeApproved(m.Definition.ID, approved)
		}
		return k, err
	})
}

var storedLimits = strictjson.Limits{Bytes: bound.JSONBytes, Depth: bound.JSONDepth, Nodes: bound.JSONNodes}

// DecodeMethod reads a method's definition and binding as they are kept.
func DecodeMethod(method string, definition, binding []byte) (m contract.Method, b resource.Binding, err error) {
	if err = strictjson.Decode(definition, storedLimits, &m); err != nil {
		return m, b, err
	}
	m.ID = method
	err = strictjson.Decode(binding, storedLimits, &b)
	return m, b, err
}

// PutMethod writes a method of a resource, new or as it now stands, with its pin.
func PutMethod(tx *sqldb.Tx, owner id.Owner, which id.Resource, k resource.Kept) error {
	m, pin := k.Method, k.Method.Pin()
	binding, err := strictjson.Encode(m.Binding)
	if err != nil {
		return err
	}
	approved, err := encodeApproved(k.Approved)
	if err != nil {
		return err
	}
	return one(tx.Exec(putMethod, owner.String(), which.String(), m.Contract, m.Definition.ID, m.Document.String(), pin.Method.String(),
		pin.Binding.String(), m.Definition.Encode(), binding, Bytes(k.Raw), Bytes(k.Review), string(m.State), m.Reason, Bytes(approved)))
}

// approvedJSON is how a method that was approved is kept beside what it is now.
type approvedJSON struct {
	Definition    contract.Method `json:"definition"`
	Tool          strictjson.Raw  `json:"tool"`
	MethodDigest  digest.Digest   `json:"method_digest"`
	BindingDigest digest.Digest   `json:"binding_digest"`
}

func encodeApproved(a resource.Approved) ([]byte, error) {
	if a.IsZero() {
		return nil, nil
	}
	return strictjson.Encode(approvedJSON{a.Definition, a.Raw, a.Pin.Method, a.Pin.Binding})
}

func decodeApproved(method string, raw []byte) (a resource.Approved, err error) {
	if len(raw) == 0 {
		return a, nil
	}
	var in approvedJSON
	err = strictjson.Decode(raw, storedLimits, &in)
	in.Definition.ID = method
	return resource.Approved{Definition: in.Definition, Raw: in.Tool, Pin: grant.Pin{Method: in.MethodDigest, Binding: in.BindingDigest}}, err
}

// AddContract keeps a contract document; one that is there already stays.
func AddContract(tx *sqldb.Tx, owner id.Owner, d contract.Document, at int64) error {
	_, err := tx.Exec(addContract, owner.String(), d.Digest().String(), d.URL, d.Encode(), at)
	return err
}
