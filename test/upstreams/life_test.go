package upstreams_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

const slowTool = `{"name":"slow","inputSchema":{"type":"object","properties":{"ms":{"type":"integer","minimum":0,"maximum":30000},"n":{"type":"integer","minimum":0,"maximum":100000}},"additionalProperties":false}}`

// One of five servers is down: the host is up all the same, four work, the fifth is
// said to have failed and why, and comes back by itself once it can (field faults,
// FF28, FF29, FF30).
func TestOneOfFiveIsDown(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app := h.AddApp("app")
	all := map[string]*behind{}
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		all[name] = server(t, closed("ping", "Pings."))
		all[name].use(h, app, name, "ping")
	}
	h.Stop()
	all["five"].write("down", "9")
	began := time.Now()
	h.Restart()
	t.Logf("up after %v", time.Since(began))
	began = time.Now()
	if list, err := app.Modern("tools/list", "", map[string]any{}); err != nil || strings.Count(list.Raw, `"inputSchema"`) != 5 {
		t.Errorf("%v: the list is %s", err, list.Raw)
	}
	t.Logf("listed after %v", time.Since(began))
	for name, up := range all {
		got := up.send(app, "ping", "{}")
		if name != "five" && code(got) != "ok" {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "five" && (code(got) != "unavailable" || got.Effects != rpcwire.NotDispatched || !strings.Contains(got.Error.Message, "exit code 9")) {
			t.Errorf("%s: %+v %+v", name, got, got.Error)
		}
	}
	connection := func() adminwire.Upstream { return *h.Review("five").Resource.Upstream }
	if now := connection(); now.Connection != "failed" || !strings.Contains(now.Trouble, "exit code 9: it is down") {
		t.Errorf("the owner sees %+v", now)
	}
	var status adminwire.Status
	if h.JSON(&status, "status"); status.Count.Down != 1 || !strings.Contains(h.Do("status"), "1 upstream down") {
		t.Errorf("status tells of %d", status.Count.Down)
	}

	all["five"].remove("down")
	hosttest.WaitFor(t, "it to come back by itself", func() error {
		if now := connection(); now.Connection != "ready" {
			return errors.New(now.Connection)
		}
		return nil
	})
	if got := all["five"].send(app, "ping", "{}"); code(got) != "ok" {
		t.Errorf("when it is back: %+v", got)
	}
	for name, up := range all {
		if n := up.times("tools/call ping"); n != 1 {
			t.Errorf("%s was called %d times", name, n)
		}
	}
}

// A server that takes long to start holds up neither a client's start nor the tools of
// another, and its own caller gets its answer (field faults, FF27, FF29).
func TestASlowServerSlowsNobodyElse(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app, slow, quick := h.AddApp("app"), server(t, closed("ping", "Pings.")), server(t, closed("ping", "Pings."))
	slow.use(h, app, "slow", "ping")
	quick.use(h, app, "quick", "ping")
	h.Stop()
	slow.write("sleepy", "")
	h.Restart()
	starts := slow.times("started")
	answered := make(chan rpcwire.Response, 1)
	go func() {
		got, err := app.Send(slow.request("ping", "{}"))
		if err != nil {
			t.Error(err)
		}
		answered <- got
	}()
	hosttest.WaitFor(t, "the slow server to begin", func() error { return atLeast(slow.times("started"), starts+1) })
	began := time.Now()
	session := app.Session(nil)
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 {
		t.Errorf("%v, %v", err, list)
	}
	for range 20 {
		if got := quick.send(app, "ping", "{}"); code(got) != "ok" {
			t.Errorf("beside a slow start: %+v", got)
		}
	}
	t.Logf("a session, its list and 20 calls took %v", time.Since(began))
	select {
	case got := <-answered:
		t.Errorf("the slow server answered: %+v", got)
	default:
	}
	slow.remove("sleepy")
	if got := <-answered; code(got) != "ok" {
		t.Errorf("the slow one: %+v", got)
	}
	if n := slow.times("started"); n != starts+1 {
		t.Errorf("%d starts", n-starts)
	}
}

