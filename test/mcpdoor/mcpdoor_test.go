package mcpdoor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/id"
)

// A client is told of each grant, revocation and drift at once, sees no more and
// no less than it may call, and is cut off when the owner disconnects it (field
// faults, FF37, FF82, FF83; threats, A55).
func TestFromGrantToDisconnection(t *testing.T) {
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			r := newRig(t)
			a, other := r.app("first"), r.app("second")
			u := r.upstream("notes", "search", "add")
			client, told := a.connect(revision)
			_, otherTold := other.connect(revision)
			session := a.session(revision)

			tools := a.grant(u.resource, grant.Never, "search", "add")
			await(t, told, "the news of a grant")
			want := []string{tools["add"], tools["search"]}
			slices.Sort(want)
			if diff := cmp.Diff(want, a.listed(revision, session)); diff != "" {
				t.Error(diff)
			}
			got, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tools["search"], Arguments: map[string]any{"n": 1}})
			if err != nil || got.IsError || len(u.seen()) != 1 {
				t.Fatalf("%+v, %v, %v", got, err, u.seen())
			}

			_, err = r.store.RevokeAll(t.Context(), r.owner, a.client, u.resource)
			r.must(err)
			await(t, told, "the news of a revocation")
			a.grant(u.resource, grant.Never, "add")
			await(t, told, "the news of a second grant")
			if diff := cmp.Diff([]string{tools["add"]}, a.listed(revision, session)); diff != "" {
				t.Error(diff)
			}
			unknown := a.call(revision, session, "nothing", "{}", "").Raw
			if got := a.call(revision, session, tools["search"], "{}", ""); got.Raw != unknown {
				t.Errorf("revoked: %s, unknown: %s", got.Raw, unknown)
			}

			u.list("2", "search", "add")
			await(t, told, "the news of a drift")
			if got := a.listed(revision, session); len(got) != 0 {
				t.Errorf("drifted methods are listed: %v", got)
			}
			if got := a.call(revision, session, tools["add"], "{}", ""); got.Raw != unknown {
				t.Errorf("drifted: %s, unknown: %s", got.Raw, unknown)
			}
			if len(u.seen()) != 1 {
				t.Errorf("the upstream was called: %v", u.seen())
			}

			if len(otherTold) != 0 {
				t.Errorf("another app was told %d times", len(otherTold))
			}
			mine, theirs := a.stream(revision, a.session(revision)), other.stream(revision, other.session(revision))
			r.must(r.store.Disconnect(t.Context(), r.owner, a.client))
			resp := a.do(a.asking(revision, session, "tools/list", "", "", ""))
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("after the disconnection: %d", resp.StatusCode)
			}
			await(t, mine, "the end of the stream")
			select {
			case <-theirs:
				t.Error("another app's stream ended")
			default:
			}
		})
	}
}

// Every name that is not the caller's gives the same bytes and reaches no
// upstream (field faults, FF81).
func TestGuessedNamesReachNobody(t *testing.T) {
	r := newRig(t)
	a, other := r.app("first"), r.app("second")
	u := r.upstream("notes", "search", "add")
	theirs := other.grant(u.resource, grant.Never, "search", "add")
	mine := a.grant(u.resource, grant.Never, "search")
	granted := func() string {
		rows, err := r.store.Grants(t.Context(), r.owner, a.client)
		r.must(err)
		return rows[0].Row.ID.String()
	}
	for _, revision := range eras {
		session := a.session(revision)
		want := a.call(revision, session, "nothing_0000000000", "{}", "")
		if want.Error.Code != -32602 {
			t.Fatalf("%s", want.Raw)
		}
		for _, name := range []string{"add", "search", theirs["add"], strings.ToUpper(mine["search"]), mine["search"] + "x", granted(), u.resource.String(), "changed"} {
			if got := a.call(revision, session, name, "{}", `"io.github.stewardhost/tx":"`+id.NewTx(time.Now()).String()+`"`); got.Raw != want.Raw || got.Status != want.Status {
				t.Errorf("%s, %q: %d %s", revision, name, got.Status, got.Raw)
			}
		}
	}
	if calls := u.seen(); len(calls) != 0 {
		t.Errorf("the upstream was called: %v", calls)
	}
}

