// Package store keeps an owner's pool: who may do what, what was called, and the
// trail that vouches for both. It has one verb for each transaction; services
// declare the ones that they call.
//
// It promises: a verb that returns without an error is durable; a *fault.Fault is
// a decision of authority or Unavailable, and then nothing changed but what the
// decision says; no verb dispatches or repeats anything; what another owner has
// is not found. After the first doubt about durability nothing is accepted until
// the process starts anew (pool page, section 6). It does not promise that a
// failed write had no effect where the commit's outcome is unknown: the row is
// then as it is found at the next start.
//
// The folder holds steward.db and the file node with the identity that rows and
// chains carry. One process opens it at a time. A Store is safe for concurrent
// use.
package store

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/holdings"
	"github.com/stewardhost/steward/internal/adapters/store/journal"
	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	databaseFile = "steward.db"
	nodeFile     = "node"
)

// Options are what a caller may choose; the zero value works.
type Options struct {
	Now func() time.Time // time.Now if nil
}

// Store is an open store. Its verbs are those of its two groups.
type Store struct {
	*holdings.Holdings
	*journal.Journal
	ledger *ledger.Ledger
}

// Open opens or creates the store in a folder and begins the node's next epoch.
// Its faults are those of sqldb.Open, and Unavailable for a node file that cannot
// be used, or whose database is gone.
func Open(ctx context.Context, dir string, opt Options) (*Store, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	tree, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fault.From(err)
	}
	db, err := sqldb.Open(ctx, filepath.Join(dir, databaseFile), tree, sqldb.Options{})
	if err != nil {
		return nil, err
	}
	l, err := begin(ctx, db, filepath.Join(dir, nodeFile), opt.Now)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	memory := record.NewMemory()
	return &Store{holdings.New(l, memory), journal.New(l, memory), l}, nil
}

// begin starts the node's next epoch. A node without a file is a new one, and its
// file is written only when the database knows it: a file beside a database that
// no node has ever begun means that the database was lost, and with it what must
// not be executed again.
func begin(ctx context.Context, db *sqldb.DB, path string, now func() time.Time) (*ledger.Ledger, error) {
	node, found, err := identity(path)
	if err != nil {
		return nil, err
	}
	if !found {
		node = id.New[id.Node]()
	}
	l, err := ledger.Begin(ctx, db, node, found, now)
	if err != nil || found {
		return l, err
	}
	if err := keep(path, node); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// identity reads the node's id, false for a folder that has none. The database's
// lock is held.
func identity(path string) (node id.Node, found bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return node, false, nil
	}
	if err != nil {
		return node, false, noIdentity(err)
	}
	if node, err = id.Parse[id.Node](strings.TrimSpace(string(text))); err != nil {
		return node, false, noIdentity(err)
	}
	return node, true, nil
}

// keep writes the id whole or not at all.
func keep(path string, node id.Node) error {
	file, err := os.CreateTemp(filepath.Dir(path), nodeFile+".*") // mode 0600
	if err != nil {
		return noIdentity(err)
	}
	_, err = file.WriteString(node.String() + "\n")
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err == nil {
		err = lockedfile.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		return errors.Join(noIdentity(err), os.Remove(file.Name()))
	}
	return nil
}

func noIdentity(err error) *fault.Fault {
	return fault.New(fault.Unavailable, "the file with the node's id cannot be used").Because(err)
}

// Node names the identity that this process speaks for.
func (s *Store) Node() id.Node { return s.ledger.Node() }

// Epoch counts the processes of the node.
func (s *Store) Epoch() int64 { return s.ledger.Epoch() }

// Fenced is nil, or why nothing is accepted any more.
func (s *Store) Fenced() error { return s.ledger.DB().Fenced() }

// FencedCh is closed when the store becomes fenced.
func (s *Store) FencedCh() <-chan struct{} { return s.ledger.DB().FencedCh() }

// Stats are the database's counts since Open.
func (s *Store) Stats() sqldb.Stats { return s.ledger.DB().Stats() }

// Close writes what the trail still waits for and closes the database. The error
// says if any of it could not be written.
func (s *Store) Close() error { return s.ledger.Close() }
