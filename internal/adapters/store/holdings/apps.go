package holdings

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	appColumns = "SELECT c.client, c.name, c.kind, c.connected, c.created_at FROM clients c WHERE c.owner = $1"
	allApps    = appColumns + " ORDER BY c.created_at, c.client"
	appByID    = appColumns + " AND c.client = $2"
	appByName  = appColumns + " AND c.name = $2 ORDER BY c.connected DESC, c.created_at DESC, c.client LIMIT 1"

	connectedName = "SELECT c.client FROM clients c WHERE c.owner = $1 AND c.name = $2 AND c.connected = 1"
	addClient     = "INSERT INTO clients (owner, client, name, kind, connected, created_at) VALUES ($1, $2, $3, $4, 1, $5)"
	addToken      = "INSERT INTO tokens (hash, owner, client, audience, created_at, expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5, $6, 0)"

	goodTokens = "SELECT t.client, COUNT(*) FROM tokens t WHERE t.owner = $1 AND t.revoked_at = 0 AND (t.expires_at = 0 OR t.expires_at > $2) GROUP BY t.client"

	liveTokenOf = "SELECT t.owner, t.client, t.audience, t.expires_at FROM tokens t JOIN clients c ON c.owner = t.owner AND c.client = t.client " +
		"WHERE t.hash = $1 AND t.revoked_at = 0 AND c.connected = 1"

	clientState    = "SELECT c.kind, c.connected FROM clients c WHERE c.owner = $1 AND c.client = $2"
	disconnect     = "UPDATE clients SET connected = 0 WHERE owner = $1 AND client = $2"
	revokeTokens   = "UPDATE tokens SET revoked_at = $3 WHERE owner = $1 AND client = $2 AND revoked_at = 0"
	revokeGrants   = "UPDATE grants SET state = 'revoked', revoked_at = $3 WHERE owner = $1 AND client = $2 AND state <> 'revoked'"
	endAssignments = "UPDATE assignments SET ended_at = $3 WHERE owner = $1 AND client = $2 AND ended_at = 0"
	denyQuestions  = "UPDATE confirmations SET state = 'denied', decided_at = $3 WHERE owner = $1 AND client = $2 AND state = 'open'"
)

func scanApp(rows *sql.Rows) (a view.App, err error) {
	err = rows.Scan(record.Text(&a.Client), record.Word(&a.Name), record.Word(&a.Kind), record.Flag(&a.Connected), record.Moment(&a.CreatedAt))
	return a, err
}

// AddApp makes a client with its first tokens. A connected app of the owner's
// with the name is a Conflict.
func (h *Holdings) AddApp(ctx context.Context, owner id.Owner, app view.NewApp) error {
	if err := resource.CheckLabel(app.Name); err != nil {
		return err
	}
	return h.change(ctx, owner, app.Client, func(tx *ledger.Tx) (bool, error) {
		var other string
		found, err := tx.One(connectedName, []any{owner.String(), app.Name}, &other)
		if err != nil {
			return false, err
		}
		if found {
			return false, fault.New(fault.Conflict, "an app with this name is connected")
		}
		if _, err := tx.Exec(addClient, owner.String(), app.Client.String(), app.Name, string(authority.Application), tx.Now.UnixMilli()); err != nil {
			return false, err
		}
		if err := addTokens(tx, owner, app.Client, app.Tokens); err != nil {
			return false, err
		}
		_, err = tx.Audit(said(owner, audit.AppAdded, app.Client.String(), ""))
		return false, err
	})
}

func addTokens(tx *ledger.Tx, owner id.Owner, client id.Client, tokens []view.NewToken) error {
	for _, t := range tokens {
		if _, err := tx.Exec(addToken, t.Hash[:], owner.String(), client.String(), string(t.Audience), tx.Now.UnixMilli(),
			record.Millis(t.ExpiresAt)); err != nil {
			return err
		}
	}
	return nil
}

// RotateTokens gives a connected app new tokens in place of all that it has: no
// moment has both live, or neither. What the app was granted stays as it is. An app
// that was disconnected stays so, and is a Conflict.
func (h *Holdings) RotateTokens(ctx context.Context, owner id.Owner, client id.Client, tokens []view.NewToken) error {
	return h.change(ctx, owner, client, func(tx *ledger.Tx) (bool, error) {
		connected, err := theirs(tx, owner, client, "the owner's own hand has no tokens")
		if err != nil {
			return false, err
		}
		if !connected {
			return false, fault.New(fault.Conflict, "the app is disconnected, for good").With("fix", "steward apps add NAME")
		}
		if _, err := tx.Exec(revokeTokens, owner.String(), client.String(), tx.Now.UnixMilli()); err != nil {
			return false, err
		}
		if err := addTokens(tx, owner, client, tokens); err != nil {
			return false, err
		}
		_, err = tx.Audit(said(owner, audit.AppRotated, client.String(), ""))
		return true, err
	})
}