// Numbers come through as they were written or are refused, never rounded; absent
// arguments are the empty object (field faults, FF15, FF16, FF17).
func TestArgumentsAndResultsKeepTheirBytes(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	u := r.upstream("notes", "echo")
	tool := a.grant(u.resource, grant.Never, "echo")["echo"]
	const exact = `{"n":0.1000000000000000055,"s":"<é\u2028😀>"}`
	// Every kind of content that there is, with all that it may carry.
	const content = `[{"type":"text","text":"<b>\u00e9","_meta":{"n":9007199254740993,"f":1e400},"annotations":{"audience":["user"],"priority":0.70}},` +
		`{"type":"image","data":"iVBORw0K","mimeType":"image/png"},{"mimeType":"audio/wav","type":"audio","data":"UklGRg=="},` +
		`{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"\ud83d\ude00"}},` +
		`{"type":"resource","resource":{"uri":"file:///b","blob":"AAE="},"annotations":{"lastModified":"2025-01-12T15:00:58Z"}},` +
		`{"type":"resource_link","uri":"file:///c","name":"c","size":1e3,"icons":[{"src":"https://x.invalid/i.png"}]},{"type":"of a later revision","x":[]}]`
	for _, revision := range eras {
		session := a.session(revision)
		before := len(u.seen())
		for args, pointer := range map[string]string{`{"n":9007199254740993}`: "/n", `{"n":1e400}`: "/n", `{"n":1.5}`: "/n", `{"m":1}`: "/m", `null`: "", `[]`: "", `"a"`: ""} {
			got := a.call(revision, session, tool, args, "")
			at, _ := got.Error.Data.Details["pointer"].(string)
			if got.Error.Code != -32602 || at != pointer {
				t.Errorf("%s, %s: %s", revision, args, got.Raw)
			}
		}
		if calls := u.seen(); len(calls) != before {
			t.Errorf("the upstream was called: %v", calls[before:])
		}
		u.say(nil)
		a.call(revision, session, tool, "", "")
		a.call(revision, session, tool, `{ "n" : 9007199254740991 }`, "")
		if diff := cmp.Diff([]string{"echo {}", `echo { "n" : 9007199254740991 }`}, u.seen()[before:]); diff != "" {
			t.Error(diff)
		}
		u.say(func(context.Context, string, []byte) invocation.Event {
			return answered(`{"content":` + content + `,"structuredContent":` + exact + `,"_meta":{"theirs":1}}`)
		})
		got := a.call(revision, session, tool, "{}", "")
		if string(got.Result.Structured) != exact || !strings.Contains(got.Raw, `"content":`+content) || strings.Contains(got.Raw, "theirs") {
			t.Errorf("%s", got.Raw)
		}
	}
}

// The same tx is executed once and answers the same; another request under it is
// refused.
func TestATxIsExecutedOnce(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	u := r.upstream("notes", "add")
	tool := a.grant(u.resource, grant.Never, "add")["add"]
	for _, revision := range eras {
		session := a.session(revision)
		before := len(u.seen())
		own := `"io.github.stewardhost/tx":"` + id.NewTx(time.Now()).String() + `"`
		first, again := a.call(revision, session, tool, `{"n":1}`, own), a.call(revision, session, tool, ` { "n" : 1 } `, own)
		if first.Result.IsError || first.Result.Meta.Replayed || !again.Result.Meta.Replayed || again.Result.Meta.Tx != first.Result.Meta.Tx ||
			string(again.Result.Structured) != string(first.Result.Structured) || len(u.seen()) != before+1 {
			t.Errorf("first %s\nagain %s", first.Raw, again.Raw)
		}
		if got := a.call(revision, session, tool, `{"n":2}`, own); got.Error.Code != -32602 || got.Error.Data.Code != "tx_mismatch" {
			t.Errorf("%s", got.Raw)
		}
	}
}