// A server that ends in the middle of a call: the call is in doubt at once, the next
// one says what happened to the server, and it is started again.
func TestAServerThatExits(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app, up := h.AddApp("app"), server(t, closed("exit", "Exits."), closed("ping", "Pings."))
	up.use(h, app, "notes", "exit", "ping")
	if got := up.send(app, "exit", "{}"); code(got) != "indeterminate" || got.Effects != rpcwire.Uncertain {
		t.Errorf("the call that ended it: %+v", got)
	}
	hosttest.WaitFor(t, "it to be back", func() error {
		got := up.send(app, "ping", "{}")
		if code(got) == "unavailable" && (!strings.Contains(got.Error.Message, "exit code 7") || strings.Contains(got.Error.Message, "going away")) {
			t.Errorf("while it is down: %s", got.Error.Message)
		}
		if code(got) != "ok" {
			return errors.New(code(got))
		}
		return nil
	})
	if n := up.times("tools/call exit"); n != 1 {
		t.Errorf("it was called %d times", n)
	}
}

// The client's cancellation reaches the server at once, does not hold up another
// call, and what the server still answers is recorded and can be read by the same tx,
// over either door and in either era (field faults, FF44, FF48).
func TestACancelledCall(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app, up := h.AddApp("app"), server(t, closed("hold", "Holds."), closed("release", "Releases."), closed("ping", "Pings."))
	tools := up.use(h, app, "notes", "hold", "release", "ping")
	session := app.Session(nil)
	for i, cancel := range []func(ctx context.Context, tx string) error{
		func(ctx context.Context, tx string) error {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"io.github.stewardhost/tx": tx}, Name: tools["hold"], Arguments: map[string]any{}})
			return err
		},
		func(ctx context.Context, tx string) error { return modern(ctx, h, app, tools["hold"], tx) },
	} {
		tx := up.request("hold", "{}").Tx
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- cancel(ctx, tx) }()
		hosttest.WaitFor(t, "the call to arrive", func() error { return atLeast(up.times("tools/call hold"), i+1) })
		began := time.Now()
		stop()
		hosttest.WaitFor(t, "the server to hear of the end", func() error { return atLeast(up.times("notifications/cancelled"), i+1) })
		t.Logf("the server heard after %v", time.Since(began))
		if err := <-ended; err == nil {
			t.Error("the cancelled call was answered")
		}
		if got := up.send(app, "ping", "{}"); code(got) != "ok" {
			t.Errorf("beside it: %+v", got)
		}
		recorded := func(want string) {
			t.Helper()
			hosttest.WaitFor(t, "the call to be "+want, func() error {
				var row adminwire.Invocation
				if h.JSON(&row, "journal", "show", tx); row.State != want {
					return errors.New(row.State)
				}
				return nil
			})
		}
		recorded("indeterminate")
		if got := up.send(app, "release", "{}"); code(got) != "ok" {
			t.Errorf("the late answer's own call: %+v", got)
		}
		recorded("reconciled_succeeded")
		again := up.request("hold", "{}")
		again.Tx = tx
		got, err := app.Send(again)
		if err != nil || code(got) != "ok" || !got.Replayed || !strings.Contains(string(got.Result), `"late"`) {
			t.Errorf("the same tx: %v %+v", err, got)
		}
	}
	if n := up.times("tools/call hold"); n != 2 {
		t.Errorf("%d calls went out", n)
	}
}

func atLeast(n, want int) error {
	if n < want {
		return fmt.Errorf("%d of %d", n, want)
	}
	return nil
}

