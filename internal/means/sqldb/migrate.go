package sqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// migration is one file of the schema's history. Once released it is never
// edited: the database remembers its digest.
type migration struct {
	version int64
	name    string // of the file
	digest  string // SHA-256 of the file, in hex
	script  string
}

// The table of what was applied, and the statements on it.
const (
	makeVersions = `CREATE TABLE schema_version (
	version BIGINT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	applied_at BIGINT NOT NULL -- milliseconds
)`
	listVersions = "SELECT version, name, sha256 FROM schema_version ORDER BY version"
	addVersion   = "INSERT INTO schema_version (version, name, sha256, applied_at) VALUES ($1, $2, $3, $4)"
)

var migrationName = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// readMigrations reads the tree that the binary carries. Its faults are bugs of
// the binary.
func readMigrations(tree fs.FS) ([]migration, error) {
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		return nil, fault.From(err)
	}
	var list []migration
	for _, entry := range entries {
		parts := migrationName.FindStringSubmatch(entry.Name())
		if parts == nil {
			return nil, fault.From(fmt.Errorf("%s is no migration", entry.Name()))
		}
		version, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil || version != int64(len(list)+1) {
			return nil, fault.From(fmt.Errorf("%s does not follow number %d", entry.Name(), len(list)))
		}
		script, err := fs.ReadFile(tree, entry.Name())
		if err != nil {
			return nil, fault.From(err)
		}
		sum := sha256.Sum256(script)
		list = append(list, migration{version, entry.Name(), hex.EncodeToString(sum[:]), string(script)})
	}
	if len(list) == 0 {
		return nil, fault.From(errors.New("there is no migration"))
	}
	return list, nil
}

// migrate applies what is missing in one transaction: all of it or nothing
// (proof page, FP16). It refuses before it changes anything.
func migrate(ctx context.Context, conn *sql.Conn, list []migration, at seams) error {
	applied, fresh, err := readApplied(ctx, conn)
	if err != nil {
		return err
	}
	if err := compare(applied, list); err != nil {
		return err
	}
	if len(applied) == len(list) {
		return nil
	}
	if err := applyAll(ctx, conn, list[len(applied):], fresh, at); err != nil {
		_, rerr := conn.ExecContext(context.WithoutCancel(ctx), rollback)
		return unusable("its schema cannot be brought up to date", errors.Join(err, rerr))
	}
	return nil
}

// readApplied returns what the database has seen, and whether it is empty.
func readApplied(ctx context.Context, conn *sql.Conn) (applied []migration, fresh bool, err error) {
	rows, err := conn.QueryContext(ctx, tablesQuery)
	tables, err := Collect(rows, err, func(r *sql.Rows) (name string, err error) {
		err = r.Scan(&name)
		return name, err
	})
	if err != nil {
		return nil, false, unusable("it is not a database or is damaged", err)
	}
	if len(tables) == 0 {
		return nil, true, nil
	}
	rows, err = conn.QueryContext(ctx, listVersions)
	applied, err = Collect(rows, err, func(r *sql.Rows) (m migration, err error) {
		err = r.Scan(&m.version, &m.name, &m.digest)
		return m, err
	})
	if err != nil {
		return nil, false, unusable("it is not a database of a steward", err)
	}
	return applied, false, nil
}

// compare refuses a database whose history is not the beginning of ours.
func compare(applied, list []migration) error {
	for i, was := range applied {
		if was.version != int64(i+1) {
			return fault.Newf(fault.Conflict, "the store's schema has a gap before version %d", was.version).Because(ErrChanged)
		}
		if i >= len(list) {
			last := applied[len(applied)-1]
			return fault.Newf(fault.Conflict, "the store was written by a newer steward: its schema has version %d (%s), this one knows %d", last.version, last.name, len(list)).
				Because(ErrNewer)
		}
		if was.digest != list[i].digest || was.name != list[i].name {
			return fault.Newf(fault.Conflict, "the store's schema version %d was made by another %s than this steward carries", was.version, list[i].name).Because(ErrChanged)
		}
	}
	return nil
}

func applyAll(ctx context.Context, conn *sql.Conn, list []migration, fresh bool, at seams) error {
	if _, err := conn.ExecContext(ctx, beginWrite); err != nil {
		return err
	}
	if fresh {
		if _, err := conn.ExecContext(ctx, translate(makeVersions)); err != nil {
			return err
		}
	}
	add, err := parseTemplate(addVersion)
	if err != nil {
		return err
	}
	for _, m := range list {
		for i, statement := range statements(m.script) {
			if _, err := conn.ExecContext(ctx, translate(statement)); err != nil {
				return fmt.Errorf("%s, statement %d: %w", m.name, i+1, err)
			}
		}
		if _, err := conn.ExecContext(ctx, add.rebind(), m.version, m.name, m.digest, now()); err != nil {
			return err
		}
	}
	next := func() error {
		_, err := conn.ExecContext(ctx, commit)
		return err
	}
	if at.commit != nil {
		return at.commit(next)
	}
	return next()
}
