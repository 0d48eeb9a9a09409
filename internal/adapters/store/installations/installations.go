// Package installations keeps which capsules an owner installed, so that a copy of the
// store has them too. What an installation says is the bytes of whoever runs capsules;
// only their order of names and whether they are switched off is known here.
//
// They are pinned in the trail with the owner's rights, since they say what runs. A verb is
// one transaction, and Installations are safe for concurrent use; whoever writes bounds
// how many there are.
package installations

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/rights"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	installed = "SELECT c.name, c.installed, c.off FROM capsules c WHERE c.owner = $1 ORDER BY c.name"
	put       = "INSERT INTO capsules (owner, name, installed, off) VALUES ($1, $2, $3, 0) ON CONFLICT (owner, name) DO UPDATE SET installed = $3, off = 0"
	drop      = "DELETE FROM capsules WHERE owner = $1 AND name = $2"
)

// Installations has the verbs.
type Installations struct{ ledger *ledger.Ledger }

// New returns the verbs over a ledger.
func New(l *ledger.Ledger) *Installations { return &Installations{l} }

// Installed lists what the owner installed, by name.
func (i *Installations) Installed(ctx context.Context, owner id.Owner) (list []view.Installation, err error) {
	err = i.ledger.Read(ctx, func(tx *ledger.Tx) error {
		rows, err := tx.Query(installed, owner.String())
		list, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (v view.Installation, err error) {
			err = rows.Scan(record.Word(&v.Name), &v.Record, record.Flag(&v.Off))
			return v, err
		})
		return err
	})
	return list, err
}

// Install keeps an installation, switched on, in the place of one of the same name.
func (i *Installations) Install(ctx context.Context, owner id.Owner, name string, what []byte) error {
	return i.change(ctx, owner, put, owner.String(), name, record.Bytes(what))
}

// Uninstall forgets an installation; one that is not there changes nothing.
func (i *Installations) Uninstall(ctx context.Context, owner id.Owner, name string) error {
	return i.change(ctx, owner, drop, owner.String(), name)
}

func (i *Installations) change(ctx context.Context, owner id.Owner, statement string, args ...any) error {
	return i.ledger.Write(ctx, func(tx *ledger.Tx) error {
		if _, err := tx.Exec(statement, args...); err != nil {
			return err
		}
		return rights.Pin(tx, owner)
	})
}
