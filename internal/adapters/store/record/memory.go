package record

import (
	"errors"
	"sync"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/vault"
)

// Memory remembers what calls read again and again, and is never older than the
// transaction that asks it: decoded methods by their pins, which name the bytes
// that they were decoded from, and who a caller is and what it may do by the owner's
// count of changes, which the transaction reads and which every change of either
// raises. Nothing is remembered of a transaction that did not become durable.
//
// It holds at most definitionsMax bytes of definitions and rightsMax of the
// rest; when it is full it starts anew. Of the rows that this process opened it
// remembers what cannot change before their outcome. One lock guards it; nothing is read or
// decoded under the lock. What it gives out is shared and must not be changed.
type Memory struct {
	vault *vault.Vault // seals results

	mu          sync.Mutex
	definitions map[grant.Pin]decoded
	size        int
	rights      map[rightsKey]*rights
	callers     map[authority.Caller]*presence
	open        map[openKey]*invocation.Row
}

// openKey names one take-up of a tx.
type openKey struct {
	client id.Client
	tx     id.Tx
	number int64
}

func keyOf(r *invocation.Row) openKey { return openKey{r.Client, r.Tx, r.Attempt} }

type decoded struct {
	method  contract.Method
	binding resource.Binding
}

type rightsKey struct {
	owner  id.Owner
	client id.Client
	target invocation.Target
}

const (
	definitionsMax = 16 << 20
	rightsMax      = 4096
	callersMax     = 4096
	openMax        = 4096
)

// NewMemory returns an empty memory; the vault seals results.
func NewMemory(v *vault.Vault) *Memory {
	return &Memory{vault: v, definitions: map[grant.Pin]decoded{}, rights: map[rightsKey]*rights{}, callers: map[authority.Caller]*presence{}, open: map[openKey]*invocation.Row{}}
}

const definitionOf = "SELECT m.definition, m.binding FROM methods m WHERE m.owner = $1 AND m.resource = $2 AND m.contract = $3 AND m.method = $4"

// fill completes a method of the target that has this pin in the database.
func (m *Memory) fill(tx *sqldb.Tx, owner id.Owner, t invocation.Target, pin grant.Pin, into *resource.Method) error {
	m.mu.Lock()
	got, ok := m.definitions[pin]
	m.mu.Unlock()
	if !ok {
		var definition, binding []byte
		found, err := tx.One(definitionOf, []any{owner.String(), t.Resource.String(), t.Contract, t.Method}, &definition, &binding)
		if err != nil {
			return err
		}
		if !found {
			return errors.New("a method vanished within one transaction")
		}
		if got.method, got.binding, err = DecodeMethod(t.Method, definition, binding); err != nil {
			return err
		}
		m.remember(pin, got, len(definition)+len(binding))
	}
	into.Definition, into.Binding = got.method, got.binding
	return nil
}

func (m *Memory) remember(pin grant.Pin, got decoded, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size+size > definitionsMax {
		clear(m.definitions)
		m.size = 0
	}
	m.definitions[pin] = got
	m.size += size
}

// known gives remembered rights if nothing of the owner has changed since.
func (m *Memory) known(key rightsKey, changes int64) *rights {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.rights[key]; r != nil && r.changes == changes {
		return r
	}
	return nil
}

// caller gives a remembered caller if nothing of the owner has changed since.
func (m *Memory) caller(c authority.Caller, changes int64) *presence {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.callers[c]; p != nil && p.changes == changes {
		return p
	}
	return nil
}

// Keep remembers what a call has read. The transaction that it was read in is durable.
func (m *Memory) Keep(s CallStanding) {
	if s.fresh == (fresh{}) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := s.fresh.presence; p != nil {
		if len(m.callers) >= callersMax {
			clear(m.callers)
		}
		m.callers[s.fresh.caller] = p
	}
	if r := s.fresh.rights; r != nil {
		if len(m.rights) >= rightsMax {
			clear(m.rights)
		}
		m.rights[s.fresh.key] = r
	}
}

// Opened remembers a row as it was reserved.
func (m *Memory) Opened(r invocation.Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.open) >= openMax {
		clear(m.open)
	}
	m.open[keyOf(&r)] = &r
}

// Ended forgets a row that has its outcome, or that was never written.
func (m *Memory) Ended(client id.Client, tx id.Tx, attempt int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open, openKey{client, tx, attempt})
}

// opened completes a row of which state and moments were read, if it is still the
// one that was reserved.
func (m *Memory) opened(r *invocation.Row) bool {
	m.mu.Lock()
	was := m.open[keyOf(r)]
	m.mu.Unlock()
	if was == nil || was.Owner != r.Owner || was.Node != r.Node || was.Epoch != r.Epoch || !was.ReservedAt.Equal(r.ReservedAt) ||
		!was.DeadlineAt.Equal(r.DeadlineAt) {
		return false
	}
	state, dispatched := r.State, r.DispatchedAt
	*r = *was
	r.State, r.DispatchedAt = state, dispatched
	return true
}
