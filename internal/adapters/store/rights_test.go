package store_test

import (
	"fmt"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/grant"
)

// free lists columns of rights and definitions that nothing pins, with the reason.
var free = map[string]string{
	"adapters.listed_at":   "each listing sets it",
	"contracts.url":        "it stands in the document, which is pinned",
	"contracts.owner":      "of evidence, of which some is of no method any more",
	"contracts.created_at": "of evidence; tells nothing of a right",
}

// R7, A78. Whatever column of a right or a definition differs from what the trail says,
// by an edit or a flipped bit, is named, also one that is added later; and a right that
// was taken out, put in, or brought back.
func TestEveryColumnOfARightIsPinned(t *testing.T) {
	n := newNotes(t)
	n.app2(t)
	n.grant(t, n.app, n.resource, grant.Always, "drop")
	_, err := n.Revoke(t.Context(), n.owner, n.grants[0])
	must(t, err)
	n.restart(t)
	n.holds(t)
	db := n.raw(t)
	edits := 0
	try := func(what, table, statement string) {
		t.Helper()
		for _, before := range []string{"CREATE TABLE was AS SELECT * FROM " + table, statement} {
			_, err := db.Exec(before)
			must(t, err)
		}
		v, err := n.Verify(t.Context(), nil)
		if err == nil && len(v.Mismatches) == 0 {
			t.Errorf("%s: nobody is told", what)
		}
		for _, back := range []string{"DELETE FROM " + table, "INSERT INTO " + table + " SELECT * FROM was", "DROP TABLE was"} {
			_, err := db.Exec(back)
			must(t, err)
		}
		edits++
	}
	for _, table := range []string{"clients", "tokens", "adapters", "resources", "contracts", "methods", "assignments", "grants"} {
		for column, kind := range columnsOf(t, n, table) {
			name := table + "." + column
			if free[name] != "" {
				continue
			}
			to := map[string]string{"TEXT": column + " || 'x'", "INTEGER": column + " + 1000", "BLOB": "CAST(" + column + " || x'78' AS BLOB)"}[kind]
			try(name, table, fmt.Sprintf("UPDATE %s SET %s = %s WHERE rowid = (SELECT MIN(rowid) FROM %s WHERE typeof(%s) = typeof(%s))", table, column, to, table, column, column))
		}
		if table != "contracts" { // evidence, of which some is of no method any more
			try("a row less in "+table, table, "DELETE FROM "+table+" WHERE rowid = (SELECT MAX(rowid) FROM "+table+")")
		}
	}
	try("a right brought back", "grants", "UPDATE grants SET state = 'active', revoked_at = 0 WHERE state = 'revoked'")
	try("an owner's name", "owners", "UPDATE owners SET owner = owner || 'x'")
	n.holds(t)
	if edits < 60 {
		t.Errorf("only %d edits", edits)
	}
}

func columnsOf(t *testing.T, n *notes, table string) map[string]string {
	t.Helper()
	rows, err := n.raw(t).Query("SELECT name, type FROM pragma_table_info('" + table + "')")
	must(t, err)
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, kind string
		must(t, rows.Scan(&name, &kind))
		out[name] = kind
	}
	must(t, rows.Err())
	if len(out) < 3 {
		t.Fatalf("%s has %d columns", table, len(out))
	}
	return out
}

// A row that nothing leads to is found without anybody asking for it.
func TestTheFormOfTheDatabaseIsLookedAt(t *testing.T) {
	p := newPool(t)
	found, err := p.Form(t.Context())
	must(t, err)
	if len(found) != 0 {
		t.Fatalf("of a sound database: %v", found)
	}
	db := p.raw(t)
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA writable_schema = ON",
		"UPDATE sqlite_schema SET sql = replace(sql, '(owner, name)', '(client, name)') WHERE name = 'clients_by_name'", "PRAGMA schema_version = 7777"} {
		_, err := db.Exec(statement)
		must(t, err)
	}
	if found, err = p.Form(t.Context()); err != nil || len(found) == 0 {
		t.Errorf("of a damaged database: %v, %v", found, err)
	}
}
