package fault_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// The pool page, sections 5 and 7, beside the table: code, HTTP status,
// JSON-RPC number and retry class.
func TestTheTableIsThePoolPage(t *testing.T) {
	const caller, host = -32602, -32603
	type row struct {
		Code  fault.Code
		HTTP  int
		RPC   int
		Retry fault.Retry
	}
	want := []row{
		{"invalid_request", 400, caller, fault.Never},
		{"unauthenticated", 401, caller, fault.Never},
		{"grant_required", 403, caller, fault.Never},
		{"needs_consent", 403, caller, fault.Never},
		{"confirmation_required", 403, caller, fault.SameTx},
		{"not_found", 404, caller, fault.Never},
		{"tx_in_progress", 409, host, fault.SameTx},
		{"conflict", 409, host, fault.NewTx},
		{"tx_expired", 410, caller, fault.NewTx},
		{"precondition_failed", 412, caller, fault.NewTx},
		{"too_large", 413, caller, fault.NewTx},
		{"invalid_args", 422, caller, fault.NewTx},
		{"tx_mismatch", 422, caller, fault.Never},
		{"precondition_required", 428, caller, fault.NewTx},
		{"rate_limited", 429, host, fault.SameTx},
		{"budget_exhausted", 429, host, fault.Never},
		{"internal", 500, host, fault.SameTx},
		{"unsupported", 501, host, fault.NewTx},
		{"upstream_failed", 502, host, fault.NewTx},
		{"unavailable", 503, host, fault.SameTx},
		{"indeterminate", 504, host, fault.AfterReconcile},
		// The bus page, sections 3 and 4.
		{"capability_denied", 403, host, fault.Never},
		{"timed_out", 504, host, fault.SameTx},
	}
	var got []row
	for _, r := range fault.Rows()[:len(want)] {
		got = append(got, row{r.Code, r.HTTP, r.RPC, r.Retry})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The sessions page, section 6, beside the table: the guide's codes but for
// conflict, which the pool has too, and ours.
func TestTheSessionsCodesAreThePage(t *testing.T) {
	want := strings.Fields("resource_not_found configuration_busy limit_exceeded unsupported_capability unknown_turn " +
		"stale_connection operation_already_known invalid_payload malformed_record record_too_large " +
		"unsupported_version invalid_envelope not_initialized already_initialized unknown_method duplicate_request " +
		"unknown_session session_busy stale_control persistence_failed shutting_down internal_error")
	var got []string
	for _, r := range fault.SessionRows() {
		got = append(got, string(r.Code))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryRowIsUniqueDocumentedAndFound(t *testing.T) {
	seen := map[fault.Code]bool{}
	meanings := map[string]fault.Code{}
	for _, row := range fault.Rows() {
		if seen[row.Code] {
			t.Errorf("%s stands twice", row.Code)
		}
		seen[row.Code] = true
		if other, ok := meanings[row.Meaning]; ok || len(row.Meaning) < 20 || !strings.HasSuffix(row.Meaning, ".") || strings.Contains(row.Meaning, "\n") {
			t.Errorf("%s has no sentence of its own (also %s): %q", row.Code, other, row.Meaning)
		}
		meanings[row.Meaning] = row.Code
		found, ok := fault.Lookup(row.Code)
		if !ok || found != row || fault.New(row.Code, "x").Row() != row {
			t.Errorf("%s is looked up as %+v, %v", row.Code, found, ok)
		}
	}
	for _, code := range declared(t) {
		if !seen[code] {
			t.Errorf("%s is declared and has no row", code)
		}
		delete(seen, code)
	}
	for code := range seen {
		t.Errorf("%s has a row and no name", code)
	}
}

// declared reads the codes out of the package's own source.
func declared(t *testing.T) []fault.Code {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var out []fault.Code
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Code" {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, fault.Code(text))
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatal("no code is declared")
	}
	return out
}

func TestTheTableCannotBeChangedByItsReader(t *testing.T) {
	rows := fault.Rows()
	first := rows[0]
	rows[0].HTTP = 200
	if again := fault.Rows()[0]; again != first {
		t.Errorf("the table has become %+v", again)
	}
}

func TestAnUnknownCodeIsAnsweredAsInternal(t *testing.T) {
	internal, _ := fault.Lookup(fault.Internal)
	row, ok := fault.Lookup("no_such_code")
	if ok || row != internal || fault.New("no_such_code", "x").Row() != internal {
		t.Errorf("got %+v, %v", row, ok)
	}
}

func TestWithAndBecauseLeaveTheFaultAsItWas(t *testing.T) {
	cause := errors.New("disk on fire")
	base := fault.Newf(fault.TooLarge, "%s is limited to %d", "x", 3)
	one := base.With("bound", "x")
	two := one.With("max", 3)
	other := one.With("max", 4).With("bound", "y")
	caused := two.Because(cause)
	now, later := base.RetryAfter(-time.Second), base.RetryAfter(1500*time.Millisecond)

	for name, c := range map[string]struct {
		f       *fault.Fault
		details map[string]any
		cause   error
	}{
		"base":   {base, nil, nil},
		"one":    {one, map[string]any{"bound": "x"}, nil},
		"two":    {two, map[string]any{"bound": "x", "max": 3}, nil},
		"other":  {other, map[string]any{"bound": "y", "max": 4}, nil},
		"now":    {now, map[string]any{"retry_after_ms": int64(1)}, nil},
		"later":  {later, map[string]any{"retry_after_ms": int64(1500)}, nil},
		"caused": {caused, map[string]any{"bound": "x", "max": 3}, cause},
	} {
		if c.f.Code != fault.TooLarge || c.f.Text != "x is limited to 3" || !errors.Is(c.f.Unwrap(), c.cause) {
			t.Errorf("%s: %+v", name, c.f)
		}
		if diff := cmp.Diff(c.details, c.f.Details); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if got := c.f.Error(); got != "too_large: x is limited to 3" {
			t.Errorf("%s is written %q", name, got)
		}
	}
	caused.With("late", true)
	if len(two.Details) != 2 || len(caused.Details) != 2 {
		t.Errorf("details have leaked: %v, %v", two.Details, caused.Details)
	}
	if !errors.Is(caused, cause) || errors.Is(two, cause) {
		t.Error("the cause is not where it belongs")
	}
}

func TestFromFindsTheFaultAndHidesEverythingElse(t *testing.T) {
	inner := fault.New(fault.Conflict, "in the way")
	outer := fault.New(fault.Unavailable, "not now").Because(inner)
	secretive := errors.New("hunter2")
	for name, c := range map[string]struct {
		err   error
		want  *fault.Fault
		codes []fault.Code // that Is sees
	}{
		"nothing":         {nil, nil, nil},
		"a fault":         {inner, inner, []fault.Code{fault.Conflict}},
		"a wrapped fault": {fmt.Errorf("a: %w", fmt.Errorf("b: %w", inner)), inner, []fault.Code{fault.Conflict}},
		"joined":          {errors.Join(secretive, inner), inner, []fault.Code{fault.Conflict}},
		"the outermost":   {outer, outer, []fault.Code{fault.Unavailable}},
		"foreign":         {secretive, fault.New(fault.Internal, "the host failed; its log has the reason").Because(secretive), nil},
	} {
		got := fault.From(c.err)
		same := got == c.want
		if c.want != nil && c.want.Code == fault.Internal { // made by From, so another value
			same = got.Code == c.want.Code && got.Text == c.want.Text && errors.Is(got.Unwrap(), c.err) && got.Details == nil
		}
		if !same {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		for _, row := range fault.Rows() {
			want := false
			for _, code := range c.codes {
				want = want || code == row.Code
			}
			if fault.Is(c.err, row.Code) != want {
				t.Errorf("%s: is %s: %v", name, row.Code, !want)
			}
		}
		if got != nil && strings.Contains(got.Error(), "hunter2") {
			t.Errorf("%s: tells the cause: %v", name, got)
		}
	}
}
