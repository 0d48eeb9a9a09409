package invocation_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// A settled state is left only by a reconciliation, and nothing leads back to
// dispatching but a row of which nothing was sent.
func TestMovesNeverLoseAnOutcomeNorDispatchTwice(t *testing.T) {
	for _, from := range invocation.States() {
		for _, to := range invocation.States() {
			if !invocation.CanMove(from, to) {
				continue
			}
			if from.Settled() && from != invocation.Indeterminate {
				t.Errorf("the settled state %s can become %s", from, to)
			}
			if to == invocation.Dispatching && from != invocation.Reserved && from != invocation.NotDispatched {
				t.Errorf("%s can be dispatched again", from)
			}
			if from == invocation.Indeterminate && to.Unresolved() {
				t.Errorf("a doubt can become %s", to)
			}
		}
	}
}

func TestEveryEventHasItsRowAndTheUnknownOneIsADoubt(t *testing.T) {
	kinds := []invocation.EventKind{invocation.Answered, invocation.ToolError, invocation.Rejected, invocation.Unanswerable,
		invocation.TooLarge, invocation.InvalidAnswer, invocation.Broken, invocation.TimedOut, invocation.Cancelled,
		invocation.Unreached, "something new"}
	for _, k := range kinds {
		v := invocation.Classify(invocation.Event{Kind: k})
		doubt := v.State == invocation.Indeterminate
		if doubt != (v.Code == fault.Indeterminate) || doubt && v.Effects != effect.Uncertain {
			t.Errorf("%s: %+v says two things", k, v)
		}
		if (v.State == invocation.NotDispatched) != (v.Effects == effect.NotDispatched) {
			t.Errorf("%s: %+v promises that nothing was sent, or fails to", k, v)
		}
		if (v.State == invocation.NotDispatched) != (k == invocation.Unreached) {
			t.Errorf("%s takes the mark back, or leaves it where nothing was sent: %+v", k, v)
		}
		if !invocation.CanMove(invocation.Dispatching, v.State) {
			t.Errorf("%s leads to %s, which is no move", k, v.State)
		}
		if k == "something new" && !doubt {
			t.Errorf("an unknown event is taken for %s", v.State)
		}
	}
}

