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
// The folder holds steward.db, the file node with the identity that rows and chains
// carry and with the end of the trail, and node.latest with the newest commit: a
// database that lacks what they say is not opened. They are copied and put back
// together, or with Backup and Restore. keys/root holds the key that seals what
// entries are configured with and what calls gave; a copy of the folder without it tells
// none of that. One process opens it at a time. A Store is safe for concurrent use.
package store

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/catalog"
	"github.com/stewardhost/steward/internal/adapters/store/holdings"
	"github.com/stewardhost/steward/internal/adapters/store/inquiry"
	"github.com/stewardhost/steward/internal/adapters/store/installations"
	"github.com/stewardhost/steward/internal/adapters/store/journal"
	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/retention"
	"github.com/stewardhost/steward/internal/adapters/store/wallet"
	"github.com/stewardhost/steward/internal/adapters/store/witness"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/link"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/vault"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	databaseFile = "steward.db"
	nodeFile     = "node"
)

// Options are what a caller may choose; the zero value works.
type Options struct {
	Now func() time.Time // the wall clock; time.Now if nil

	// Passed is a clock that nobody sets. If it is nil it goes with time.Now, and
	// stands still beside a Now of the caller's.
	Passed func() time.Duration

	// Ceiling bounds each resource behind an outside executor; budget.Usual if zero.
	Ceiling budget.Ceiling
}

// ErrOlder is under the fault of Open for a database that is not the newest one of
// its folder's node: restored, emptied, exchanged, or cut.
var ErrOlder = ledger.ErrOlder

func (o Options) filled() Options {
	if o.Passed == nil {
		o.Passed = func() time.Duration { return 0 }
		if begun := time.Now(); o.Now == nil {
			o.Passed = func() time.Duration { return time.Since(begun) }
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ceiling == (budget.Ceiling{}) {
		o.Ceiling = budget.Usual()
	}
	return o
}

// Store is an open store. Its verbs are those of its groups.
type Store struct {
	*catalog.Catalogs
	*holdings.Holdings
	*inquiry.Inquiries
	*installations.Installations
	*journal.Journal
	*witness.Witness
	*wallet.Wallet
	*retention.Retention
	ledger *ledger.Ledger
	links  link.Key
	dir    string
}

// Open opens or creates the store in a folder and begins the node's next epoch.
// Its faults are those of sqldb.Open, and Unavailable for a node file that cannot
// be used, or that knows more than the database (ErrOlder).
func Open(ctx context.Context, dir string, opt Options) (*Store, error) {
	opt = opt.filled()
	tree, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fault.From(err)
	}
	db, err := sqldb.Open(ctx, filepath.Join(dir, databaseFile), tree, sqldb.Options{})
	if err != nil {
		return nil, err
	}
	v, err := openVault(dir)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	l, err := ledger.Begin(ctx, db, filepath.Join(dir, nodeFile), opt.Now, opt.Passed)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	memory := record.NewMemory(v)
	return &Store{catalog.New(l, memory), holdings.New(l, memory, v), inquiry.New(l, memory), installations.New(l), journal.New(l, memory, opt.Ceiling), witness.New(l, memory), wallet.New(l, v), retention.New(l, memory), l, v.Key("links"), dir}, nil
}

// openVault makes the root key for a folder that has no node yet, and wants the
// one that is there for every other.
func openVault(dir string) (*vault.Vault, error) {
	key := RootKey(dir)
	if _, err := os.Stat(filepath.Join(dir, nodeFile)); errors.Is(err, fs.ErrNotExist) {
		return vault.Make(key)
	}
	return vault.Open(key)
}

// LinkKey is the key of the addresses that apps are given for what imported servers
// point to.
func (s *Store) LinkKey() link.Key { return s.links }

// Node names the identity that this process speaks for.
func (s *Store) Node() id.Node { return s.ledger.Node() }

// Epoch counts the processes of the node.
func (s *Store) Epoch() int64 { return s.ledger.Epoch() }

// RestoredAt is when the store was last restored from a copy, zero for never.
func (s *Store) RestoredAt() time.Time { return s.ledger.Restored() }

// ClockBehind is how far the wall clock is behind the store's time.
func (s *Store) ClockBehind() time.Duration { return s.ledger.Behind() }

// Fenced is nil, or why nothing is accepted any more.
func (s *Store) Fenced() error { return s.ledger.DB().Fenced() }

// FencedCh is closed when the store becomes fenced.
func (s *Store) FencedCh() <-chan struct{} { return s.ledger.DB().FencedCh() }

// Stats are the database's counts since Open.
func (s *Store) Stats() sqldb.Stats { return s.ledger.DB().Stats() }

// Full reports whether the disk has no room for a commit. Where the last one ended for
// want of room it tries another, so that the answer is of now.
func (s *Store) Full(ctx context.Context) bool {
	return s.Stats().Full && s.ledger.Try(ctx) != nil
}

// Denials counts the refused attempts of this process, as the trail has them.
func (s *Store) Denials() int64 { return s.ledger.Denials() }

// Sizes gives the bytes of the database's file and of its log's.
func (s *Store) Sizes() (database, log int64) {
	for suffix, size := range map[string]*int64{"": &database, "-wal": &log} {
		if info, err := os.Stat(filepath.Join(s.dir, databaseFile+suffix)); err == nil {
			*size = info.Size()
		}
	}
	return database, log
}

// Close writes what the trail still waits for and closes the database. The error
// says if any of it could not be written.
func (s *Store) Close() error {
	if s.Fenced() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), noteWait)
		defer cancel()
		_ = s.Note(ctx) // what is not noted keeps results a little longer
	}
	return s.ledger.Close()
}

const noteWait = 5 * time.Second
