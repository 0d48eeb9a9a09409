package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// run calls a built-in with a fresh tx. An empty condition is none.
func (p *pool) run(t tester, c authority.Caller, alias, method, args, condition string) (invocation.Answer, error) {
	t.Helper()
	return p.runTx(t, c, p.tx(), alias, method, args, condition)
}

func (p *pool) runTx(t tester, c authority.Caller, tx id.Tx, alias, method, args, condition string) (invocation.Answer, error) {
	t.Helper()
	call := p.command(t, c, tx, alias, method, args)
	call.HasIf = condition != ""
	return p.RunBuiltin(t.Context(), call, []byte(condition))
}

// ok runs a built-in that must succeed and decodes its result.
func (p *pool) ok(t testing.TB, c authority.Caller, alias, method, args, condition string) (invocation.Answer, map[string]any) {
	t.Helper()
	answer, err := p.run(t, c, alias, method, args, condition)
	must(t, err)
	if answer.Status != invocation.OK {
		t.Fatalf("%s %s: %+v", method, args, answer.Fault)
	}
	var out map[string]any
	must(t, json.Unmarshal(answer.Result, &out))
	return answer, out
}

// fails runs a built-in that must be journalled as failed.
func (p *pool) fails(t testing.TB, c authority.Caller, alias, method, args, condition string, code fault.Code) invocation.Answer {
	t.Helper()
	answer, err := p.run(t, c, alias, method, args, condition)
	must(t, err)
	if answer.Status != invocation.Error || answer.Fault.Code != code || answer.Effects != effect.None || answer.Invocation.IsZero() {
		t.Fatalf("%s %s gave %+v %+v", method, args, answer, answer.Fault)
	}
	return answer
}

func TestAnItemChangesOnlyUnderItsPrecondition(t *testing.T) {
	p := newPool(t)
	const items, absent = "@items", `{"absent":true}`
	put := `{"key":"a","value":"one\u0000 é 😀"}`
	made, out := p.ok(t, p.hand, items, "put", put, absent)
	if made.Effects != effect.Reported || made.Version != made.Invocation.String() || out["version"] != made.Version || out["key"] != "a" {
		t.Fatalf("%+v %v", made, out)
	}
	got, out := p.ok(t, p.hand, items, "get", `{"key":"a"}`, "")
	if out["value"] != "one\x00 é 😀" || out["version"] != made.Version || out["updated_at"] != "2026-03-01T12:00:00.000Z" || got.Effects != effect.None {
		t.Fatalf("%+v %v", got, out)
	}
	refused := p.fails(t, p.hand, items, "put", put, absent, fault.PreconditionFailed)
	if refused.Version != made.Version {
		t.Fatalf("the version that stands is not told: %+v", refused)
	}
	p.fails(t, p.hand, items, "put", put, `{"version":"inv_other"}`, fault.PreconditionFailed)
	p.fails(t, p.hand, items, "put", `{"key":"b","value":""}`, `{"version":"x"}`, fault.PreconditionFailed)
	p.fails(t, p.hand, items, "delete", `{"key":"b"}`, absent, fault.NotFound)
	p.fails(t, p.hand, items, "get", `{"key":"b"}`, "", fault.NotFound)
	changed, _ := p.ok(t, p.hand, items, "put", `{"key":"a","value":"two"}`, fmt.Sprintf(`{"version":%q}`, made.Version))
	p.fails(t, p.hand, items, "delete", `{"key":"a"}`, fmt.Sprintf(`{"version":%q}`, made.Version), fault.PreconditionFailed)
	_, out = p.ok(t, p.hand, items, "delete", `{"key":"a"}`, fmt.Sprintf(`{"version":%q}`, changed.Version))
	if out["deleted"] != true {
		t.Fatal(out)
	}
	again, _ := p.ok(t, p.hand, items, "put", put, absent)
	if again.Version == made.Version {
		t.Fatal("an item that was made again has an old version")
	}
	p.holds(t)
}

func TestARequestThatIsWrongLeavesNoRow(t *testing.T) {
	p := newPool(t)
	for name, c := range map[string]struct {
		method, args, condition string
		want                    fault.Code
	}{
		"no precondition":    {"put", `{"key":"a","value":""}`, "", fault.PreconditionRequired},
		"two preconditions":  {"put", `{"key":"a","value":""}`, `{"absent":true,"version":"x"}`, fault.InvalidRequest},
		"a strange one":      {"put", `{"key":"a","value":""}`, `{"absent":false}`, fault.InvalidRequest},
		"a value of 41 KiB":  {"put", `{"key":"a","value":"` + strings.Repeat("é", 41<<9) + `"}`, `{"absent":true}`, fault.TooLarge},
		"a key of 257 bytes": {"put", `{"key":"` + strings.Repeat("k", 257) + `","value":""}`, `{"absent":true}`, fault.InvalidArgs},
	} {
		tx := p.tx()
		_, err := p.runTx(t, p.hand, tx, "@items", c.method, c.args, c.condition)
		if !fault.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := p.Lookup(t.Context(), p.hand, tx); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s left a row: %v", name, err)
		}
	}
	for name, args := range map[string]string{"list": `{"before":"nothing"}`, "get": `{"tx":"tx_0000000000000000000000000!"}`} {
		_, err := p.run(t, p.hand, "@journal", name, args, "")
		wantFault(t, err, fault.InvalidArgs)
	}
}

