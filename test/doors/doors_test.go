package doors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/admin"
	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// calling writes a call of read_note.
func calling(review adminwire.Review, tx id.Tx, args string) string {
	return fmt.Sprintf(`{"v":1,"tx":%q,"resource":%q,"contract":%q,"method":"read_note","args":%s}`,
		tx, review.Resource.ID, review.Methods[0].Contract, args)
}

func looking(tx id.Tx) string { return fmt.Sprintf(`{"v":1,"tx":%q}`, tx) }

func decoded(t *testing.T, body string) rpcwire.Response {
	t.Helper()
	var resp rpcwire.Response
	if err := strictjson.Decode([]byte(body), strictjson.Limits{}, &resp); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return resp
}

// An app whose tokens were exchanged is the same app: each new token opens its own
// door and no other, no old one opens any, and what the app did and may do is still
// its own (pool page, section 2).
func TestRotatedTokensOpenTheSameDoors(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	app, old := h.app("reader", "read_note")
	tx := id.NewTx(time.Now())
	status, first := h.rpc("/rpc/v1", old["rpc"], calling(review, tx, `{"id":1}`))
	rotated := do(h, adminwire.AppsRotate, adminwire.RotateApp{App: "reader"})
	fresh := map[string]string{}
	for _, token := range rotated.Tokens {
		fresh[token.Audience] = token.Token
	}
	if status != http.StatusOK || rotated.ID != app || rotated.Name != "reader" || len(fresh) != 2 || fresh["rpc"] == old["rpc"] || fresh["mcp"] == old["mcp"] {
		t.Fatalf("%d, then %+v", status, rotated)
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	got := map[string]int{}
	for name, token := range map[string]string{"old rpc": old["rpc"], "old mcp": old["mcp"], "rpc": fresh["rpc"], "mcp": fresh["mcp"]} {
		got[name+" at rpc"], _ = h.rpc("/rpc/v1", token, calling(review, tx, `{"id":1}`))
		got[name+" at mcp"], _ = h.mcp("", "", token, ping)
	}
	want := map[string]int{"old rpc at rpc": 401, "old rpc at mcp": 401, "old mcp at rpc": 401, "old mcp at mcp": 401,
		"rpc at rpc": 200, "rpc at mcp": 401, "mcp at rpc": 401, "mcp at mcp": 200}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	_, again := h.rpc("/rpc/v1", fresh["rpc"], calling(review, tx, `{"id":1}`))
	a, b := decoded(t, first), decoded(t, again)
	if b.Replayed = false; cmp.Diff(a, b) != "" || len(h.up.calls()) != 1 {
		t.Errorf("%s\nbecame %s, after %v", first, again, h.up.calls())
	}
}

// A tx that the sender minted cannot be told from one of before a restore for a while;
// one that the host mints can, and is the call's own ever after.
func TestTheHostMintsATxThatIsLeftOut(t *testing.T) {
	h := newHouse(t)
	h.stop()
	copied := filepath.Join(t.TempDir(), "copy")
	_, err := store.Backup(t.Context(), h.data, copied, true, nil)
	h.must(err)
	_, err = store.Restore(t.Context(), h.data, store.RestoreOptions{From: copied, Replace: true})
	h.must(err)
	h.open()
	list := adminwire.Call{Tx: id.NewTx(time.Now()).String(), Resource: "@items", Method: "list"}
	if got := do(h, adminwire.CallMethod, list); got.Error == nil || got.Error.Code != "tx_expired" {
		t.Errorf("a tx of the sender's: %+v", got)
	}
	list.Tx = ""
	first, second := do(h, adminwire.CallMethod, list), do(h, adminwire.CallMethod, list)
	if first.Status != "ok" || second.Status != "ok" || first.Tx == second.Tx {
		t.Fatalf("%+v, then %+v", first, second)
	}
	list.Tx = first.Tx
	first.Replayed = true
	if d := cmp.Diff(first, do(h, adminwire.CallMethod, list)); d != "" {
		t.Error(d)
	}
}

// A recorded answer is the same bytes for ever, apart from "replayed" (proof, FP7).
func TestRecordedAnswersAreTheSameBytes(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note")
	h.up.set(func(u *upstream) {
		u.events = []invocation.Event{
			{Kind: invocation.Answered, Result: []byte(`{"content":[{"type":"text","text":"\u00e9\/ 1e2"}],"_meta":{"n":9007199254740993}}`)},
			{Kind: invocation.ToolError, Result: []byte(`{"content":[],"isError":true}`)},
			{Kind: invocation.TimedOut},
		}
	})
	for n := range 3 {
		tx := id.NewTx(time.Now())
		body := calling(review, tx, fmt.Sprintf(`{"id":%d}`, n))
		status, first := h.rpc(rpcwire.Call.Path, tokens["rpc"], body)
		if !strings.Contains(first, `"replayed":false`) {
			t.Fatalf("first answer %s", first)
		}
		want := strings.Replace(first, `"replayed":false`, `"replayed":true`, 1)
		for _, path := range []string{rpcwire.Call.Path, rpcwire.Lookup.Path} {
			again := body
			if path == rpcwire.Lookup.Path {
				again = looking(tx)
			}
			if n == 1 {
				h.restart()
			}
			gotStatus, got := h.rpc(path, tokens["rpc"], again)
			if diff := cmp.Diff(want, got); diff != "" || gotStatus != status {
				t.Errorf("%s: status %d, first %d; %s", path, gotStatus, status, diff)
			}
		}
	}
	if got := len(h.up.calls()); got != 3 {
		t.Errorf("the upstream was called %d times", got)
	}
}

// Many sends of one tx are one execution, whatever each of them is told (threats,
// A22; invariant I65).
func TestParallelSendsAreOneExecution(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note")
	body := calling(review, id.NewTx(time.Now()), `{"id":1}`)
	var wg sync.WaitGroup
	answers := make([]string, 50)
	for i := range answers {
		wg.Go(func() { _, answers[i] = h.rpc(rpcwire.Call.Path, tokens["rpc"], body) })
	}
	wg.Wait()
	firsts := 0
	for _, answer := range answers {
		switch resp := decoded(t, answer); {
		case resp.Status == rpcwire.OK && !resp.Replayed:
			firsts++
		case resp.Status == rpcwire.OK, resp.Error != nil && resp.Error.Code == string(fault.TxInProgress):
		default:
			t.Errorf("%s", answer)
		}
	}
	if got := h.up.calls(); len(got) != 1 || firsts != 1 {
		t.Errorf("%d executions, %d first answers", len(got), firsts)
	}
}

// While a call runs, a resend waits for nobody and a lookup says pending.
func TestRunningCallIsPending(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note")
	h.up.arrive, h.up.leave = make(chan struct{}), make(chan struct{})
	tx := id.NewTx(time.Now())
	body := calling(review, tx, `{"id":1}`)
	done := make(chan string)
	go func() {
		_, answer := h.rpc(rpcwire.Call.Path, tokens["rpc"], body)
		done <- answer
	}()
	<-h.up.arrive
	status, answer := h.rpc(rpcwire.Lookup.Path, tokens["rpc"], looking(tx))
	if resp := decoded(t, answer); status != 200 || resp.Status != rpcwire.Pending || resp.Effects != rpcwire.Uncertain || resp.Error != nil {
		t.Errorf("lookup: %d %s", status, answer)
	}
	status, answer = h.rpc(rpcwire.Call.Path, tokens["rpc"], body)
	if resp := decoded(t, answer); status != 409 || resp.Error.Code != string(fault.TxInProgress) || resp.Error.Retry != string(fault.SameTx) {
		t.Errorf("resend: %d %s", status, answer)
	}
	close(h.up.leave)
	if resp := decoded(t, <-done); resp.Status != rpcwire.OK {
		t.Errorf("the first send: %+v", resp)
	}
}

// A caller that hangs up changes nothing about the outcome, which its next
// question is told.
func TestOutcomeOutlivesItsCaller(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note")
	h.up.arrive, h.up.leave = make(chan struct{}), make(chan struct{})
	tx := id.NewTx(time.Now())
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.web.URL+rpcwire.Call.Path, strings.NewReader(calling(review, tx, `{"id":1}`)))
	h.must(err)
	r.Header.Set("Authorization", "Bearer "+tokens["rpc"])
	r.Header.Set("Content-Type", "application/json")
	done := make(chan error)
	go func() {
		_, err := h.web.Client().Do(r) //nolint:bodyclose // the caller hangs up, so there is no answer
		done <- err
	}()
	<-h.up.arrive
	hangUp()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("the caller got %v", err)
	}
	close(h.up.leave)
	h.web.Close() // waits until the door has done with the call
	h.restart()
	if _, answer := h.rpc(rpcwire.Lookup.Path, tokens["rpc"], looking(tx)); decoded(t, answer).Status != rpcwire.OK {
		t.Errorf("%s", answer)
	}
}