func TestAnswersHaveOneLookForEachState(t *testing.T) {
	at := time.UnixMilli(1_750_000_000_000).UTC()
	outcome := map[invocation.State]invocation.Outcome{
		invocation.Succeeded:           {Effects: effect.Reported, Result: []byte(`{"content":[]}`)},
		invocation.Failed:              {Code: fault.UpstreamFailed, Text: "no", Reason: "tool_error", Effects: effect.Reported, Result: []byte(`{}`)},
		invocation.NotDispatched:       {Code: fault.Unavailable, Text: "down", Effects: effect.NotDispatched},
		invocation.Indeterminate:       {Code: fault.Indeterminate, Reason: "broken", Effects: effect.Uncertain},
		invocation.ReconciledSucceeded: {Effects: effect.Reported},
		invocation.ReconciledFailed:    {Code: fault.UpstreamFailed, Text: "did not happen", Effects: effect.None},
		invocation.Abandoned:           {Code: fault.Indeterminate, Reason: "broken", Effects: effect.Uncertain},
	}
	type look struct {
		Status  invocation.Status
		Code    fault.Code
		Effects effect.Outcome
		Result  bool
	}
	want := map[invocation.State]look{
		invocation.Reserved:            {invocation.Underway, "", effect.None, false},
		invocation.Dispatching:         {invocation.Underway, "", effect.Uncertain, false},
		invocation.Succeeded:           {invocation.OK, "", effect.Reported, true},
		invocation.Failed:              {invocation.Error, fault.UpstreamFailed, effect.Reported, true},
		invocation.NotDispatched:       {invocation.Error, fault.Unavailable, effect.NotDispatched, false},
		invocation.Indeterminate:       {invocation.InDoubt, fault.Indeterminate, effect.Uncertain, false},
		invocation.ReconciledSucceeded: {invocation.OK, "", effect.Reported, false},
		invocation.ReconciledFailed:    {invocation.Error, fault.UpstreamFailed, effect.None, false},
		invocation.Abandoned:           {invocation.InDoubt, fault.Indeterminate, effect.Uncertain, false},
	}
	for _, s := range invocation.States() {
		row := invocation.Row{State: s, Outcome: outcome[s], DispatchedAt: at, SettledAt: at.Add(time.Second), DeadlineAt: at}
		a := row.Answer()
		got := look{a.Status, "", a.Effects, a.Result != nil}
		if a.Fault != nil {
			got.Code = a.Fault.Code
		}
		if diff := cmp.Diff(want[s], got); diff != "" {
			t.Errorf("%s: %s", s, diff)
		}
		if s == invocation.Abandoned && (a.Fault.Details["reconcile"] != "none" || a.Fault.Details["reconciled"] == nil) {
			t.Errorf("given up: %v", a.Fault.Details)
		}
		if s == invocation.Abandoned && strings.Contains(a.Fault.Text, "ask the owner") {
			t.Errorf("given up, and yet: %s", a.Fault.Text)
		}
		if s == invocation.Indeterminate {
			details := map[string]any{"reason": "broken", "attempt": int64(1), "reconcile": "owner",
				"dispatched_at": "2025-06-15T15:06:40.000Z", "deadline_at": "2025-06-15T15:06:40.000Z"}
			if diff := cmp.Diff(details, a.Fault.Details); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestShapeKeepsBytesAndHoldsStructuredContentToTheSchema(t *testing.T) {
	output, err := schema.CompileNested([]byte(`{"type":"object","additionalProperties":false,"required":["n"],
		"properties":{"n":{"type":"integer","minimum":0,"maximum":9007199254740991}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const text = `[{"type":"text","text":"1.50"}]`
	cases := map[string]struct {
		kind   invocation.EventKind
		raw    string
		schema *schema.Schema
		want   invocation.EventKind
		result string
	}{
		"no schema: content only":      {invocation.Answered, `{"content":` + text + `,"structuredContent":{"n":9007199254740993}}`, nil, invocation.Answered, `{"content":` + text + `,"isError":false,"validated":false}`},
		"fits":                         {invocation.Answered, `{"content":` + text + `,"structuredContent":{"n":1.0}}`, output, invocation.Answered, `{"content":` + text + `,"structuredContent":{"n":1.0},"isError":false,"validated":true}`},
		"missing":                      {invocation.Answered, `{"content":[]}`, output, invocation.InvalidAnswer, ""},
		"does not fit":                 {invocation.Answered, `{"content":[],"structuredContent":{"n":-1}}`, output, invocation.InvalidAnswer, ""},
		"a tool's error needs no form": {invocation.ToolError, `{"content":` + text + `,"isError":true}`, output, invocation.ToolError, `{"content":` + text + `,"isError":true,"validated":false}`},
		"no content":                   {invocation.Answered, `{}`, nil, invocation.Answered, `{"content":[],"isError":false,"validated":false}`},
		"content is no list":           {invocation.Answered, `{"content":{}}`, nil, invocation.InvalidAnswer, ""},
		"no object":                    {invocation.Answered, `[]`, nil, invocation.InvalidAnswer, ""},
		"a doubt stays one":            {invocation.Broken, ``, output, invocation.Broken, ""},
	}
	for name, c := range cases {
		got := invocation.Shape(invocation.Event{Kind: c.kind, Result: []byte(c.raw)}, c.schema)
		if got.Kind != c.want || got.Kind != invocation.Broken && string(got.Result) != c.result {
			t.Errorf("%s: %s %s, want %s %s", name, got.Kind, got.Result, c.want, c.result)
		}
		if c.result != "" {
			if err := strictjson.Check(got.Result, strictjson.Limits{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Whatever is changed in a row, by hand or by a failing disk, its digest is
// another one.
func TestEveryMemberOfARowIsInItsDigest(t *testing.T) {
	was := (invocation.Row{}).Digest()
	var walk func(v reflect.Value, name string, row *invocation.Row)
	walk = func(v reflect.Value, name string, row *invocation.Row) {
		set := func(to any) {
			before := reflect.New(v.Type()).Elem()
			before.Set(v)
			v.Set(reflect.ValueOf(to).Convert(v.Type()))
			if row.Digest() == was {
				t.Errorf("%s may be changed unnoticed", name)
			}
			v.Set(before)
		}
		switch v.Interface().(type) {
		case time.Time:
			set(time.UnixMilli(1_750_000_000_000))
			return
		case id.Invocation:
			set(id.New[id.Invocation]())
			return
		case id.Owner:
			set(id.New[id.Owner]())
			return
		case id.Client:
			set(id.New[id.Client]())
			return
		case id.Tx:
			set(id.NewTx(time.Now()))
			return
		case id.Resource:
			set(id.New[id.Resource]())
			return
		case id.Grant:
			set(id.New[id.Grant]())
			return
		case id.Revision:
			set(id.New[id.Revision]())
			return
		case id.Node:
			set(id.New[id.Node]())
			return
		case digest.Digest:
			set(digest.Of(digest.Request, []byte("x")))
			return
		case effect.Set:
			classes, err := effect.SetOf(effect.Write)
			if err != nil {
				t.Fatal(err)
			}
			set(classes)
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), name+"."+v.Type().Field(i).Name, row)
			}
		case reflect.String, reflect.Slice:
			set("x")
		case reflect.Int64:
			set(7)
		default:
			t.Errorf("%s: the test does not know how to change a %s", name, v.Kind())
		}
	}
	var row invocation.Row
	walk(reflect.ValueOf(&row).Elem(), "Row", &row)
}
