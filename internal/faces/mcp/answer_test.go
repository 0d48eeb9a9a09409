package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

const someTx = "tx_0000000000000000000000000a"

func sameTx(t testing.TB) id.Tx {
	t.Helper()
	tx, err := id.Parse[id.Tx](someTx)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// What the port says reaches the client whole, in the form that MCP has for it.
func TestEveryAnswerHasItsForm(t *testing.T) {
	tx, row := sameTx(t), id.New[id.Invocation]()
	result := `{"content":[{"type":"text","text":"a  <b>\u00e9"}],"structuredContent":{"n":9007199254740993,"f":0.1000000000000000055,"e":1e400},"isError":false,"validated":true}`
	failed := `{"content":[{"type":"text","text":"no such note"}],"isError":true,"validated":false}`
	meta := func(effects effect.Outcome, more string) string {
		return `{"io.github.stewardhost/effects":"` + string(effects) + `","io.github.stewardhost/replayed":false,"io.github.stewardhost/tx":"` + someTx + `"` + more + `}`
	}
	doubt := fault.New(fault.Indeterminate, "x").With("reason", "timeout")
	confirm := fault.New(fault.ConfirmationRequired, "x").With("confirmation", "cnf_1").With("fix", "steward confirm approve cnf_1")
	for _, tc := range []struct {
		name   string
		answer invocation.Answer
		host   bool   // the method is one of the host's own
		want   string // the result or the error, as JSON; WORDS stands for some text
		words  string // what the text says
	}{
		{name: "success", answer: invocation.Answer{Status: invocation.OK, Effects: effect.Reported, Result: []byte(result)},
			want: `{"_meta":` + meta(effect.Reported, `,"io.github.stewardhost/validated":true`) + `,"content":[{"type":"text","text":"a  <b>é"}],` +
				`"structuredContent":{"n":9007199254740993,"f":0.1000000000000000055,"e":1e400}}`},
		{name: "success of the host's own", host: true, answer: invocation.Answer{Status: invocation.OK, Effects: effect.Reported, Result: []byte(`{"key":"a\"b"}`)},
			want: `{"_meta":` + meta(effect.Reported, `,"io.github.stewardhost/validated":true`) + `,"content":[{"type":"text","text":"{\"key\":\"a\\\"b\"}"}],"structuredContent":{"key":"a\"b"}}`},
		{name: "the tool's own error", answer: invocation.Answer{Status: invocation.Error, Invocation: row, Effects: effect.Reported, Result: []byte(failed),
			Fault: fault.New(fault.UpstreamFailed, "x").With("reason", "tool_error")},
			want: `{"_meta":` + meta(effect.Reported, `,"io.github.stewardhost/error":{"code":"upstream_failed","details":{"reason":"tool_error"},"retry":"new_tx"}`) +
				`,"content":[{"type":"text","text":"no such note"}],"isError":true}`},
		{name: "rejected by the upstream", answer: invocation.Answer{Status: invocation.Error, Invocation: row, Effects: effect.Reported,
			Fault: fault.New(fault.UpstreamFailed, "the upstream was called and refused")},
			want:  `{"_meta":` + meta(effect.Reported, `,"io.github.stewardhost/error":{"code":"upstream_failed","retry":"new_tx"}`) + `,"content":[{"type":"text","text":"WORDS"}],"isError":true}`,
			words: "upstream_failed: the upstream was called and refused."},
		{name: "it went out, and the grant ended meanwhile", answer: invocation.Answer{Status: invocation.Error, Effects: effect.Reported,
			Fault: fault.New(fault.NotFound, "there is no such thing here")},
			want:  `{"_meta":` + meta(effect.Reported, `,"io.github.stewardhost/error":{"code":"not_found","retry":"never"}`) + `,"content":[{"type":"text","text":"WORDS"}],"isError":true}`,
			words: "not_found: there is no such thing here."},
		{name: "doubt", answer: invocation.Answer{Status: invocation.InDoubt, Invocation: row, Effects: effect.Uncertain, Fault: doubt},
			want: `{"_meta":` + meta(effect.Uncertain, `,"io.github.stewardhost/error":{"code":"indeterminate","details":{"reason":"timeout"},"retry":"after_reconcile"}`) +
				`,"content":[{"type":"text","text":"WORDS"}],"isError":true}`,
			words: "It is not known whether this call happened: it may have. Do not repeat it, not with other words either. Ask the owner to find out; the owner sees it in steward's journal as " + someTx + "."},
		{name: "confirmation", answer: invocation.Refusal(tx, confirm, effect.None),
			want: `{"_meta":` + meta(effect.None, `,"io.github.stewardhost/error":{"code":"confirmation_required","details":{"confirmation":"cnf_1","fix":"steward confirm approve cnf_1"},"retry":"same_tx"}`) +
				`,"content":[{"type":"text","text":"WORDS"}],"isError":true}`,
			words: "The owner must confirm this call; nothing was sent. Ask the owner to run: steward confirm approve cnf_1. Then make the same call again, with the same arguments."},
		{name: "unavailable", answer: invocation.Refusal(tx, fault.New(fault.Unavailable, "it is off"), effect.NotDispatched),
			want:  `{"_meta":` + meta(effect.NotDispatched, `,"io.github.stewardhost/error":{"code":"unavailable","retry":"same_tx"}`) + `,"content":[{"type":"text","text":"WORDS"}],"isError":true}`,
			words: "unavailable: it is off."},
		{name: "held back", answer: invocation.Refusal(tx, fault.New(fault.Conflict, "an equal call may have happened").With("fix", "wait"), effect.NotDispatched),
			want:  `{"_meta":` + meta(effect.NotDispatched, `,"io.github.stewardhost/error":{"code":"conflict","details":{"fix":"wait"},"retry":"new_tx"}`) + `,"content":[{"type":"text","text":"WORDS"}],"isError":true}`,
			words: "Nothing was sent: an equal call may have happened. What helps: wait."},
		{name: "an item that is not there", host: true, answer: invocation.Answer{Status: invocation.Error, Invocation: row, Effects: effect.Reported, Fault: fault.New(fault.NotFound, "there is no such item")},
			want:  `{"_meta":` + meta(effect.Reported, `,"io.github.stewardhost/error":{"code":"not_found","retry":"never"}`) + `,"content":[{"type":"text","text":"WORDS"}],"isError":true}`,
			words: "not_found: there is no such item."},
		{name: "settled by the owner", answer: invocation.Answer{Status: invocation.OK, Invocation: row, Effects: effect.Reported,
			Reconciled: &invocation.Reconciliation{By: "owner", At: time.UnixMilli(1700000000000)}},
			want:  `{"_meta":` + meta(effect.Reported, `,"io.github.stewardhost/reconciled":{"at":"2023-11-14T22:13:20.000Z","by":"owner"}`) + `,"content":[{"type":"text","text":"WORDS"}]}`,
			words: "The call happened: the owner has found out. Its result is not known. Do not repeat it."},
		{name: "arguments", answer: invocation.Refusal(tx, fault.New(fault.InvalidArgs, "too long").With("pointer", "/s"), effect.None),
			want: `{"code":-32602,"data":{"code":"invalid_args","details":{"pointer":"/s"},"retry":"new_tx"},"message":"too long"}`},
		{name: "another request under this tx", answer: invocation.Refusal(tx, fault.New(fault.TxMismatch, "used"), effect.None),
			want: `{"code":-32602,"data":{"code":"tx_mismatch","retry":"never"},"message":"used"}`},
		{name: "no grant", answer: invocation.Refusal(tx, fault.New(fault.GrantRequired, "secret words").With("fix", "steward grants add"), effect.None),
			want: `{"code":-32602,"data":{"code":"not_found","retry":"never"},"message":"there is no such tool here"}`},
		{name: "consent needed while it is listed", answer: invocation.Refusal(tx, fault.New(fault.NeedsConsent, "the method changed"), effect.None),
			want:  `{"_meta":` + meta(effect.None, `,"io.github.stewardhost/error":{"code":"needs_consent","retry":"never"}`) + `,"content":[{"type":"text","text":"WORDS"}],"isError":true}`,
			words: "needs_consent: the method changed."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost()
			c, token := h.app(id.New[id.Owner](), authority.ForMCP)
			m := imported(c, "echo")
			if tc.host {
				m.Target.Contract = contract.ItemStoreURL
			}
			h.grant(c, m)
			h.setCall(func(_ context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
				tc.answer.Tx = r.Tx
				return tc.answer
			})
			door := New(h.ports(), Options{Version: "7"})
			for era, p := range map[string]post{
				"modern": modernCall(token, m.Tool, "{}"), "legacy": legacyCall(token, initialize(t, door, token), m.Tool, "{}"),
			} {
				p.body = strings.Replace(strings.Replace(p.body, `"_meta":{`, `"_meta":{"`+frame.MetaTx+`":"`+someTx+`",`, 1),
					`"arguments":{}}}`, `"arguments":{},"_meta":{"`+frame.MetaTx+`":"`+someTx+`"}}}`, 1)
				w := send(door, p)
				want := fmt.Sprintf(`{"id":1,"jsonrpc":"2.0","result":%s}`, tc.want)
				if strings.HasPrefix(tc.want, `{"code"`) {
					want = fmt.Sprintf(`{"id":1,"jsonrpc":"2.0","error":%s}`, tc.want)
				}
				want = strings.ReplaceAll(want, "WORDS", tc.words)
				got := decoded(t, w.Body)
				if r, ok := got["result"].(map[string]any); ok && era == "modern" {
					if r["resultType"] != "complete" {
						t.Error("the result has no type")
					}
					delete(r, "resultType")
					delete(r["_meta"].(map[string]any), "io.modelcontextprotocol/serverInfo")
				}
				if diff := cmp.Diff(decoded(t, strings.NewReader(want)), got); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", era, diff)
				}
			}
		})
	}
}