// A doubt is told in plain words, an equal call is held back, and the owner's
// statement ends it (proof, "What indeterminate must look like").
func TestADoubtIsTold(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	u := r.upstream("notes", "add")
	tool := a.grant(u.resource, grant.Never, "add")["add"]
	for i, revision := range eras {
		session, args := a.session(revision), fmt.Sprintf(`{"n":%d}`, i)
		before := len(u.seen())
		u.say(func(context.Context, string, []byte) invocation.Event {
			return invocation.Event{Kind: invocation.TimedOut}
		})
		doubt := a.call(revision, session, tool, args, "")
		m := doubt.Result.Meta
		if !doubt.Result.IsError || m.Error.Code != "indeterminate" || m.Error.Retry != "after_reconcile" || m.Effects != "uncertain" ||
			!strings.Contains(doubt.Result.Content[0].Text, "may have") || !strings.Contains(doubt.Result.Content[0].Text, "Do not repeat") {
			t.Errorf("%s", doubt.Raw)
		}
		u.say(nil)
		held := a.call(revision, session, tool, args, "")
		if !held.Result.IsError || held.Result.Meta.Error.Code != "conflict" || held.Result.Meta.Error.Details["held_by"] != m.Tx || len(u.seen()) != before+1 {
			t.Errorf("%s", held.Raw)
		}
		if got := a.call(revision, session, tool, args, `"io.github.stewardhost/ack":"`+m.Tx+`"`); got.Result.IsError || len(u.seen()) != before+2 {
			t.Errorf("with an ack: %s", got.Raw)
		}
		if got := a.call(revision, session, tool, args, `"io.github.stewardhost/tx":"`+m.Tx+`"`); got.Result.Meta.Error.Code != "indeterminate" || len(u.seen()) != before+2 {
			t.Errorf("the same tx: %s", got.Raw)
		}
	}
}

// A failure of any kind leaves the session usable and carries its code (field
// faults, FF18); a tool's own error keeps its words.
func TestFailuresKeepTheSession(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	u := r.upstream("notes", "add")
	tool := a.grant(u.resource, grant.Never, "add")["add"]
	n := 0
	for _, revision := range eras {
		session := a.session(revision)
		for event, code := range map[invocation.EventKind]string{
			invocation.Unreached: "unavailable", invocation.Rejected: "upstream_failed", invocation.Unanswerable: "upstream_failed",
			invocation.Broken: "indeterminate", invocation.TooLarge: "indeterminate", invocation.InvalidAnswer: "indeterminate", invocation.ToolError: "upstream_failed",
		} {
			u.say(func(context.Context, string, []byte) invocation.Event {
				e := invocation.Event{Kind: event}
				if event == invocation.ToolError {
					e.Result = []byte(`{"content":[{"type":"text","text":"no such note"}],"isError":true}`)
				}
				return e
			})
			n++
			got := a.call(revision, session, tool, fmt.Sprintf(`{"n":%d}`, n), "")
			if got.Status != http.StatusOK || !got.Result.IsError || got.Result.Meta.Error.Code != code {
				t.Errorf("%s: %d %s", event, got.Status, got.Raw)
			}
			if event == invocation.ToolError && got.Result.Content[0].Text != "no such note" {
				t.Errorf("%s", got.Raw)
			}
			u.say(nil)
			n++
			if got := a.call(revision, session, tool, fmt.Sprintf(`{"n":%d}`, n), ""); got.Result.IsError {
				t.Errorf("after %s: %s", event, got.Raw)
			}
		}
	}
}

