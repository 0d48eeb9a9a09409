package item_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/item"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// conditions are preconditions as clients write them, and what each is read as:
// "absent", a version, or a code.
var conditions = map[string]string{
	`{"absent":true}`:                   "absent",
	` { "absent" : true } `:             "absent",
	`{"version":"v1"}`:                  "version v1",
	`{"version":""}`:                    "version ",
	``:                                  "precondition_required",
	`{}`:                                "invalid_request",
	`null`:                              "invalid_request",
	`true`:                              "invalid_request",
	`[]`:                                "invalid_request",
	`{"absent":false}`:                  "invalid_request",
	`{"absent":null}`:                   "invalid_request",
	`{"absent":"true"}`:                 "invalid_request",
	`{"absent":true,"version":"v1"}`:    "invalid_request",
	`{"absent":false,"version":"v1"}`:   "invalid_request",
	`{"absent":null,"version":"v1"}`:    "version v1",
	`{"absent":true,"version":null}`:    "absent",
	`{"absent":true,"absent":true}`:     "invalid_request",
	`{"version":1}`:                     "invalid_request",
	`{"version":["v1"]}`:                "invalid_request",
	`{"Version":"v1"}`:                  "invalid_request",
	`{"version":"v1","etag":"v1"}`:      "invalid_request",
	`{"version":"v1"} {"version":"v1"}`: "invalid_request",
	`{"version":"` + "\xff" + `"}`:      "invalid_request",
	`{"version":"` + longer + `"}`:      "too_large",
	`{"absent":true,"x":[[[[[[[[[[1]]]]]]]]]]}`: "invalid_request",
}

var (
	longer = strings.Repeat("v", 1<<10)
	limits = strictjson.Limits{Bytes: bound.Row{Key: "condition_bytes", Max: 1 << 10, Unit: bound.Bytes, Code: fault.TooLarge}, Depth: bound.RequestDepth, Nodes: bound.RequestNodes}
)

func read(raw string) (item.Condition, string) {
	c, err := item.ParseCondition([]byte(raw), limits)
	switch {
	case err != nil:
		return c, string(fault.From(err).Code)
	case c.Absent != nil && c.Version == nil && *c.Absent:
		return c, "absent"
	case c.Version != nil && c.Absent == nil:
		return c, "version " + *c.Version
	}
	return c, fmt.Sprintf("%+v", c)
}

func TestParseCondition(t *testing.T) {
	for raw, want := range conditions {
		if _, got := read(raw); got != want {
			t.Errorf("%.60s is read as %.60s, want %s", raw, got, want)
		}
	}
}

// What is accepted is one condition, which is written and read again as itself
// and never holds both for an item and for none.
func FuzzParseCondition(f *testing.F) {
	for raw := range conditions {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		c, as := read(raw)
		if _, refused := fault.Lookup(fault.Code(as)); refused {
			return
		}
		written, err := strictjson.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		if as != "absent" && !strings.HasPrefix(as, "version ") {
			t.Fatalf("%q is read as %s", raw, as)
		}
		if _, again := read(string(written)); again != as && again != string(fault.TooLarge) {
			t.Fatalf("%q is read as %s, and written as %s it is %s", raw, as, written, again)
		}
		stored := &item.Item{Key: "k", Version: strings.TrimPrefix(as, "version ")}
		if (c.Holds(nil) == nil) == (c.Holds(stored) == nil) || (c.Holds(nil) == nil) != (as == "absent") {
			t.Fatalf("%s: holds for none %v, for an item %v", as, c.Holds(nil), c.Holds(stored))
		}
	})
}

func TestHolds(t *testing.T) {
	stored := &item.Item{Key: "k", Value: "secret", Version: "v2"}
	for _, c := range []struct {
		condition string
		stored    *item.Item
		version   any // that a refusal tells; "" when it holds
	}{
		{`{"absent":true}`, nil, ""},
		{`{"absent":true}`, stored, "v2"},
		{`{"version":"v2"}`, stored, ""},
		{`{"version":"v1"}`, stored, "v2"},
		{`{"version":"V2"}`, stored, "v2"},
		{`{"version":""}`, stored, "v2"},
		{`{"version":"v2"}`, nil, nil},
	} {
		condition, _ := read(c.condition)
		err := condition.Holds(c.stored)
		if c.version == "" {
			if err != nil {
				t.Errorf("%s: %v", c.condition, err)
			}
			continue
		}
		f := fault.From(err)
		if !fault.Is(err, fault.PreconditionFailed) || f.Details["version"] != c.version || strings.Contains(f.Error(), "secret") {
			t.Errorf("%s of %+v: %v, %v", c.condition, c.stored, err, f)
		}
	}
	if err := (item.Condition{}).Holds(nil); !fault.Is(err, fault.PreconditionFailed) {
		t.Errorf("no condition: %v", err)
	}
}

func TestCheck(t *testing.T) {
	key, value := strings.Repeat("k", bound.ItemKeyBytes.Int()), strings.Repeat("v", bound.ItemValueBytes.Int())
	type verdict struct{ Code, Bound string }
	for _, c := range []struct {
		key, value string
		want       verdict
	}{
		{"k", "", verdict{}},
		{key, value, verdict{}},
		{"", value, verdict{"invalid_args", ""}},
		{key + "k", "", verdict{"invalid_args", "item_key_bytes"}},
		{strings.Repeat("ä", bound.ItemKeyBytes.Int()/2+1), "", verdict{"invalid_args", "item_key_bytes"}},
		{key, value + "v", verdict{"too_large", "item_value_bytes"}},
	} {
		var got verdict
		if err := item.Check(c.key, c.value); err != nil {
			f := fault.From(err)
			got.Code = string(f.Code)
			got.Bound, _ = f.Details["bound"].(string)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("a key of %d and a value of %d bytes (-want +got)\n%s", len(c.key), len(c.value), diff)
		}
	}
}