// A number, an escape or a space that a mapper would mend passes as it is.
func TestBytesPassAsTheyWereWritten(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	door := New(h.ports(), Options{})
	const args = `{"b":9007199254740993,"a":[1e400, 0.1000000000000000055],"s":"\u003c\/é😀"}`
	const compact = `{"b":9007199254740993,"a":[1e400,0.1000000000000000055],"s":"\u003c\/é😀"}`
	session := initialize(t, door, token)
	for _, p := range []post{modernCall(token, m.Tool, args), legacyCall(token, session, m.Tool, args)} {
		w := send(door, p)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"structuredContent":`+compact) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if got := string(h.calls[len(h.calls)-1].Args); got != args {
			t.Errorf("the port got %s", got)
		}
	}
}

// The older revisions know structured content that is an object only.
func TestAListAsStructuredContentIsForTheNewerRevision(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	h.setCall(func(_ context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
		return invocation.Answer{Tx: r.Tx, Status: invocation.OK, Effects: effect.Reported,
			Result: []byte(`{"content":[],"structuredContent":[1,2],"isError":false,"validated":true}`)}
	})
	door := New(h.ports(), Options{})
	old := send(door, legacyCall(token, initialize(t, door, token), m.Tool, "{}")).Body.String()
	now := send(door, modernCall(token, m.Tool, "{}")).Body.String()
	if strings.Contains(old, "structuredContent") || !strings.Contains(now, `"structuredContent":[1,2]`) {
		t.Errorf("legacy: %s\nmodern: %s", old, now)
	}
}

func TestWhatACallMayCarry(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	door := New(h.ports(), Options{})
	tx := sameTx(t)
	for _, tc := range []struct {
		name, params string
		want         *dispatch.Request // nil: refused as bad params
	}{
		{"nothing", `"name":"TOOL"`, &dispatch.Request{}},
		{"an empty object", `"name":"TOOL","arguments":{}`, &dispatch.Request{Args: []byte("{}")}},
		{"a tx", `"name":"TOOL","_meta":{"io.github.stewardhost/tx":"` + someTx + `"}`, &dispatch.Request{Tx: tx}},
		{"an ack", `"name":"TOOL","_meta":{"io.github.stewardhost/ack":"` + someTx + `"}`, &dispatch.Request{Ack: tx}},
		{"metadata of others", `"name":"TOOL","_meta":{"a/b":{"c":[]}},"task":{"ttl":1}`, &dispatch.Request{}},
		{"null arguments", `"name":"TOOL","arguments":null`, nil},
		{"a list of arguments", `"name":"TOOL","arguments":[]`, nil},
		{"a tx that is none", `"name":"TOOL","_meta":{"io.github.stewardhost/tx":"tx_1"}`, nil},
		{"a tx that is a number", `"name":"TOOL","_meta":{"io.github.stewardhost/tx":1}`, nil},
		{"a progress token that is none", `"name":"TOOL","_meta":{"progressToken":1.5}`, nil},
		{"an id of another kind", `"name":"TOOL","_meta":{"io.github.stewardhost/tx":"inv_0000000000000000000000000a"}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h.calls = nil
			p := legacyCall(token, initialize(t, door, token), m.Tool, "{}")
			p.body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + strings.Replace(tc.params, "TOOL", m.Tool, 1) + `}}`
			w := send(door, p)
			if tc.want == nil {
				if len(h.calls) != 0 || !strings.Contains(w.Body.String(), `"code":-32602`) {
					t.Errorf("%d calls, %s", len(h.calls), w.Body)
				}
				return
			}
			if len(h.calls) != 1 {
				t.Fatalf("%d calls, %s", len(h.calls), w.Body)
			}
			got := h.calls[0]
			if minted := got.Tx; tc.want.Tx.IsZero() {
				if minted.IsZero() || !strings.Contains(w.Body.String(), minted.String()) {
					t.Errorf("tx %q was minted, the answer is %s", minted, w.Body)
				}
				got.Tx, tc.want.Minted = id.Tx{}, true
			}
			tc.want.Ref = dispatch.Reference{Resource: m.Target.Resource.String(), Contract: m.Target.Contract, Method: "echo"}
			if diff := cmp.Diff(*tc.want, got, cmpopts.EquateComparable(id.Tx{}, id.Confirmation{}, digest.Digest{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The precondition of an item's change is an argument, since a model can give
// nothing else.
func TestAPreconditionIsAnArgument(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "put")
	m.Target.Contract, m.Method.Precondition = contract.ItemStoreURL, true
	m.Method.Input = strictjson.Raw(`{"additionalProperties":false,"properties":{"key":{"maxLength":9,"type":"string"}},"required":["key"],"type":"object"}`)
	h.grant(c, m)
	door := New(h.ports(), Options{})
	session := initialize(t, door, token)
	w := send(door, post{token: token, session: session, version: "2025-11-25", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
	listed := decoded(t, w.Body)["result"].(map[string]any)
	if listed["cacheScope"] != "private" || fmt.Sprint(listed["ttlMs"]) != "0" {
		t.Errorf("a list may be kept: %v %v", listed["cacheScope"], listed["ttlMs"])
	}
	shown := listed["tools"].([]any)[0].(map[string]any)["inputSchema"].(map[string]any)
	if diff := cmp.Diff([]any{"key", "if"}, shown["required"]); diff != "" {
		t.Error(diff)
	}
	send(door, legacyCall(token, session, m.Tool, `{"key":"k","if":{"version":"v1"}}`))
	send(door, legacyCall(token, session, m.Tool, `{"key":"k"}`))
	for i, want := range []dispatch.Request{
		{Args: []byte(`{"key":"k"}`), If: []byte(`{"version":"v1"}`)},
		{Args: []byte(`{"key":"k"}`)},
	} {
		if got := h.calls[i]; string(got.Args) != string(want.Args) || string(got.If) != string(want.If) {
			t.Errorf("call %d: args %s if %s", i, got.Args, got.If)
		}
	}
}

// Whatever is not in the caller's own mapping gives the same bytes and reaches
// nobody; so does what the port refuses for want of authority.
func TestGuessedNamesAllLookTheSame(t *testing.T) {
	h := newHost()
	owner := id.New[id.Owner]()
	c, token := h.app(owner, authority.ForMCP)
	other, _ := h.app(owner, authority.ForMCP)
	mine, theirs, revoked := imported(c, "mine"), imported(other, "theirs"), imported(c, "revoked")
	h.grant(c, mine, revoked)
	h.grant(other, theirs)
	h.setCall(func(_ context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
		return invocation.Refusal(r.Tx, fault.New(fault.GrantRequired, "the grant has ended"), effect.None)
	})
	door := New(h.ports(), Options{})
	session := initialize(t, door, token)
	drifted := imported(c, "drifted")
	h.grant(c, drifted)
	send(door, modernCall(token, drifted.Tool, "{}")) // remembered now
	h.mu.Lock()
	h.grants[c.Client] = []view.Callable{mine, revoked}
	h.calls = nil
	h.call = func(_ context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
		code := map[string]fault.Code{"drifted": fault.NeedsConsent, "revoked": fault.GrantRequired}[r.Ref.Method]
		return invocation.Refusal(r.Tx, fault.New(code, "for the owner only"), effect.None)
	}
	h.mu.Unlock()
	legacyBytes, modernBytes := map[string]bool{}, map[string]bool{}
	for _, name := range []string{drifted.Tool, revoked.Tool, "nothing", theirs.Tool, "mine", "echo", "", "changed", mine.Tool + " "} {
		l := send(door, legacyCall(token, session, name, `{"a":1}`))
		legacyBytes[fmt.Sprint(l.Code, l.Header(), l.Body)] = true
		if name == "" {
			continue // a header cannot be empty and present
		}
		m := send(door, modernCall(token, name, `{"a":1}`))
		modernBytes[fmt.Sprint(m.Code, m.Header(), m.Body)] = true
	}
	if len(legacyBytes) != 1 || len(modernBytes) != 1 {
		t.Errorf("legacy: %v\nmodern: %v", legacyBytes, modernBytes)
	}
	for _, r := range h.calls {
		if r.Ref.Method != "revoked" && r.Ref.Method != "drifted" {
			t.Errorf("%+v went to the port", r.Ref)
		}
	}
}