// modern calls a tool in the stateless era, where closing the response cancels.
func modern(ctx context.Context, h *hosttest.Host, app *hosttest.App, tool, tx string) error {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"io.github.stewardhost/tx":%q,`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, tx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.BaseURL+"/mcp", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + app.MCP,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// A server that stops reading holds up nobody else, and its own callers not beyond
// their deadline; each call obeys the limit that its caller gave (field faults, FF45,
// FF47, FF24).
func TestAServerThatStopsReading(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app := h.AddApp("app")
	big := `{"name":"deaf","inputSchema":{"type":"object","properties":{"s":{"type":"string","maxLength":60000}},"additionalProperties":false}}`
	deaf, other := server(t, big), server(t, slowTool)
	deaf.use(h, app, "deaf", "deaf")
	other.use(h, app, "other", "slow")
	timed := func(b *behind, method, args string, limit int64) (rpcwire.Response, time.Duration) {
		r := b.request(method, args)
		if limit > 0 {
			r.DeadlineMS = &limit
		}
		began := time.Now()
		got, err := app.Send(r)
		if err != nil {
			t.Error(err)
		}
		return got, time.Since(began)
	}
	if got, _ := timed(deaf, "deaf", "{}", 300); code(got) != "indeterminate" {
		t.Errorf("the call that made it deaf: %+v", got)
	}
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			got, took := timed(deaf, "deaf", fmt.Sprintf(`{"s":"%d%s"}`, i, strings.Repeat("x", 59000)), 1000)
			if code(got) == "ok" || took > 16*time.Second {
				t.Errorf("a call to a deaf server after %v: %+v", took, got)
			}
		})
	}
	got, took := timed(other, "slow", `{"ms":1,"n":5}`, 0)
	if code(got) != "ok" {
		t.Errorf("another server: %+v", got)
	}
	t.Logf("another server answers after %v", took)
	all.Wait()

	// Two limits at one upstream: one is over before the answer, one is not.
	all.Go(func() {
		if got, took := timed(other, "slow", `{"ms":9000,"n":1}`, 500); code(got) != "indeterminate" || took > 8*time.Second {
			t.Errorf("half a second: %v, %+v", took, got)
		}
	})
	all.Go(func() {
		if got, _ := timed(other, "slow", `{"ms":1500,"n":2}`, 20_000); code(got) != "ok" {
			t.Errorf("twenty seconds: %+v", got)
		}
	})
	all.Wait()
}

// Each method obeys the limit that the owner gave it, and keeps it when the upstream
// changes its words; a caller can ask for less and not for more (field faults, FF47).
func TestEachMethodHasItsLimit(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app, up := h.AddApp("app"), server(t, slowTool, strings.Replace(slowTool, "slow", "slower", 1))
	up.review = h.Import(h.Config(map[string]hosttest.Server{"notes": up.entry()}))[0]
	h.Do("review", "--approve", "notes", "--methods", "slow,slower", "--effects", "slow=read,slower=read", "--deadline", "slow=400ms,slower=20s")
	h.Do("grants", "add", app.Name, "notes", "slow", "slower")
	limits := map[string]int64{}
	for _, m := range h.Review("notes").Methods {
		limits[m.Method] = m.DeadlineMS
	}
	if diff := cmp.Diff(map[string]int64{"slow": 400, "slower": 20_000}, limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	try := func(method string, limit int64) string {
		r := up.request(method, fmt.Sprintf(`{"ms":1800,"n":%d}`, len(up.heard())%100_000)) // no two are equal
		if limit > 0 {
			r.DeadlineMS = &limit
		}
		got, err := app.Send(r)
		if err != nil {
			t.Error(err)
		}
		return code(got)
	}
	for _, c := range []struct {
		method string
		limit  int64
		want   string
	}{{"slow", 0, "indeterminate"}, {"slower", 0, "ok"}, {"slow", 30_000, "indeterminate"}, {"slower", 300, "indeterminate"}} {
		if got := try(c.method, c.limit); got != c.want {
			t.Errorf("%s, given %d ms: %s", c.method, c.limit, got)
		}
	}
	for _, typed := range []string{"slow=31s", "slow=never", "other=1s"} {
		if _, exit := h.CLI("review", "--approve", "notes", "--methods", "slow", "--deadline", typed); exit == 0 {
			t.Errorf("%s was taken", typed)
		}
	}
	if text := h.Do("review", "notes"); !strings.Contains(text, "400ms a call") {
		t.Errorf("the owner sees %s", text)
	}
}

// Two entries for one command are two processes, with state of their own; apps that
// share an entry share what its one process remembers, as the owner set it up (field
// faults, FF32, FF67).
func TestStateBelongsToAnEntry(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	ann, bob := h.AddApp("ann"), h.AddApp("bob")
	one := server(t, closed("count", "Counts."))
	two := &behind{t: t, folder: one.folder}
	one.use(h, ann, "counter", "count")
	h.Do("grants", "add", "bob", "counter", "count")
	two.use(h, bob, "counter of bob", "count")
	count := func(b *behind, app *hosttest.App) string {
		got := b.send(app, "count", "{}")
		var result struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(got.Result, &result); err != nil || len(result.Content) != 1 {
			t.Fatalf("%v: %+v", err, got)
		}
		return result.Content[0].Text
	}
	got := []string{count(one, ann), count(one, bob), count(two, bob), count(one, ann), count(two, bob)}
	if diff := cmp.Diff([]string{"1", "2", "1", "3", "2"}, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// Many clients with the same ids, and answers in any order: each gets its own (field
// faults, FF68).
func TestEqualIDsNeverMeet(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	up := server(t, slowTool)
	const clients, calls = 8, 8
	var all sync.WaitGroup
	apps := make([]*hosttest.App, clients)
	tools := make([]string, clients)
	for i := range apps {
		apps[i] = h.AddApp(fmt.Sprint("app-", i))
		if i == 0 {
			tools[i] = up.use(h, apps[i], "notes", "slow")["slow"]
		} else {
			tools[i] = apps[i].Grant("notes", "slow")["slow"]
		}
	}
	for i, app := range apps {
		session := app.Session(nil) // ids begin at 1 in each
		all.Go(func() {
			for j := range calls {
				nonce := i*calls + j
				got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tools[i], Arguments: map[string]any{"ms": nonce * 37 % 60, "n": nonce}})
				if err != nil {
					t.Error(err)
					return
				}
				if text, ok := got.Content[0].(*mcp.TextContent); !ok || text.Text != fmt.Sprint("nonce ", nonce) {
					raw, _ := json.Marshal(got)
					t.Errorf("%d got %s", nonce, raw)
				}
			}
		})
	}
	all.Wait()
}

// Progress of a real server reaches the caller who asked, in both eras.
func TestProgressReachesItsCaller(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app, up := h.AddApp("app"), server(t, slowTool)
	tool := up.use(h, app, "notes", "slow")["slow"]
	told := make(chan string, 100)
	session := app.Session(&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		told <- fmt.Sprint(r.Params.ProgressToken, " ", r.Params.Progress, " of ", r.Params.Total)
	}})
	params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"ms": 600, "n": 1}}
	params.SetProgressToken("mine")
	if got, err := session.CallTool(t.Context(), params); err != nil || got.IsError {
		t.Fatal(err, got)
	}
	var got []string
	for range 3 {
		select {
		case s := <-told:
			got = append(got, s)
		case <-time.After(hosttest.Patience):
			t.Fatalf("told %v", got)
		}
	}
	if diff := cmp.Diff([]string{"mine 0 of 3", "mine 1 of 3", "mine 2 of 3"}, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	reply, err := app.Modern("tools/call", tool, map[string]any{"name": tool, "arguments": map[string]any{"ms": 600, "n": 2}, "_meta": map[string]any{"progressToken": 7}})
	if err != nil || reply.Text() != "nonce 2" {
		t.Errorf("%v %s", err, reply.Raw)
	}
}

// A server that heeds neither the end of its input nor a signal ends with its host,
// however that ends (field faults, FF31, FF35).
func TestAStubbornServerEndsWithItsHost(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app, up := h.AddApp("app"), server(t, closed("ping", "Pings."))
	up.write("stubborn", "")
	up.use(h, app, "notes", "ping")
	for _, end := range []func(){h.Stop, h.Kill} {
		if got := up.send(app, "ping", "{}"); code(got) != "ok" {
			t.Errorf("%+v", got)
		}
		pid := h.Review("notes").Resource.Upstream.PID
		began := time.Now()
		end()
		hosttest.WaitFor(t, "the server to end", func() error {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d is there", pid)
			}
			return nil
		})
		t.Logf("ended after %v", time.Since(began))
		h.Restart()
	}
}
