package bound_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

func TestEveryRowIsUniqueAndWhole(t *testing.T) {
	key := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	units := []bound.Unit{bound.Bytes, bound.Count, bound.Depth, bound.Milliseconds, bound.Seconds}
	seen := map[string]bool{}
	for _, row := range bound.Rows() {
		if seen[row.Key] || !key.MatchString(row.Key) {
			t.Errorf("%q is no key of its own", row.Key)
		}
		seen[row.Key] = true
		if row.Max <= 0 || !slices.Contains(units, row.Unit) || row.Source == "" || row.Floor == "" {
			t.Errorf("%s is not whole: %+v", row.Key, row)
		}
		if code, ok := fault.Lookup(row.Code); !ok || !code.Details {
			t.Errorf("%s gives %s, which cannot say which bound it was", row.Key, row.Code)
		}
		for suffix, unit := range map[string]bound.Unit{"_bytes": bound.Bytes, "_ms": bound.Milliseconds, "_s": bound.Seconds} {
			if strings.HasSuffix(row.Key, suffix) != (row.Unit == unit) {
				t.Errorf("%s counts %s", row.Key, row.Unit)
			}
		}
	}
}

// A row that is declared and left out of the table would be missing from the
// reference and from every test that walks it.
func TestEveryDeclaredRowIsInTheTable(t *testing.T) {
	var inTable []string
	for _, row := range bound.Rows() {
		inTable = append(inTable, row.Key)
	}
	inSource := declared(t)
	slices.Sort(inTable)
	slices.Sort(inSource)
	if diff := cmp.Diff(inSource, inTable); diff != "" {
		t.Error(diff)
	}
}

// declared reads the keys of the rows out of the package's own source.
func declared(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if typ, ok := lit.Type.(*ast.Ident); ok && typ.Name == "Row" {
				key, err := strconv.Unquote(lit.Elts[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, key)
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatal("no row is declared")
	}
	return out
}

func TestEachRowHoldsAtItsLimit(t *testing.T) {
	for _, row := range bound.Rows() {
		for _, n := range []int{0, row.Int() - 1, row.Int()} {
			if err := row.Check(n); err != nil {
				t.Errorf("%s: %d is refused: %v", row.Key, n, err)
			}
		}
		f := fault.From(row.Check(row.Int() + 1))
		want := fault.New(row.Code, row.Exceeded().Text).With("bound", row.Key).With("max", row.Max)
		if diff := cmp.Diff(want, f, cmp.AllowUnexported(fault.Fault{})); diff != "" {
			t.Errorf("%s, one over:\n%s", row.Key, diff)
		}
	}
}

func TestEachUnitReadsAsASentence(t *testing.T) {
	told := map[bound.Unit]string{}
	for _, c := range []struct {
		row  bound.Row
		want string
	}{
		{bound.RequestBytes, "request_bytes is limited to 65536 bytes"},
		{bound.SchemaNodes, "schema_nodes is limited to 128"},
		{bound.SchemaDepth, "schema_depth is limited to 8 levels"},
		{bound.CallDeadline, "call_deadline_ms is limited to 30000 milliseconds"},
		{bound.ConfirmationLife, "confirmation_s is limited to 300 seconds"},
	} {
		told[c.row.Unit] = c.want
		if got := c.row.Exceeded().Text; got != c.want {
			t.Errorf("%s reads %q, want %q", c.row.Key, got, c.want)
		}
	}
	for _, row := range bound.Rows() {
		if told[row.Unit] == "" {
			t.Errorf("%s counts %s, whose sentence nobody reads", row.Key, row.Unit)
		}
	}
}

func TestRowsOfTimeAreDurations(t *testing.T) {
	for _, c := range []struct {
		row  bound.Row
		want time.Duration
	}{
		{bound.CallDeadline, 30 * time.Second}, {bound.CallGrace, 500 * time.Millisecond},
		{bound.TxAhead, 5 * time.Minute}, {bound.TxBack, 24 * time.Hour},
		{bound.RepeatGuard, 10 * time.Minute}, {bound.ConfirmationLife, 5 * time.Minute},
	} {
		if got := c.row.Duration(); got != c.want {
			t.Errorf("%s lasts %v, want %v", c.row.Key, got, c.want)
		}
	}
}

func TestTheTableCannotBeChangedByItsReader(t *testing.T) {
	rows := bound.Rows()
	first := rows[0]
	rows[0].Max = 1
	if again := bound.Rows()[0]; again != first {
		t.Errorf("the table has become %+v", again)
	}
}