// What needs the owner's yes says so, with the command; after it the equal call
// goes through once.
func TestAConfirmationIsAskedFor(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	u := r.upstream("mail", "send")
	tool := a.grant(u.resource, grant.Always, "send")["send"]
	for i, revision := range eras {
		session, args := a.session(revision), fmt.Sprintf(`{"n":%d}`, i)
		before := len(u.seen())
		asked := a.call(revision, session, tool, args, "")
		text := asked.Result.Content[0].Text
		which, _ := asked.Result.Meta.Error.Details["confirmation"].(string)
		if !asked.Result.IsError || asked.Result.Meta.Error.Code != "confirmation_required" || !strings.Contains(text, "steward confirm approve "+which) || len(u.seen()) != before {
			t.Fatalf("%s", asked.Raw)
		}
		confirmation, err := id.Parse[id.Confirmation](which)
		r.must(err)
		_, err = r.store.DecideConfirmation(t.Context(), r.owner, confirmation, true)
		r.must(err)
		if got := a.call(revision, session, tool, args, ""); got.Result.IsError || len(u.seen()) != before+1 {
			t.Errorf("confirmed: %s", got.Raw)
		}
		again := a.call(revision, session, tool, args, "")
		if !again.Result.IsError || len(u.seen()) != before+1 {
			t.Fatalf("a second time: %s", again.Raw)
		}
		which, _ = again.Result.Meta.Error.Details["confirmation"].(string)
		confirmation, err = id.Parse[id.Confirmation](which)
		r.must(err)
		_, err = r.store.DecideConfirmation(t.Context(), r.owner, confirmation, false)
		r.must(err)
		no := a.call(revision, session, tool, args, "")
		if text := no.Result.Content[0].Text; !no.Result.IsError || !strings.Contains(text, "said no") || strings.Contains(text, "Ask the owner") || len(u.seen()) != before+1 {
			t.Errorf("after a no: %s", no.Raw)
		}
	}
}

// Lists come from the store, whatever the upstreams do.
func TestListsNeedNoUpstream(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	u := r.upstream("notes", "add")
	tool := a.grant(u.resource, grant.Never, "add")["add"]
	r.mu.Lock()
	clear(r.upstreams)
	r.mu.Unlock()
	for _, revision := range eras {
		session := a.session(revision)
		if diff := cmp.Diff([]string{tool}, a.listed(revision, session)); diff != "" {
			t.Error(diff)
		}
		got := a.call(revision, session, tool, "{}", "")
		if !got.Result.IsError || got.Result.Meta.Error.Code != "unavailable" || got.Result.Meta.Effects != "not_dispatched" {
			t.Errorf("%s", got.Raw)
		}
	}
}