// What is not there and what another client may see give the same bytes
// (threats, A12; invariant I51).
func TestUnknownAndUnseenAreTheSameBytes(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("stranger")
	tx := id.NewTx(time.Now())
	seen := map[string]bool{}
	for _, body := range []string{
		calling(review, tx, `{"id":1}`),
		strings.Replace(calling(review, tx, `{"id":1}`), review.Resource.ID, id.New[id.Resource]().String(), 1),
		strings.Replace(calling(review, tx, `{"id":1}`), `"read_note"`, `"nothing"`, 1),
		strings.Replace(calling(review, tx, `{"id":1}`), review.Methods[0].Contract, "https://steward.invalid/contracts/none/v1", 1),
		strings.Replace(calling(review, tx, `{}`), review.Resource.ID, "@items", 1),
	} {
		status, answer := h.rpc(rpcwire.Call.Path, tokens["rpc"], body)
		seen[fmt.Sprint(status, answer)] = true
	}
	status, answer := h.rpc(rpcwire.Lookup.Path, tokens["rpc"], looking(tx))
	seen[fmt.Sprint(status, answer)] = true
	if len(seen) != 1 || len(h.up.calls()) != 0 {
		t.Errorf("%d different answers: %v", len(seen), seen)
	}
}

// The guard's refusals have the form of the door behind it.
func TestForeignPagesGetTheDoorsForm(t *testing.T) {
	h := newHouse(t)
	for name, change := range map[string]func(*http.Request){
		"421": func(r *http.Request) { r.Host = "evil.example" },
		"403": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
	} {
		r, err := http.NewRequest(http.MethodPost, h.web.URL+rpcwire.Call.Path, strings.NewReader("{}"))
		h.must(err)
		change(r)
		status, answer := h.exchange(h.web.Client(), r)
		if resp := decoded(t, answer); fmt.Sprint(status) != name || resp.Error.Code != string(fault.InvalidRequest) || resp.Effects != rpcwire.None {
			t.Errorf("want %s: %d %s", name, status, answer)
		}
	}
}

