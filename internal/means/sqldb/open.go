package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
	"github.com/stewardhost/steward/internal/means/sqldb/logfile"
	"github.com/stewardhost/steward/internal/means/sqldb/migration"
)

// Open opens or creates the database file at path and brings its schema up to
// the migrations, files NNNN_name.sql at the root of the given tree, counted
// from 0001 without a gap. It refuses with Conflict a file that another process
// has open, that a newer steward wrote, or whose applied migrations were edited,
// and with Unavailable one that it cannot use, because it is damaged, unsafe, or the
// disk is full or fails. The file is made with mode 0600
// and a missing folder with 0700; modes of existing ones are checked.
func Open(ctx context.Context, path string, migrations fs.FS, opt Options) (*DB, error) {
	return open(ctx, path, migrations, opt, seams{})
}

// seams are the places where a test stands between this package and the engine.
type seams struct {
	commit func(next func() error) error
}

func open(ctx context.Context, path string, migrations fs.FS, opt Options, at seams) (*DB, error) {
	list, err := migration.Read(migrations)
	if err != nil {
		return nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, unusable("the path has no meaning", err)
	}
	lock, err := lockedfile.Take(path, companions...)
	if err != nil {
		return nil, err
	}
	if err := logfile.Check(path + logSuffix); err != nil {
		_ = lock.Release() // the reason is err
		if errors.Is(err, logfile.ErrDamaged) {
			return nil, damaged("its log is damaged in the middle, and what was written behind that would be forgotten; restore a backup", err)
		}
		return nil, unusable("its log cannot be read", err)
	}
	db, err := openEngine(ctx, path, list, opt.filled(), at)
	if err != nil {
		_ = lock.Release()
		return nil, err
	}
	db.lock = lock
	return db, nil
}

// openEngine opens the connections, brings the schema up to date and starts the
// writer and the checkpointer.
func openEngine(ctx context.Context, path string, list []migration.Migration, opt Options, at seams) (*DB, error) {
	pool, err := openPool(path)
	if err != nil {
		return nil, unusable("the engine does not start", err)
	}
	pool.SetMaxOpenConns(opt.ReadConns + 2)
	count := &counters{}
	sessions, err := openSessions(ctx, pool, count, opt.ReadConns+2, func(first *session) error {
		if err := takeOver(ctx, path, first); err != nil {
			return err
		}
		return migrate(ctx, first, list, at)
	})
	if err != nil {
		_ = pool.Close()
		return nil, err
	}
	known, err := lockedfile.Remember(path, logSuffix)
	room, noRoom := logfile.Room(path)
	if err := errors.Join(err, noRoom); err != nil {
		closeAll(sessions)
		_ = pool.Close()
		return nil, unusable("its files are not where they should be", err)
	}
	db := &DB{
		pool: pool, count: count,
		fence:   &fence{path: path, up: make(chan struct{})},
		readers: make(chan *session, opt.ReadConns),
		closing: make(chan struct{}),
		tidy:    make(chan struct{}, 1),
	}
	for _, s := range sessions[2:] {
		db.readers <- s
	}
	db.writer = &writer{
		session: sessions[0], at: at, batchMax: opt.BatchMax, names: known, room: room,
		queue: make(chan *request, opt.QueueMax), done: make(chan struct{}),
		fence: db.fence, count: count, tidy: db.tidy,
	}
	go db.writer.serve()
	db.tidied.Go(func() { db.keepTidy(sessions[1]) })
	return db, nil
}

// openSessions opens n connections: the writer's, on which begin is run before
// the next is opened, the checkpointer's, and those of the readers.
func openSessions(ctx context.Context, pool *sql.DB, count *counters, n int, begin func(first *session) error) (list []*session, err error) {
	for i := range n {
		var s *session
		if s, err = openSession(ctx, pool, count, i >= 2); err == nil {
			list = append(list, s)
			if i == 0 {
				err = begin(s)
			}
		}
		if err != nil {
			closeAll(list)
			return nil, err
		}
	}
	return list, nil
}

func closeAll(sessions []*session) {
	for _, s := range sessions {
		_ = s.close()
	}
}

func openSession(ctx context.Context, pool *sql.DB, count *counters, readOnly bool) (*session, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, unreadable("its file cannot be read", err)
	}
	if err := readBack(ctx, conn, readOnly); err != nil {
		_ = conn.Close()
		return nil, unreadable("a setting does not hold", err)
	}
	s := &session{conn: conn, cache: map[string]*prepared{}, statements: &count.writeStatements}
	if readOnly {
		s.statements = &count.readStatements
	}
	return s, nil
}

// unreadable is the fault of an error of the engine while it opens the file: what
// it says of the file itself is damage, what it says of the disk is not.
func unreadable(why string, err error) *fault.Fault {
	switch judge(err, false) {
	case full:
		return noRoom(err)
	case fatal:
		if !failedIO(err) {
			return damaged("it is damaged or no database; restore a backup", err)
		}
	}
	return unusable(why, err)
}

func damaged(why string, err error) *fault.Fault {
	return unusable(why, fmt.Errorf("%w: %w", ErrDamaged, err))
}

// unusable is the fault of a file that cannot be opened.
func unusable(why string, err error) *fault.Fault {
	return fault.Newf(fault.Unavailable, "the store cannot be opened: %s", why).Because(err)
}