// theirs reports whether an application is connected; the owner's hand, which is
// none, is refused with the words.
func theirs(tx *ledger.Tx, owner id.Owner, client id.Client, refusal string) (connected bool, err error) {
	var kind authority.ClientKind
	found, err := tx.One(clientState, []any{owner.String(), client.String()}, record.Word(&kind), record.Flag(&connected))
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, authority.NotFound()
	case kind != authority.Application:
		return false, fault.New(fault.InvalidRequest, refusal)
	}
	return connected, nil
}

// FindToken gives the caller that a live token of a connected client stands for. It
// looks the hash up, which takes the place of a comparison in constant time: how much
// of a stored hash a guess has in common tells nothing of the token that has that
// hash, nor of one that would come closer (pool page, section 2).
func (h *Holdings) FindToken(ctx context.Context, hash secret.Hash) (authority.Caller, bool, error) {
	l, found, changes := h.tokens.Known(hash)
	if !found {
		l.Caller.Token = hash
		err := h.ledger.Read(ctx, func(tx *ledger.Tx) (err error) {
			c := &l.Caller
			found, err = tx.One(liveTokenOf, []any{hash[:]}, record.Text(&c.Owner), record.Text(&c.Client), record.Word(&c.Audience),
				record.Moment(&l.Until))
			return err
		})
		if err != nil {
			return authority.Caller{}, false, err
		}
		if found {
			h.tokens.Keep(hash, l, changes)
		}
	}
	if !found || !l.Lives(h.ledger.Now()) {
		return authority.Caller{}, false, nil
	}
	return l.Caller, true, nil
}

// Apps lists all clients of the owner, disconnected ones too.
func (h *Holdings) Apps(ctx context.Context, owner id.Owner) ([]view.App, error) {
	return h.apps(ctx, owner, allApps, owner.String())
}

// App finds a client by its id or name; of equal names the connected one.
func (h *Holdings) App(ctx context.Context, owner id.Owner, ref string) (view.App, error) {
	query := appByName
	if _, err := id.Parse[id.Client](ref); err == nil {
		query = appByID
	} else if !resource.Readable(ref) {
		return view.App{}, authority.NotFound()
	}
	list, err := h.apps(ctx, owner, query, owner.String(), ref)
	if err == nil && len(list) == 0 {
		err = authority.NotFound()
	}
	if err != nil {
		return view.App{}, err
	}
	return list[0], nil
}

// apps reads clients and counts the rows of each that allow something now, and its
// tokens.
func (h *Holdings) apps(ctx context.Context, owner id.Owner, query string, args ...any) (list []view.App, err error) {
	err = h.ledger.Read(ctx, func(tx *ledger.Tx) error {
		rows, err := tx.Query(query, args...)
		if list, err = sqldb.Collect(rows, err, scanApp); err != nil || len(list) == 0 {
			return err
		}
		var client id.Client
		if len(list) == 1 {
			client = list[0].Client
		}
		grants, err := record.Grants(tx.Tx, owner, client, everything, tx.Now)
		if err != nil {
			return err
		}
		live := map[id.Client]int{}
		for _, g := range grants {
			if g.State == grant.Active {
				live[g.Row.Key.Client]++
			}
		}
		tokens := map[id.Client]int{}
		rows, err = tx.Query(goodTokens, owner.String(), tx.Now.UnixMilli())
		if _, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (none struct{}, err error) {
			var client id.Client
			var n int
			err = rows.Scan(record.Text(&client), &n)
			tokens[client] = n
			return none, err
		}); err != nil {
			return err
		}
		for i := range list {
			list[i].Grants, list[i].Tokens = live[list[i].Client], tokens[list[i].Client]
		}
		return nil
	})
	return list, err
}

// everything is a limit for lists that are bounded by what an owner has.
const everything = 1 << 30

// Disconnect ends an app in one commit: its tokens, its grants, its assignments,
// and its open questions, which are denied. Ending it again changes nothing.
func (h *Holdings) Disconnect(ctx context.Context, owner id.Owner, client id.Client) error {
	return h.change(ctx, owner, client, func(tx *ledger.Tx) (bool, error) {
		connected, err := theirs(tx, owner, client, "the owner's own hand cannot be disconnected")
		if err != nil || !connected {
			return false, err
		}
		if _, err := tx.Exec(disconnect, owner.String(), client.String()); err != nil {
			return false, err
		}
		for _, query := range []string{revokeTokens, revokeGrants, endAssignments, denyQuestions} {
			if _, err := tx.Exec(query, owner.String(), client.String(), tx.Now.UnixMilli()); err != nil {
				return false, err
			}
		}
		_, err = tx.Audit(said(owner, audit.AppRemoved, client.String(), ""))
		return true, err
	})
}
