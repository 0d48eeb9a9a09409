package record

import (
	"errors"
	"sync"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// Definitions remembers decoded methods by their pins, which name the bytes that
// they were decoded from, so that a remembered one is never old. It holds at most
// definitionsMax bytes of them. One lock guards the map; decoding runs outside.
type Definitions struct {
	mu    sync.Mutex
	known map[grant.Pin]decoded
	size  int
}

type decoded struct {
	method  contract.Method
	binding resource.Binding
}

const definitionsMax = 16 << 20

// NewDefinitions returns an empty memory.
func NewDefinitions() *Definitions { return &Definitions{known: map[grant.Pin]decoded{}} }

const definitionOf = "SELECT m.definition, m.binding FROM methods m WHERE m.owner = $1 AND m.resource = $2 AND m.contract = $3 AND m.method = $4"

// fill completes a method of the target that has this pin in the database.
func (d *Definitions) fill(tx *sqldb.Tx, owner id.Owner, t invocation.Target, pin grant.Pin, m *resource.Method) error {
	d.mu.Lock()
	got, ok := d.known[pin]
	d.mu.Unlock()
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
		d.remember(pin, got, len(definition)+len(binding))
	}
	m.Definition, m.Binding = got.method, got.binding
	return nil
}

func (d *Definitions) remember(pin grant.Pin, got decoded, size int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size+size > definitionsMax {
		clear(d.known)
		d.size = 0
	}
	d.known[pin] = got
	d.size += size
}
