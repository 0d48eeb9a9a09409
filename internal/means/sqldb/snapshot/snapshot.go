// Package snapshot copies a database, also one that another process has open and
// writes to, as it is at one instant.
//
// It promises that a copy which Take returned without an error is one file, whole,
// durable, readable by this user only, and passed the engine's own check; that the
// source is not changed; and that a file which was there is not overwritten. While a
// copy is made the source's log grows by what others write meanwhile. It does not
// promise that the source's latest commits were durable when they were copied, nor
// anything about what the rows mean. Memory is a few pages. The functions keep
// nothing and are safe for concurrent use. Faults: Conflict for a target that is
// there; Unavailable for a file that cannot be read or written, with ErrDamaged
// under it for one that is no whole database.
package snapshot

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
)

// ErrDamaged is under the fault of a source that is no whole database.
var ErrDamaged = errors.New("it is no whole database")

const (
	engineName = "sqlite"
	pagesAStep = 256
	draftName  = ".draft"
)

// Take copies the database at one path to a new file at another. Progress, which
// may be nil, is told of pages.
func Take(ctx context.Context, from, to string, progress func(done, total int64)) error {
	if progress == nil {
		progress = func(_, _ int64) {}
	}
	if info, err := os.Stat(from); err != nil || !info.Mode().IsRegular() {
		return unusable("there is no database at "+from, err)
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return taken(to)
	}
	draft := to + draftName
	file, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return unusable("the copy cannot be made", err)
	}
	defer func() { _ = os.Remove(draft) }() // the reason to fail is another
	if err := file.Close(); err != nil {
		return unusable("the copy cannot be made", err)
	}
	if err := copyPages(ctx, from, draft, progress); err != nil {
		return unreadable("the database cannot be copied", err)
	}
	if err := single(ctx, draft); err != nil {
		return unreadable("the copy does not hold", err)
	}
	if err := settle(draft); err != nil {
		return unusable("the copy cannot be made durable", err)
	}
	// Link, not rename: what somebody else put there meanwhile stays.
	err = os.Link(draft, to)
	if errors.Is(err, fs.ErrExist) {
		return taken(to)
	}
	if err == nil {
		err = lockedfile.SyncFolder(filepath.Dir(to))
	}
	if err != nil {
		return unusable("the copy cannot be put in its place", err)
	}
	return nil
}

// copyPages copies in steps inside one read transaction, so that what others write
// meanwhile neither gets in nor makes the copy begin anew.
func copyPages(ctx context.Context, from, to string, progress func(done, total int64)) error {
	return with(ctx, uri(from, "ro"), func(conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
			return err
		}
		var tables int
		if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if tables == 0 {
			return ErrDamaged
		}
		return conn.Raw(func(c any) error {
			run, err := c.(interface {
				NewBackup(target string) (*sqlite.Backup, error)
			}).NewBackup(uri(to, "rw"))
			if err != nil {
				return err
			}
			for more := true; more && err == nil; {
				if err = ctx.Err(); err == nil {
					more, err = run.Step(pagesAStep)
					progress(int64(run.PageCount()-run.Remaining()), int64(run.PageCount()))
				}
			}
			return errors.Join(err, run.Finish())
		})
	})
}

// single checks a copy whole and makes it a database without a log, which is one
// file.
func single(ctx context.Context, path string) error {
	return with(ctx, uri(path, "rw"), func(conn *sql.Conn) error {
		var mode, found string
		if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode(DELETE)").Scan(&mode); err != nil {
			return err
		}
		if mode != "delete" {
			return fmt.Errorf("its journal is %s", mode)
		}
		if err := conn.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			return fmt.Errorf("%w: %s", ErrDamaged, found)
		}
		return nil
	})
}

// with opens one connection for a job.
func with(ctx context.Context, source string, job func(*sql.Conn) error) error {
	pool, err := sql.Open(engineName, source)
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }() // nothing is in doubt: the copy is checked after it
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return job(conn)
}

func uri(path, mode string) string {
	query := url.Values{"mode": {mode}, "_defensive": {"1"}, "_error_rc": {"1"}, "_pragma": {"busy_timeout(5000)", "trusted_schema(OFF)", "mmap_size(0)"}}
	file := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	return file.String()
}

func settle(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func taken(path string) error {
	return fault.Newf(fault.Conflict, "%s is there already, and is not overwritten", path)
}

func unusable(what string, err error) error {
	return fault.New(fault.Unavailable, what).Because(err)
}

// unreadable marks what the engine says of the file itself as damage.
func unreadable(what string, err error) error {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		switch coded.Code() & 0xff {
		case codeCorrupt, codeNotADatabase:
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if errors.Is(err, ErrDamaged) {
		what += ": " + ErrDamaged.Error()
	}
	return unusable(what, err)
}

// SQLite's primary result codes.
const (
	codeCorrupt      = 11
	codeNotADatabase = 26
)
