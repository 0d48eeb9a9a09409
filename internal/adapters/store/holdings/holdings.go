// Package holdings has the verbs about what an owner has and who may use it:
// apps and their tokens, upstream entries and resources, approvals and grants.
//
// Each verb that changes something is one transaction: it loads the facts, has
// authority decide, and writes the change with its row of the audit trail. What
// another owner has is not found. Whoever asked is told, after the commit, when
// what a client may list has changed. Holdings is safe for concurrent use.
package holdings

import (
	"context"
	"sync"

	"github.com/stewardhost/steward/internal/adapters/store/holdings/tokenbook"
	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/rights"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/vault"
)

// Changed is told that what a client may list has changed; a zero client stands
// for every client of the owner.
type Changed func(owner id.Owner, client id.Client)

// Holdings holds the verbs.
type Holdings struct {
	ledger *ledger.Ledger
	memory *record.Memory
	vault  *vault.Vault
	tokens tokenbook.Book

	mu       sync.Mutex
	watchers []Changed
}

// New returns the verbs over a ledger; the vault seals what entries are
// configured with.
func New(l *ledger.Ledger, m *record.Memory, v *vault.Vault) *Holdings {
	return &Holdings{ledger: l, memory: m, vault: v}
}

// OnChange asks to be told of changes from now on. The function is called on the
// goroutine of the verb that made the change and must not wait.
func (h *Holdings) OnChange(f Changed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers = append(h.watchers, f)
}

func (h *Holdings) changed(owner id.Owner, client id.Client) {
	h.mu.Lock()
	watchers := h.watchers
	h.mu.Unlock()
	for _, f := range watchers {
		f(owner, client)
	}
}

const countChange = "UPDATE owners SET changes = changes + 1 WHERE owner = $1"

// change runs the job of every verb that touches who may do what. It raises the
// owner's count of changes in the same transaction, so that no call goes on with
// what was remembered before; if the job says that what a client may list is
// another now, it tells so once that is durable.
func (h *Holdings) change(ctx context.Context, owner id.Owner, client id.Client, job func(*ledger.Tx) (lists bool, err error)) error {
	lists := false
	err := h.ledger.Write(ctx, func(tx *ledger.Tx) (err error) {
		if lists, err = job(tx); err == nil {
			_, err = tx.Exec(countChange, owner.String())
		}
		if err == nil {
			err = rights.Pin(tx, owner)
		}
		return err
	})
	h.tokens.Forget()
	if err == nil && lists {
		h.changed(owner, client)
	}
	return err
}

// said is the row of the trail about a command of the owner's.
func said(owner id.Owner, kind audit.Kind, subject, detail string) audit.Entry {
	return audit.Entry{Owner: owner, Kind: kind, Subject: subject, Detail: detail}
}