func TestABuiltinIsOneCommitAndReplaysItsOutcome(t *testing.T) {
	p := newPool(t)
	before := p.Stats().Commits
	tx := p.tx()
	first, err := p.runTx(t, p.hand, tx, "@items", "put", `{"key":"a","value":"1"}`, `{"absent":true}`)
	must(t, err)
	if n := p.Stats().Commits - before; n != 1 {
		t.Fatalf("%d commits", n)
	}
	p.restart(t)
	again, err := p.runTx(t, p.hand, tx, "@items", "put", `{"key":"a","value":"1"}`, `{"absent":true}`)
	must(t, err)
	first.Replayed = true
	same(t, again, first)
	failed := p.tx()
	one, err := p.runTx(t, p.hand, failed, "@items", "put", `{"key":"a","value":"2"}`, `{"absent":true}`)
	must(t, err)
	p.ok(t, p.hand, "@items", "delete", `{"key":"a"}`, fmt.Sprintf(`{"version":%q}`, first.Version))
	two, err := p.runTx(t, p.hand, failed, "@items", "put", `{"key":"a","value":"2"}`, `{"absent":true}`)
	must(t, err)
	one.Replayed = true
	same(t, two, one)
}

func TestItemsAreListedInOrder(t *testing.T) {
	p := newPool(t)
	for _, key := range []string{"b", "a/é", "a/1", "a/2", "a", "😀"} {
		p.ok(t, p.hand, "@items", "put", fmt.Sprintf(`{"key":%q,"value":"xyz"}`, key), `{"absent":true}`)
	}
	var keys []string
	for after, pages := "", 0; pages < 10; pages++ {
		_, out := p.ok(t, p.hand, "@items", "list", fmt.Sprintf(`{"after":%q,"limit":2}`, after), "")
		for _, it := range out["items"].([]any) {
			keys = append(keys, it.(map[string]any)["key"].(string))
			if it.(map[string]any)["size"] != 3.0 {
				t.Fatal(it)
			}
		}
		next, more := out["next"]
		if !more {
			break
		}
		after = next.(string)
	}
	same(t, keys, []string{"a", "a/1", "a/2", "a/é", "b", "😀"})
	_, out := p.ok(t, p.hand, "@items", "list", `{"prefix":"a/","after":"a/1"}`, "")
	if got := len(out["items"].([]any)); got != 2 {
		t.Fatalf("%d items: %v", got, out)
	}
}

func TestAnAppReadsItselfOnly(t *testing.T) {
	n := newNotes(t)
	other := n.app2(t)
	for _, c := range []authority.Caller{n.app, other} {
		for _, alias := range []string{"@grants", "@journal", "@profile"} {
			r, err := n.Resource(t.Context(), n.owner, alias)
			must(t, err)
			for _, m := range r.Methods {
				n.grant(t, c, r.Row.ID, grant.ByEffect, m.Method.Definition.ID)
			}
		}
	}
	tx := n.tx()
	n.dispatch(t, n.call(t, tx, `{}`))
	n.clock.step(time.Second)

	_, out := n.ok(t, n.app, "@grants", "list", `{}`, "")
	rows := out["grants"].([]any)
	if len(rows) != 5 {
		t.Fatalf("%d rows: %v", len(rows), out)
	}
	for _, r := range rows {
		row := r.(map[string]any)
		if row["state"] != "active" || row["tool"] == "" || row["effects"] == "" || row["expires_at"] != nil {
			t.Fatal(row)
		}
	}
	n.clock.step(time.Second)
	_, out = n.ok(t, n.app, "@journal", "list", `{"limit":1}`, "")
	if first := out["invocations"].([]any)[0].(map[string]any); out["next"] == nil || first["method"] != "list" || first["state"] != "succeeded" {
		t.Fatalf("%v", out)
	}
	n.clock.step(time.Second)
	_, out = n.ok(t, n.app, "@journal", "list", `{"before":"`+out["next"].(string)+`"}`, "")
	oldest := out["invocations"].([]any)[0].(map[string]any)
	if len(out["invocations"].([]any)) != 1 || oldest["tx"] != tx.String() || oldest["state"] != "dispatching" || oldest["effects"] != "uncertain" {
		t.Fatalf("%v", out)
	}
	_, got := n.ok(t, n.app, "@journal", "get", `{"tx":"`+tx.String()+`"}`, "")
	same(t, got, oldest)
	n.fails(t, other, "@journal", "get", `{"tx":"`+tx.String()+`"}`, "", fault.NotFound)
	_, out = n.ok(t, other, "@profile", "get", `{}`, "")
	same(t, out, map[string]any{"name": "", "locale": "", "timezone": ""})
	_, err := n.run(t, other, "@items", "list", `{}`, "")
	wantFault(t, err, fault.NotFound)
	n.holds(t)
}