// state is everything that the owner can be shown.
func (h *house) state() string {
	h.t.Helper()
	var all []string
	for _, m := range []string{"apps.list", "resources.list", "grants.list", "journal.list"} {
		all = append(all, said(h.raw(m, "{}")))
	}
	return strings.Join(append(all, said(h.raw("confirm.list", `{"all":true}`)), said(h.raw("resources.show", `{"resource":"notes"}`))), "\n")
}

// Bad input at either door gets its row of the table and changes nothing.
func TestBadInputChangesNothing(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note")
	tx := id.NewTx(time.Now())
	before := h.state()
	good := calling(review, tx, `{"id":1}`)
	bad := []string{"", "{", "null", "[]", "{}", `"x"`, good + good, "\ufeff" + good, strings.Replace(good, `"v"`, `"V"`, 1),
		strings.Replace(good, `"v":1`, `"v":1,"v":1`, 1), strings.Replace(good, `"v":1`, `"v":1,"surprise":{}`, 1),
		strings.Replace(good, `{"id":1}`, strings.Repeat(`{"a":`, 40)+"1"+strings.Repeat("}", 40), 1),
		strings.Replace(good, `{"id":1}`, `{"id":1,"note":"`+strings.Repeat("n", 1<<16)+`"}`, 1),
		strings.Replace(good, `{"id":1}`, `{"id":-1}`, 1), strings.Replace(good, `{"id":1}`, `{"id":1.5}`, 1),
		strings.Replace(good, `{"id":1}`, `{"id":1,"note":"\ud800"}`, 1), strings.Replace(good, tx.String(), "tx_", 1)}
	for _, body := range bad {
		status, answer := h.rpc(rpcwire.Call.Path, tokens["rpc"], body)
		row, known := fault.Lookup(fault.Code(decoded(t, answer).Error.Code))
		if !known || status != row.HTTP || status < 400 || status > 499 {
			t.Errorf("rpc %.60q: %d %s", body, status, answer)
		}
		for _, m := range adminwire.Rows() {
			if body == "{}" {
				continue // a good request of some methods
			}
			status, answer := h.raw(m.Name, body)
			var failure adminwire.Failure
			if err := strictjson.Decode([]byte(answer), strictjson.Limits{}, &failure); err != nil {
				t.Fatalf("%v in %s", err, answer)
			}
			row, known := fault.Lookup(fault.Code(failure.Error.Code))
			if !known || status != row.HTTP || status < 400 || status > 499 {
				t.Errorf("%s %.60q: %d %s", m.Name, body, status, answer)
			}
		}
	}
	if diff := cmp.Diff(before, h.state()); diff != "" || len(h.up.calls()) != 0 {
		t.Errorf("%d calls, and %s", len(h.up.calls()), diff)
	}
	if status, answer := h.rpc(rpcwire.Call.Path, tokens["rpc"], good); status != 200 {
		t.Errorf("the tx was consumed: %d %s", status, answer)
	}
}