// A client that gives up cancels what it started, and the journal says so.
func TestACancelledCallIsSettled(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	u := r.upstream("notes", "slow")
	tool := a.grant(u.resource, grant.Never, "slow")["slow"]
	started := make(chan struct{}, 1)
	u.say(func(ctx context.Context, _ string, _ []byte) invocation.Event {
		started <- struct{}{}
		<-ctx.Done()
		return invocation.Event{Kind: invocation.Cancelled}
	})
	for i, revision := range eras {
		session := a.session(revision)
		tx := id.NewTx(time.Now()).String()
		ctx, giveUp := context.WithCancel(t.Context())
		req := a.asking(revision, session, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{"n":%d}`, tool, i), `"io.github.stewardhost/tx":"`+tx+`"`).WithContext(ctx)
		answer := make(chan string, 1)
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				answer <- err.Error()
				return
			}
			defer resp.Body.Close()
			raw, _ := io.ReadAll(resp.Body)
			answer <- string(raw)
		}()
		await(t, started, "the call")
		if revision == modern {
			giveUp()
		} else {
			resp := a.do(a.request(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
				map[string]string{"Mcp-Protocol-Version": revision, "Mcp-Session-Id": session}))
			resp.Body.Close()
		}
		got := await(t, answer, "the end of the call")
		if revision == legacy && !strings.Contains(got, `"cancelled"`) {
			t.Errorf("%s", got)
		}
		giveUp()
		settled(t, r, tx, invocation.Indeterminate)
	}
}

// settled waits for a row's outcome by asking for the same tx, which is answered
// only once there is one.
func settled(t *testing.T, r *rig, tx string, want invocation.State) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		row, err := r.store.Invocation(t.Context(), r.owner, tx)
		if err == nil && row.Row.State == want {
			return
		}
	}
	t.Errorf("the row of %s is not %s", tx, want)
}

// Items of the host itself are tools, with their precondition as an argument.
func TestItemsAreTools(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	items, err := r.store.Resource(t.Context(), r.owner, resource.AliasItems)
	r.must(err)
	tools := a.grant(items.Row.ID, grant.Never, "get", "put", "delete")
	for i, revision := range eras {
		session := a.session(revision)
		key := fmt.Sprintf(`"key":"k%d"`, i)
		if got := a.call(revision, session, tools["get"], `{`+key+`}`, ""); !got.Result.IsError || got.Result.Meta.Error.Code != "not_found" {
			t.Errorf("nothing there: %s", got.Raw)
		}
		put := a.call(revision, session, tools["put"], `{`+key+`,"value":"<a>","if":{"absent":true}}`, "")
		var stored struct{ Version string }
		if err := json.Unmarshal(put.Result.Structured, &stored); err != nil || put.Result.IsError || stored.Version == "" {
			t.Fatalf("put: %s", put.Raw)
		}
		if got := a.call(revision, session, tools["put"], `{`+key+`,"value":"b","if":{"absent":true}}`, ""); got.Result.Meta.Error.Code != "precondition_failed" {
			t.Errorf("put over: %s", got.Raw)
		}
		if got := a.call(revision, session, tools["put"], `{`+key+`,"value":"b"}`, ""); got.Result.Meta.Error.Code != "precondition_required" {
			t.Errorf("put without: %s", got.Raw)
		}
		got := a.call(revision, session, tools["get"], `{`+key+`}`, "")
		if len(got.Result.Content) != 1 || got.Result.Content[0].Text != string(got.Result.Structured) || !strings.Contains(string(got.Result.Structured), `"value":"<a>"`) {
			t.Errorf("get: %s", got.Raw)
		}
		if got := a.call(revision, session, tools["delete"], `{`+key+`,"if":{"version":"`+stored.Version+`"}}`, ""); got.Result.IsError {
			t.Errorf("delete: %s", got.Raw)
		}
	}
}

// Two servers with a tool of one name are two tools, each reaching its own, and
// the first keeps its name when the second comes (field faults, FF1, FF2).
func TestToolsOfOneNameAreTwo(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	one := r.upstream("one", "search")
	first := a.grant(one.resource, grant.Never, "search")["search"]
	client, _ := a.connect(legacy)
	two := r.upstream("two", "search")
	second := a.grant(two.resource, grant.Never, "search")["search"]
	if first == second || a.tools(one.resource)["search"] != first {
		t.Fatalf("names %q and %q", first, second)
	}
	for _, tool := range []string{first, second, second} {
		if got, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool}); err != nil || got.IsError {
			t.Fatal(got, err)
		}
	}
	if len(one.seen()) != 1 || len(two.seen()) != 2 {
		t.Errorf("%v and %v", one.seen(), two.seen())
	}
}

// A large result is whole (field faults, FF20).
func TestALargeResultIsWhole(t *testing.T) {
	r := newRig(t)
	a := r.app("first")
	u := r.upstream("notes", "read")
	tool := a.grant(u.resource, grant.Never, "read")["read"]
	long := strings.Repeat("0123456789", 10<<10)
	u.say(func(context.Context, string, []byte) invocation.Event {
		return answered(`{"content":[{"type":"text","text":"` + long + `"}],"structuredContent":{}}`)
	})
	for _, revision := range eras {
		if got := a.call(revision, a.session(revision), tool, "{}", ""); got.Result.Content[0].Text != long {
			t.Errorf("%d bytes of %d", len(got.Result.Content[0].Text), len(long))
		}
	}
}
