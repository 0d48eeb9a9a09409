package holdings

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/tally"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	standingAssignment = "SELECT s.assignment FROM assignments s WHERE s.owner = $1 AND s.client = $2 AND s.resource = $3 AND s.ended_at = 0"
	addAssignment      = "INSERT INTO assignments (owner, assignment, client, resource, created_at, ended_at) VALUES ($1, $2, $3, $4, $5, 0)"
	endAssignment      = "UPDATE assignments SET ended_at = $4 WHERE owner = $1 AND client = $2 AND resource = $3 AND ended_at = 0"
	grantByID          = "SELECT " + record.GrantColumns + " FROM grants g WHERE g.owner = $1 AND g.grant_id = $2"
	grantsOn           = "SELECT " + record.GrantColumns + " FROM grants g WHERE g.owner = $1 AND g.client = $2 AND g.resource = $3 AND g.state <> 'revoked' " +
		"ORDER BY g.contract, g.method"
)

// Grant writes rows of authority for methods of one resource, all of them or
// none, with the assignment and the record of consent that they rest on.
func (h *Holdings) Grant(ctx context.Context, which id.Resource, c authority.GrantMethods) (authority.GrantChanges, error) {
	if len(c.NewGrants) < len(c.Methods) {
		return authority.GrantChanges{}, fault.New(fault.InvalidRequest, "there is no id for each row")
	}
	var out authority.GrantChanges
	err := h.change(ctx, c.Owner, c.Client, func(tx *ledger.Tx) (bool, error) {
		f, err := grantFacts(tx, which, c)
		if err != nil {
			return false, err
		}
		ch, bad := authority.DecideGrant(f, c, tx.Now)
		if bad != nil {
			return false, bad
		}
		out = ch
		if !ch.NewAssignment.IsZero() {
			if _, err := tx.Exec(addAssignment, c.Owner.String(), ch.NewAssignment.String(), c.Client.String(), which.String(), tx.Now.UnixMilli()); err != nil {
				return false, err
			}
		}
		if err := record.AddConsent(tx.Tx, ch.Record); err != nil {
			return false, err
		}
		for i, r := range ch.Rows {
			// The day's use goes on under the new row (invariant I50). A row that was
			// revoked is over, and the next one begins anew.
			if was := ch.Replaced[i]; !was.ID.IsZero() {
				if err := tally.Carry(tx.Tx, c.Owner, was, r, tx.Now); err != nil {
					return false, err
				}
			}
			if err := record.PutGrant(tx.Tx, r); err != nil {
				return false, err
			}
			if err := auditGrant(tx, audit.Granted, r, " "+ch.Record.ID.String()+" "+ch.Record.Digest.String()); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return authority.GrantChanges{}, err
	}
	return out, nil
}

func grantFacts(tx *ledger.Tx, which id.Resource, c authority.GrantMethods) (f authority.GrantFacts, err error) {
	var client authority.Client
	found, err := tx.One(clientState, []any{c.Owner.String(), c.Client.String()}, record.Word(&client.Kind), record.Flag(&client.Connected))
	if err != nil {
		return f, err
	}
	if found {
		f.Client = &client
	}
	r, err := record.ResourceByID(tx.Tx, c.Owner, which)
	if err != nil {
		return f, err
	}
	if r != nil {
		f.Resource = &r.Row
		for _, k := range r.Methods {
			f.Methods = append(f.Methods, k.Method)
		}
	}
	if f.Standing, err = grantRows(tx, grantsOn, c.Owner.String(), c.Client.String(), which.String()); err != nil {
		return f, err
	}
	_, err = tx.One(standingAssignment, []any{c.Owner.String(), c.Client.String(), which.String()}, record.Text(&f.Assignment))
	return f, err
}

// auditGrant writes the row of the trail about a row of authority. More is the
// consent that it rests on and the digest of what was shown.
func auditGrant(tx *ledger.Tx, kind audit.Kind, r grant.Row, more string) error {
	_, err := tx.Audit(audit.Entry{Owner: r.Key.Owner, Client: r.Key.Client, Kind: kind, Subject: r.ID.String(),
		Detail: r.Key.Resource.String() + " " + r.Key.Method + more})
	return err
}

// grantRows reads rows of record.GrantColumns.
func grantRows(tx *ledger.Tx, query string, args ...any) ([]grant.Row, error) {
	rows, err := tx.Query(query, args...)
	return sqldb.Collect(rows, err, func(rows *sql.Rows) (grant.Row, error) { return record.ScanGrant(rows) })
}

// Revoke ends one row, and reports whether it ended now; ending it again changes
// nothing.
func (h *Holdings) Revoke(ctx context.Context, owner id.Owner, which id.Grant) (ended bool, err error) {
	var client id.Client
	err = h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		list, err := grantRows(tx, grantByID, owner.String(), which.String())
		if err != nil {
			return false, err
		}
		if len(list) == 0 {
			return false, authority.NotFound()
		}
		after, err := revoke(tx, list[0])
		client, ended = after.Key.Client, after != list[0]
		return false, err
	})
	if err != nil {
		return false, err
	}
	if ended {
		h.changed(owner, client) // who it was is known in there alone
	}
	return ended, nil
}

func revoke(tx *ledger.Tx, r grant.Row) (grant.Row, error) {
	after := authority.Revoke(r, tx.Now)
	if after == r {
		return r, nil
	}
	if err := record.PutGrant(tx.Tx, after); err != nil {
		return r, err
	}
	return after, auditGrant(tx, audit.Revoked, after, "")
}

// RevokeAll ends every row of a client on a resource and the assignment that they
// rest on, and says how many rows ended.
func (h *Holdings) RevokeAll(ctx context.Context, owner id.Owner, client id.Client, which id.Resource) (int, error) {
	ended := 0
	err := h.change(ctx, owner, client, func(tx *ledger.Tx) (bool, error) {
		list, err := grantRows(tx, grantsOn, owner.String(), client.String(), which.String())
		if err != nil {
			return false, err
		}
		for _, r := range list {
			if _, err := revoke(tx, r); err != nil {
				return false, err
			}
		}
		_, err = tx.Exec(endAssignment, owner.String(), client.String(), which.String(), tx.Now.UnixMilli())
		ended = len(list)
		return ended > 0, err
	})
	if err != nil {
		return 0, err
	}
	return ended, nil
}

// Grants lists rows of one client, or of all for the zero client, with the state
// that each has now.
func (h *Holdings) Grants(ctx context.Context, owner id.Owner, client id.Client) (list []view.Grant, err error) {
	err = h.ledger.Read(ctx, func(tx *ledger.Tx) error {
		if list, err = record.Grants(tx.Tx, owner, client, everything, tx.Now); err != nil {
			return err
		}
		of := map[id.Resource][]resource.Kept{}
		for i, g := range list {
			k := g.Row.Key
			if _, read := of[k.Resource]; !read {
				if of[k.Resource], err = record.MethodsOf(tx.Tx, owner, k.Resource); err != nil {
					return err
				}
			}
			if g.Row.Limit.Daily() {
				if list[i].Today, err = tally.Today(tx.Tx, owner, g.Row.ID, tx.Now); err != nil {
					return err
				}
			}
			for _, m := range of[k.Resource] {
				if m.Method.Contract == k.Contract && m.Method.Definition.ID == k.Method {
					list[i].Title = m.Method.Definition.Title
				}
			}
		}
		return nil
	})
	return list, err
}
