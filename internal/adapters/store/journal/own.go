package journal

import (
	"database/sql"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// What a client may read of itself: rows of this owner and this client only.
const (
	ownColumns = "i.invocation, i.tx, i.resource, i.contract, i.method, i.state, i.effects, i.reserved_at"
	ownCalls   = "SELECT " + ownColumns + " FROM invocations i WHERE i.owner = $1 AND i.client = $2 AND i.tx < $3 ORDER BY i.tx DESC LIMIT $4"
	ownCall    = "SELECT " + ownColumns + " FROM invocations i WHERE i.owner = $1 AND i.client = $2 AND i.tx = $3"

	readProfile = "SELECT p.name, p.locale, p.timezone FROM profiles p WHERE p.owner = $1"

	// afterEveryTx sorts behind all of them: a tx begins with the time at which it
	// was minted, in an alphabet that ends in z.
	afterEveryTx = "tx_zzzzzzzzzzzzzzzzzzzzzzzzzz"
	grantsMax    = 1024 // of grants/v1
)

type profile struct {
	Name     string `json:"name"`
	Locale   string `json:"locale"`
	Timezone string `json:"timezone"`
}

type ownGrant struct {
	Resource  string `json:"resource"`
	Contract  string `json:"contract"`
	Method    string `json:"method"`
	Tool      string `json:"tool"`
	State     string `json:"state"`
	Effects   string `json:"effects"`
	ExpiresAt string `json:"expires_at,omitzero"`
}

type grantList struct {
	Grants []ownGrant `json:"grants"`
}

type ownInvocation struct {
	Invocation string `json:"invocation"`
	Tx         string `json:"tx"`
	Resource   string `json:"resource"`
	Contract   string `json:"contract"`
	Method     string `json:"method"`
	State      string `json:"state"`
	Effects    string `json:"effects"`
	At         string `json:"at"`
}

type journalPage struct {
	Before string `json:"before,omitzero"`
	Limit  int    `json:"limit,omitzero"`
}

type journalList struct {
	Invocations []ownInvocation `json:"invocations"`
	Next        string          `json:"next,omitzero"`
}

type journalKey struct {
	Tx string `json:"tx"`
}

func getProfile(tx *ledger.Tx, r run) (done, error) {
	var p profile
	_, err := tx.One(readProfile, []any{r.row.Owner.String()}, &p.Name, &p.Locale, &p.Timezone)
	return done{result: p}, err
}

func listGrants(tx *ledger.Tx, r run) (done, error) {
	rows, err := record.Grants(tx.Tx, r.row.Owner, r.row.Client, grantsMax+1, tx.Now)
	if err != nil {
		return done{}, err
	}
	if len(rows) > grantsMax {
		return done{failed: fault.Newf(fault.TooLarge, "there are more than %d grants", grantsMax)}, nil
	}
	out := grantList{Grants: make([]ownGrant, len(rows))}
	for i, g := range rows {
		k := g.Row.Key
		out.Grants[i] = ownGrant{Resource: k.Resource.String(), Contract: k.Contract, Method: k.Method, Tool: g.Tool,
			State: string(g.State), Effects: g.Row.Effects.String()}
		if !g.Row.ExpiresAt.IsZero() {
			out.Grants[i].ExpiresAt = g.Row.ExpiresAt.Format(stampForm)
		}
	}
	return done{result: out}, nil
}

func listJournal(tx *ledger.Tx, r run) (done, error) {
	args, err := arguments[journalPage](r)
	if err != nil {
		return done{}, err
	}
	before, limit := args.Before, pageOr(args.Limit)
	if before == "" {
		before = afterEveryTx
	} else if _, err := id.Parse[id.Tx](before); err != nil {
		return done{}, fault.New(fault.InvalidArgs, `"before" is what the page before gave as next`)
	}
	rows, err := tx.Query(ownCalls, r.row.Owner.String(), r.row.Client.String(), before, limit+1)
	list, err := sqldb.Collect(rows, err, scanOwn)
	if err != nil {
		return done{}, err
	}
	out := journalList{Invocations: list}
	if len(list) > limit {
		out.Invocations = list[:limit]
		out.Next = list[limit-1].Tx
	}
	return done{result: out}, nil
}

func getJournal(tx *ledger.Tx, r run) (done, error) {
	args, err := arguments[journalKey](r)
	if err != nil {
		return done{}, err
	}
	which, err := id.Parse[id.Tx](args.Tx)
	if err != nil {
		return done{}, fault.New(fault.InvalidArgs, `"tx" is no tx`)
	}
	rows, err := tx.Query(ownCall, r.row.Owner.String(), r.row.Client.String(), which.String())
	list, err := sqldb.Collect(rows, err, scanOwn)
	if err != nil {
		return done{}, err
	}
	if len(list) == 0 {
		return done{failed: fault.New(fault.NotFound, "there is no such call of this app")}, nil
	}
	return done{result: list[0]}, nil
}

// scanOwn reads a row of ownColumns. The word for its effects is the one that an
// answer would have.
func scanOwn(rows *sql.Rows) (out ownInvocation, err error) {
	var r invocation.Row
	var at time.Time
	err = rows.Scan(&out.Invocation, &out.Tx, &out.Resource, &out.Contract, &out.Method, record.Word(&r.State),
		record.Word(&r.Outcome.Effects), record.Moment(&at))
	out.State, out.Effects, out.At = string(r.State), string(r.Answer().Effects), at.Format(stampForm)
	return out, err
}