// Nothing that the host prints holds a token, an argument or a result (threats,
// A77).
func TestLogsTellNoSecret(t *testing.T) {
	const canary = "canary-77aa"
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note", "send_note")
	h.up.set(func(u *upstream) {
		u.events = []invocation.Event{{Kind: invocation.Answered, Result: []byte(`{"content":[{"type":"text","text":"` + canary + `"}]}`)},
			{Kind: invocation.Broken, Detail: canary}}
	})
	args := `{"id":1,"note":"` + canary + `"}`
	for range 2 {
		h.rpc(rpcwire.Call.Path, tokens["rpc"], calling(review, id.NewTx(time.Now()), args))
	}
	h.rpc(rpcwire.Call.Path, tokens["rpc"], calling(review, id.NewTx(time.Now()), `{"id":"`+canary+`"}`))
	h.rpc(rpcwire.Call.Path, "stw_at_"+canary, "{}")
	h.rpc(rpcwire.Call.Path+"?token="+canary, tokens["mcp"], canary)
	do(h, adminwire.CallMethod, adminwire.Call{Tx: id.NewTx(time.Now()).String(), Resource: "notes", Method: "send_note", Args: strictjson.Raw(`{"to":"` + canary + `"}`)})
	h.raw("import.plan", `{"servers":[{"name":"x","command":"x","args":["`+canary+`"],"env":{"KEY":"`+canary+`"}}]}`)
	h.up.set(func(u *upstream) { u.down = true })
	h.raw("import.add", `{"servers":[{"name":"y","command":"x","args":["`+canary+`"],"env":{"KEY":"`+canary+`"}}]}`)
	h.stop()
	log := h.log.String()
	if !strings.Contains(log, "msg=request") || !strings.Contains(log, "invocation=inv_") || !strings.Contains(log, "tx=tx_") {
		t.Errorf("the access log is not there:\n%s", log)
	}
	for _, secret := range []string{canary, tokens["rpc"], tokens["mcp"]} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %s:\n%s", secret, log)
		}
	}
}

func TestJournalComesInPages(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note")
	var want []string
	for n := range 5 {
		tx := id.NewTx(time.Now())
		h.rpc(rpcwire.Call.Path, tokens["rpc"], calling(review, tx, fmt.Sprintf(`{"id":%d}`, n)))
		want = append([]string{tx.String()}, want...)
	}
	var got []string
	ask := adminwire.ListJournal{App: "reader", State: string(invocation.Succeeded), Limit: 2}
	for pages := 0; ; pages++ {
		page := do(h, adminwire.JournalList, ask)
		for _, call := range page.Invocations {
			got = append(got, call.Tx)
		}
		if len(page.Invocations) > 2 || pages > 3 {
			t.Fatalf("page %d has %d rows", pages, len(page.Invocations))
		}
		if ask.Before = page.Next; ask.Before == "" {
			break
		}
	}
	slicesEqualAsSets(t, want, got)
	if status, answer := h.raw("journal.list", `{"before":"made up"}`); status != 400 {
		t.Errorf("a made-up cursor: %d %s", status, answer)
	}
}

