package statement

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	type got struct {
		Text   string
		Params int
		Verb   Verb
	}
	for _, c := range []struct {
		name string
		text string
		want got // with ? for the mark
		bad  string
	}{
		{"no parameter", "SELECT 1", got{"SELECT 1", 0, Reads}, ""},
		{"out of order and twice", "SELECT $2, $1, $2", got{"SELECT ?2, ?1, ?2", 2, Reads}, ""},
		{"at the ends", "$1", got{"?1", 1, Other}, ""},
		{"two digits", "VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)", got{"VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)", 10, Reads}, ""},
		{"in a string", "INSERT INTO t VALUES ('$9?;''$8', $1)", got{"INSERT INTO t VALUES ('$9?;''$8', ?1)", 1, Changes}, ""},
		{"in a name", `UPDATE "t$9?" SET a = $1`, got{`UPDATE "t$9?" SET a = ?1`, 1, Changes}, ""},
		{"in comments", "/* $9 ? ; */ delete -- $8;\nFROM t WHERE a = $1", got{"/* $9 ? ; */ delete -- $8;\nFROM t WHERE a = ?1", 1, Changes}, ""},
		{"a comment in a string", "SELECT '--', $1, '/*', $2", got{"SELECT '--', ?1, '/*', ?2", 2, Reads}, ""},
		{"a string that does not end", "SELECT 'a, $1", got{"SELECT 'a, $1", 0, Reads}, ""},
		{"a common table expression", "WITH a AS (SELECT 1) DELETE FROM t", got{"WITH a AS (SELECT 1) DELETE FROM t", 0, Other}, ""},
		{"a gap", "SELECT $1, $3", got{}, "only 2 occur"},
		{"zero", "SELECT $0", got{}, "without a number"},
		{"a leading zero", "SELECT $01", got{}, "without a number"},
		{"no number", "SELECT $a", got{}, "without a number"},
		{"nothing", "SELECT $", got{}, "without a number"},
		{"the highest", "SELECT $32766", got{}, "only 1 occur"},
		{"one over", "SELECT $32767", got{}, "without a number"},
		{"far over", "SELECT $99999999999999999999", got{}, "without a number"},
		{"a question mark", "SELECT ?1", got{}, "does not belong"},
		{"two statements", "SELECT 1; SELECT 2", got{}, "does not belong"},
	} {
		s, err := Parse(c.text)
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got{s.With("?"), s.Params, s.Verb}); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
}

func TestScript(t *testing.T) {
	got := Script(`
-- the first; table
CREATE TABLE a (x TEXT DEFAULT ';'); /* between; */
;; -- nothing
INSERT INTO a VALUES ('it''s;'); SELECT 1 -- no semicolon`)
	want := []string{
		"-- the first; table\nCREATE TABLE a (x TEXT DEFAULT ';')",
		"-- nothing\nINSERT INTO a VALUES ('it''s;')",
		"SELECT 1 -- no semicolon",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Script(" ; -- no word\n;"); got != nil {
		t.Errorf("%q", got)
	}
}

func TestEdit(t *testing.T) {
	got := Edit(`a 'a' "a" -- a
a /* a */a`, strings.ToUpper)
	if want := `A 'a' "a" -- a
A /* a */A`; got != want {
		t.Errorf("%q", got)
	}
}

// Whatever is accepted can be written again as it was, and asks for parameters
// that are all there.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"SELECT $1", "INSERT INTO t VALUES ($2, '$3', $1) -- $4", `"$1"$1`, "/*$1", "'$1''$1'$1", "$1$2", "$1$1;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if again := Edit(text, func(s string) string { return s }); again != text {
			t.Fatalf("cut to %q", again)
		}
		s, err := Parse(text)
		if err != nil {
			if s.pieces != nil || s.Params != 0 {
				t.Fatal("a refused text gives something")
			}
			return
		}
		if again := s.With("$"); again != text {
			t.Fatalf("written again as %q", again)
		}
		seen := map[int]bool{}
		for _, p := range s.pieces {
			seen[p.param] = true
		}
		delete(seen, 0)
		if len(seen) != s.Params {
			t.Fatalf("%d parameters of %d", len(seen), s.Params)
		}
	})
}
