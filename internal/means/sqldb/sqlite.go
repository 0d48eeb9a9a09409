package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/stewardhost/steward/internal/means/sqldb/statement"
)

// Everything that only SQLite knows is in this file.

const (
	engineName = "sqlite"

	// A transaction that is going to write takes the write lock at its start, so
	// that what it reads is what it changes.
	beginWrite = "BEGIN IMMEDIATE"
	beginRead  = "BEGIN"
	commit     = "COMMIT"
	rollback   = "ROLLBACK"

	// checkpoint copies what it can without waiting for anybody. SQLite would do
	// so by itself after a commit, but then drops the error of its fsync, after
	// which the kernel reports the lost pages as written.
	checkpoint      = "PRAGMA wal_checkpoint(PASSIVE)"
	checkpointFinal = "PRAGMA wal_checkpoint(TRUNCATE)"

	logSuffix = "-wal"

	integrityCheck = "PRAGMA integrity_check(20)"
)

// companions are the suffixes of the files beside the main one.
var companions = []string{logSuffix, "-shm"}

// settings are made on each connection and read back from it.
var settings = []struct{ name, value, readsAs string }{
	{"busy_timeout", "5000", "5000"},
	{"journal_mode", "WAL", "wal"},
	{"synchronous", "FULL", "2"},
	{"foreign_keys", "ON", "1"},
	{"temp_store", "MEMORY", "2"},
	{"cache_size", "-4096", "-4096"}, // KiB, of each connection; the system keeps the rest
	{"wal_autocheckpoint", "0", "0"}, // see checkpoint
	{"journal_size_limit", "67108864", "67108864"},
	{"mmap_size", "0", "0"}, // an I/O error under a mapping is a signal, not an error
	{"trusted_schema", "OFF", "0"},
	{"cell_size_check", "ON", "1"},
}

// dsn names the file and its settings for the driver.
func dsn(path string) string {
	query := url.Values{
		"_defensive": {"1"}, // no write into the schema table, no journal that is off
		"_dqs":       {"0"}, // "x" is a name, never a string
		"_error_rc":  {"1"}, // the text belongs to the code
	}
	for _, s := range settings {
		query.Add("_pragma", s.name+"("+s.value+")")
	}
	file := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	return file.String()
}

// openPool returns the pool that connections are taken from, each once.
func openPool(path string) (*sql.DB, error) {
	// fdatasync makes a commit as durable as fsync and leaves out the flush of
	// the file's times. Where it does not exist the driver goes on with fsync.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, err
	}
	return sql.Open(engineName, dsn(path))
}

// readBack reports a connection whose settings are not what they should be.
func readBack(ctx context.Context, conn *sql.Conn, readOnly bool) error {
	check := func(name, want string) error {
		var got string
		if err := conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(&got); err != nil {
			return fmt.Errorf("reading back %s: %w", name, err)
		}
		if got != want {
			return fmt.Errorf("%s reads back as %s instead of %s", name, got, want)
		}
		return nil
	}
	for _, s := range settings {
		if err := check(s.name, s.readsAs); err != nil {
			return err
		}
	}
	if !readOnly {
		return nil
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA query_only(ON)"); err != nil {
		return err
	}
	return check("query_only", "1")
}

// rebind writes a statement with the engine's own parameters. SQLite numbers
// $n by first appearance and ?n by n.
func rebind(s statement.Statement) string { return s.With("?") }

var (
	typeName    = regexp.MustCompile(`(?i)\b(bytea|bigint)\b`)
	createTable = regexp.MustCompile(`(?i)\bcreate\s+table\b`)
)

// translate turns one statement of a migration into the engine's words. Tables
// become STRICT, so that a value of the wrong type is refused here as it is by
// the other engine.
func translate(text string) string {
	table := false
	text = statement.Edit(text, func(part string) string {
		table = table || createTable.MatchString(part)
		return typeName.ReplaceAllStringFunc(part, func(name string) string {
			if strings.EqualFold(name, "bytea") {
				return "BLOB"
			}
			return "INTEGER"
		})
	})
	if table {
		text += "\nSTRICT"
	}
	return text
}

// tablesQuery lists the tables that a caller made.
const tablesQuery = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"

// severity says what an error of the engine means for the writer.
type severity int

const (
	harmless severity = iota // the statement was wrong or in conflict; the transaction can be rolled back
	busy                     // another process holds the write lock
	full                     // no room; nothing was committed
	fatal                    // durability or the file itself is in doubt
)

// failedIO reports whether an error is one of the disk.
func failedIO(err error) bool {
	var coded interface{ Code() int }
	return errors.As(err, &coded) && coded.Code()&0xff == codes.SQLITE_IOERR
}

// judge reads the engine's error code. The flag duringCommit is true for COMMIT itself,
// where everything that is not known to be clean leaves the outcome unknown.
func judge(err error, duringCommit bool) severity {
	var coded interface {
		error
		Code() int
	}
	if !errors.As(err, &coded) {
		if duringCommit {
			return fatal
		}
		return harmless
	}
	switch coded.Code() & 0xff {
	case codes.SQLITE_FULL:
		return full
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return busy
	case codes.SQLITE_IOERR, codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return fatal
	case codes.SQLITE_CONSTRAINT:
		return harmless // a deferred key, checked at COMMIT, leaves the transaction open
	}
	if duringCommit {
		return fatal
	}
	return harmless
}

// pagesWritten is how many pages the connection has put into the log since it
// was asked last.
func pagesWritten(conn *sql.Conn) (pages int, err error) {
	err = conn.Raw(func(c any) error {
		pages, _, err = c.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
		return err
	})
	return pages, err
}

// runCheckpoint returns how many pages the log holds.
func runCheckpoint(conn *sql.Conn, text string) (held int, err error) {
	var blocked, copied int
	err = conn.QueryRowContext(context.Background(), text).Scan(&blocked, &held, &copied)
	return held, err
}

// checkIntegrity walks the whole database.
func checkIntegrity(ctx context.Context, conn *sql.Conn) error {
	found, err := findings(ctx, conn)
	if err == nil && len(found) > 0 {
		return fmt.Errorf("%d findings, the first is %q", len(found), found[0])
	}
	return err
}

// findings are what the engine says is wrong with the form of its database.
func findings(ctx context.Context, conn *sql.Conn) (found []string, err error) {
	rows, err := conn.QueryContext(ctx, integrityCheck)
	found, err = Collect(rows, err, func(r *sql.Rows) (line string, err error) {
		err = r.Scan(&line)
		return line, err
	})
	if err == nil && len(found) == 0 {
		return nil, errors.New("the engine did not say what it found")
	}
	if len(found) == 1 && found[0] == "ok" {
		return nil, err
	}
	return found, err
}
