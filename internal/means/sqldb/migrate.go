package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/stewardhost/steward/internal/means/sqldb/migration"
	"github.com/stewardhost/steward/internal/means/sqldb/statement"
)

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

// migrate applies what is missing in one transaction: all of it or nothing
// (proof page, FP16). It refuses before it changes anything.
func migrate(ctx context.Context, s *session, list []migration.Migration, at seams) error {
	applied, fresh, err := readApplied(ctx, s.conn)
	if err != nil {
		return err
	}
	missing, err := migration.Missing(applied, list)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := applyAll(ctx, s, missing, fresh, at); err != nil {
		// If the engine has rolled back by itself, it refuses to do it again.
		_ = s.control(rollback)
		return unreadable("its schema cannot be brought up to date", err)
	}
	return nil
}

// readApplied returns what the database has seen, and whether it is empty.
func readApplied(ctx context.Context, conn *sql.Conn) (applied []migration.Migration, fresh bool, err error) {
	rows, err := conn.QueryContext(ctx, tablesQuery)
	tables, err := Collect(rows, err, func(r *sql.Rows) (name string, err error) {
		err = r.Scan(&name)
		return name, err
	})
	if err != nil {
		return nil, false, unreadable("its tables cannot be read", err)
	}
	if len(tables) == 0 {
		return nil, true, nil
	}
	rows, err = conn.QueryContext(ctx, listVersions)
	applied, err = Collect(rows, err, func(r *sql.Rows) (m migration.Migration, err error) {
		err = r.Scan(&m.Version, &m.Name, &m.Digest)
		return m, err
	})
	if err == nil && len(applied) == 0 {
		err = errors.New("schema_version is empty")
	}
	if judge(err, false) == harmless && err != nil {
		return nil, false, damaged("it is not a database of a steward", err)
	}
	if err != nil {
		return nil, false, unreadable("its migrations cannot be read", err)
	}
	return applied, false, nil
}

func applyAll(ctx context.Context, s *session, list []migration.Migration, fresh bool, at seams) error {
	if err := s.control(beginWrite); err != nil {
		return err
	}
	if fresh {
		if _, err := s.conn.ExecContext(ctx, translate(makeVersions)); err != nil {
			return err
		}
	}
	for _, m := range list {
		for i, text := range statement.Script(m.Script) {
			if _, err := s.conn.ExecContext(ctx, translate(text)); err != nil {
				return fmt.Errorf("%s, statement %d: %w", m.Name, i+1, err)
			}
		}
		tx := &Tx{session: s, ctx: ctx}
		_, err := tx.Exec(addVersion, m.Version, m.Name, m.Digest, time.Now().UnixMilli())
		if err := tx.end(err); err != nil {
			return err
		}
	}
	return s.commit(at)
}