// slicesEqualAsSets compares calls that may share a millisecond.
func slicesEqualAsSets(t *testing.T, want, got []string) {
	t.Helper()
	count := map[string]int{}
	for _, w := range want {
		count[w]++
	}
	for _, g := range got {
		count[g]--
	}
	for _, n := range count {
		if n != 0 {
			t.Fatalf("want %v, got %v", want, got)
		}
	}
}

func TestStatusCountsWhatWaits(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note", "send_note")
	h.up.set(func(u *upstream) { u.events = []invocation.Event{{Kind: invocation.TimedOut}} })
	h.rpc(rpcwire.Call.Path, tokens["rpc"], calling(review, id.NewTx(time.Now()), `{"id":1}`))
	send := strings.Replace(calling(review, id.NewTx(time.Now()), `{"to":"ann"}`), "read_note", "send_note", 1)
	h.rpc(rpcwire.Call.Path, tokens["rpc"], send)
	h.up.set(func(u *upstream) { u.tools[2].Raw = []byte(strings.Replace(writeTool, "Writes", "Deletes", 1)) })
	do(h, adminwire.ImportRefresh, adminwire.ServerRef{Server: "notes"})
	got := do(h, adminwire.HostStatus, adminwire.Empty{})
	want := adminwire.Status{Version: "test", Owner: "owner", Node: h.store.Node().String(), Epoch: h.store.Epoch(), StartedAt: got.StartedAt,
		Data: h.data, Listen: []string{h.web.URL}, Store: "ok",
		Count: adminwire.Count{Apps: 2, Resources: 5, Grants: 2, Confirmations: 1, Review: 1, Indeterminate: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v := do(h, adminwire.HostVersion, adminwire.Empty{}); v.Version != "test" || v.Wire != 1 || v.Go == "" {
		t.Errorf("%+v", v)
	}
}

// One server that is broken does not keep the others out.
func TestServersThatFailAreNamed(t *testing.T) {
	h := newHouse(t)
	entry := func(name, command string) adminwire.Server {
		return adminwire.Server{Name: name, Command: command, Args: []string{}, Env: map[string]string{}}
	}
	got := do(h, adminwire.ImportAdd, adminwire.Import{Servers: []adminwire.Server{entry("one", "x"), entry("two", ""), entry("thr\u202eee", "x"), entry("four", "x")}})
	var names, failed []string
	for _, r := range got.Reviews {
		names = append(names, r.Resource.Label)
	}
	for _, f := range got.Failed {
		failed = append(failed, f.Server+" "+f.Error.Code)
	}
	if diff := cmp.Diff([][]string{{"one", "four"}, {"two invalid_request", `thr\u{202e}ee invalid_request`}}, [][]string{names, failed}); diff != "" {
		t.Error(diff)
	}
}

// The tools' client tells a refusal, a host that is not there and one that is
// not safe apart.
func TestClientOfTheHost(t *testing.T) {
	h := newHouse(t)
	h.notes()
	ctx := context.Background()
	_, err := client.Call(ctx, h.client, adminwire.ReviewApprove, adminwire.Approve{Resource: "notes",
		Shown: "sha256:" + strings.Repeat("1", 64), Methods: []adminwire.Choice{{Method: "read_note"}}})
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != fault.Conflict || f.Details["fix"] == nil {
		t.Errorf("a refusal: %v", err)
	}
	h.stop()
	if _, err := client.Call(ctx, client.Dial(h.socket), adminwire.HostStatus, adminwire.Empty{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("no host: %v", err)
	}
	stale, err := net.Listen("unix", h.socket)
	h.must(err)
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	h.must(stale.Close())
	if _, err := client.Call(ctx, client.Dial(h.socket), adminwire.HostStatus, adminwire.Empty{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a socket without a host: %v", err)
	}
	h.must(os.Chmod(filepath.Dir(h.socket), 0o755))
	if _, err := client.Call(ctx, client.Dial(h.socket), adminwire.HostStatus, adminwire.Empty{}); !errors.Is(err, client.ErrUnsafe) {
		t.Errorf("a folder that others can enter: %v", err)
	}
	h.must(os.Chmod(filepath.Dir(h.socket), 0o700))
	h.must(os.Remove(h.socket))
	h.must(os.Symlink("/dev/null", h.socket))
	if _, err := client.Call(ctx, client.Dial(h.socket), adminwire.HostStatus, adminwire.Empty{}); !errors.Is(err, client.ErrUnsafe) {
		t.Errorf("a link in the socket's place: %v", err)
	}
}

// An answer that is cut short is no refusal and no success.
func TestClientOfAHostThatDies(t *testing.T) {
	folder, err := os.MkdirTemp("", "die")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for name, answer := range map[string]string{
		"no answer":        "",
		"half an answer":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"version\":",
		"no JSON":          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"another version":  "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"wire\":\"2\"}",
		"another failure":  "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nhi",
		"another redirect": "HTTP/1.1 307 Go\r\nLocation: http://localhost/\r\nContent-Length: 0\r\n\r\n",
	} {
		path := filepath.Join(folder, "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}()
		got, err := client.Call(context.Background(), client.Dial(path), adminwire.HostVersion, adminwire.Empty{})
		var f *fault.Fault
		if err == nil || errors.As(err, &f) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		<-served
		_ = l.Close()
	}
}

// The socket is where the host says, and a second host is refused while it lives.
func TestSecondHostIsRefused(t *testing.T) {
	h := newHouse(t)
	if l, err := admin.Listen(filepath.Dir(h.socket), nil); !errors.Is(err, admin.ErrBusy) {
		t.Errorf("Listen = %v, %v", l, err)
	}
	do(h, adminwire.HostVersion, adminwire.Empty{})
}

// Every attempt has exactly one row in the audit trail, whatever came of it
// (invariant I63; field faults, FF85).
func TestEveryAttemptHasOneAuditRow(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note", "send_note")
	_, strange := h.app("stranger")
	first := calling(review, id.NewTx(time.Now()), `{"id":1}`)
	fresh := func(args string) string { return calling(review, id.NewTx(time.Now()), args) }
	send := strings.Replace(fresh(`{"to":"ann"}`), "read_note", "send_note", 1)
	h.up.set(func(u *upstream) {
		u.events = []invocation.Event{{Kind: invocation.Answered, Result: []byte(`{"content":[]}`)}, {Kind: invocation.Rejected}, {Kind: invocation.Broken}}
	})
	attempts := []struct {
		name, token, body string
		status            int
	}{
		{"an answer", tokens["rpc"], first, 200},
		{"a replay", tokens["rpc"], first, 200},
		{"another request under its tx", tokens["rpc"], strings.Replace(first, `{"id":1}`, `{"id":2}`, 1), 422},
		{"a failure", tokens["rpc"], fresh(`{"id":3}`), 502},
		{"a doubt", tokens["rpc"], fresh(`{"id":4}`), 504},
		{"a call that is held back", tokens["rpc"], fresh(`{"id":4}`), 409},
		{"arguments that do not fit", tokens["rpc"], fresh(`{}`), 422},
		{"a tx that is too old", tokens["rpc"], calling(review, id.NewTx(time.Now().Add(-25*time.Hour)), `{"id":5}`), 410},
		{"a question", tokens["rpc"], send, 403},
		{"no grant at all", strange["rpc"], fresh(`{"id":6}`), 404},
		{"no such method", tokens["rpc"], strings.Replace(fresh(`{"id":7}`), "read_note", "nothing", 1), 403},
		{"a built-in without a grant", tokens["rpc"], strings.Replace(fresh(`{"id":8}`), review.Resource.ID, "@items", 1), 404},
	}
	before := do(h, adminwire.JournalVerify, adminwire.Empty{})
	for _, a := range attempts {
		if status, answer := h.rpc(rpcwire.Call.Path, a.token, a.body); status != a.status {
			t.Errorf("%s: status %d: %s", a.name, status, answer)
		}
	}
	h.restart() // which writes what was not waited for, and a row that starts the next epoch
	after := do(h, adminwire.JournalVerify, adminwire.Empty{})
	if want := before.Rows + int64(len(attempts)) + 1; after.Rows != want || !after.Holds {
		t.Errorf("%d rows, want %d; holds %v", after.Rows, want, after.Holds)
	}
}
