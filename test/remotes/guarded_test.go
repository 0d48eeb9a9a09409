package remotes_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/guarded"
	"github.com/stewardhost/steward/test/hosttest"
)

// host is a host whose operator lets it reach what guards a server.
func host(t *testing.T, s ...*guarded.Server) *hosttest.Host {
	t.Helper()
	var all []string
	for _, one := range s {
		all = append(all, one.Exceptions()...)
	}
	return hosttest.StartWith(t, hosttest.Options{Args: append(slices.Clone(hosttest.Wide), "--egress-exceptions", strings.Join(all, " "))})
}

// signIn is the owner: the link that the command prints, and then the browser.
func signIn(t *testing.T, h *hosttest.Host, args ...string) adminwire.SignInLink {
	t.Helper()
	var link adminwire.SignInLink
	h.JSON(&link, append([]string{"resources", "authorize", "far", "--link-only"}, args...)...)
	if status, err := guarded.SignIn(link.Link); err != nil || status != 200 {
		t.Fatalf("the browser got %d, %v", status, err)
	}
	return link
}

func done(t *testing.T, h *hosttest.Host) {
	t.Helper()
	hosttest.WaitFor(t, "the owner's yes to count", func() error {
		var r adminwire.Review
		h.JSON(&r, "resources", "show", "far")
		if r.Resource.Upstream.Connection != "ready" {
			return fmt.Errorf("%+v", r.Resource.Upstream)
		}
		return nil
	})
}

// A guarded server from its address to a call, its tokens renewed, its refusal told
// with the command that mends it, and mended (FF50 to FF52, FF57, FF60, A53, A54).
func TestAGuardedServer(t *testing.T) {
	s := guarded.Start(t, guarded.Options{Life: 2 * time.Second})
	h := host(t, s)
	_, said, code := h.Run("", "import", s.URL(), "--name", "far")
	if code != 1 || !strings.Contains(said, "steward resources authorize far") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if link := signIn(t, h, "--url", s.URL()); link.Issuer != s.Issuer() || link.Former != "" {
		t.Errorf("asked by %+v", link)
	}
	hosttest.WaitFor(t, "the import", func() error {
		if out, bad, code := h.Run("", "import", s.URL(), "--name", "far"); code != 0 {
			return fmt.Errorf("%s %s", out, bad)
		}
		return nil
	})
	h.Approve("far", map[string]string{"count": "read"})
	app := h.AddApp("app")
	tool := app.Grant("far", "count")["count"]
	call := func() (hosttest.Reply, bool) {
		t.Helper()
		got, err := app.Call(tool, map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		return got, !got.IsError()
	}
	before, renewals := s.Counts()
	const calls = 100
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for n := range calls {
		<-pace.C
		if got, ok := call(); !ok {
			t.Fatalf("call %d: %s", n, got.Text())
		}
	}
	after, renewed := s.Counts()
	if after-before != calls || renewed-renewals < 1 || renewed-renewals > 30 {
		t.Errorf("%d calls had %d effects and %d renewals", calls, after-before, renewed-renewals)
	}
	// Over a restart it is there.
	h.Restart()
	if got, ok := call(); !ok {
		t.Fatal(got.Text())
	}
	s.Change(func(o *guarded.Options) { o.NoRefresh = true })
	s.Revoke()
	hosttest.WaitFor(t, "the refusal", func() error {
		got, ok := call()
		if ok || !strings.Contains(got.Text(), "steward resources authorize far") {
			return fmt.Errorf("%s", got.Text())
		}
		return nil
	})
	tools, err := app.Modern("tools/list", "", nil)
	if list, _ := tools.Result.Get("tools"); err != nil || len(list.Items) != 1 {
		t.Errorf("the tool is not listed any more: %+v, %v", tools, err)
	}
	hosttest.WaitFor(t, "the view", func() error {
		if shown := h.Do("resources", "show", "far"); !strings.Contains(shown, "steward resources authorize far") {
			return fmt.Errorf("%s", shown)
		}
		return nil
	})
	s.Change(func(o *guarded.Options) { o.NoRefresh = false; o.Life = time.Hour })
	signIn(t, h)
	h.Do("resources", "authorize", "far", "--wait")
	done(t, h)
	if got, ok := call(); !ok {
		t.Errorf("after the owner's yes: %s", got.Text())
	}
	_, _, bearers := s.Seen()
	for _, b := range bearers {
		if b == app.MCP || b == app.RPC || b != "" && !strings.HasPrefix(b, "at-") {
			t.Errorf("the server got %q", b)
		}
	}
	shown := h.Log() + h.Do("resources", "show", "far", "--json") + h.Do("journal", "list", "--json") + h.Do("status", "--json") + h.Do("export")
	if strings.Contains(shown, "at-") && strings.Contains(shown, bearers[len(bearers)-1]) || strings.Contains(shown, "rt-") {
		t.Error("a token is shown")
	}
}

// Another issuer gets nothing of the first one's: only the owner's new yes makes a
// credential for it, and the owner is told that it is another (A53).
func TestAnotherIssuerNeedsANewYes(t *testing.T) {
	first, second := guarded.Start(t, guarded.Options{}), guarded.Start(t, guarded.Options{})
	h := host(t, first, second)
	signIn(t, h, "--url", first.URL())
	hosttest.WaitFor(t, "the import", func() error {
		if out, bad, code := h.Run("", "import", first.URL(), "--name", "far"); code != 0 {
			return fmt.Errorf("%s %s", out, bad)
		}
		return nil
	})
	first.Change(func(o *guarded.Options) {
		o.Edit = func(document string, members map[string]any) {
			if document == "resource" {
				members["authorization_servers"] = []string{second.Issuer()}
			}
		}
	})
	first.Expire()
	h.Run("", "import", "--refresh", "far")
	if paths, _, bearers := second.Seen(); len(paths) != 0 || len(bearers) != 0 {
		t.Errorf("the other issuer was asked: %v", paths)
	}
	link := signIn(t, h)
	if link.Issuer != second.Issuer() || link.Former != first.Issuer() {
		t.Errorf("told %+v", link)
	}
	_, forms, _ := second.Seen()
	if _, own, _ := first.Seen(); len(own) == 0 || strings.Contains(fmt.Sprint(forms), "rt-") {
		t.Errorf("a token of the first went to the second: %v", forms)
	}
}

// A server that wants a wider authorization for a call is not called again by itself:
// the app, the owner's view and the doctor tell what it wants and the command, over a
// restart too, and the owner's next sign-in asks for all of it together.
func TestAWiderAuthorizationIsTheOwners(t *testing.T) {
	const document = "https://steward.invalid/client.json"
	s := guarded.Start(t, guarded.Options{NoRegister: true, Documents: document, Needs: "tools:write"})
	h := hosttest.StartWith(t, hosttest.Options{Args: append(slices.Clone(hosttest.Wide), "--egress-exceptions", strings.Join(s.Exceptions(), " "), "--client-document", document)})
	if link := signIn(t, h, "--url", s.URL(), "--scope", "own"); !slices.Equal(link.Scopes, []string{"tools", "offline_access", "own"}) {
		t.Errorf("asked for %v", link.Scopes)
	}
	hosttest.WaitFor(t, "the import", func() error {
		if out, bad, code := h.Run("", "import", s.URL(), "--name", "far"); code != 0 {
			return fmt.Errorf("%s %s", out, bad)
		}
		return nil
	})
	h.Approve("far", map[string]string{"count": "read"})
	app := h.AddApp("app")
	tool := app.Grant("far", "count")["count"]
	for range 2 {
		got, err := app.Call(tool, map[string]any{})
		if err != nil || got.Code() != "upstream_failed" || !strings.Contains(got.Text(), "steward resources authorize far") || !strings.Contains(got.Raw, `"reason":"insufficient_scope"`) {
			t.Errorf("%v: %s", err, got.Raw)
		}
		var r adminwire.Review
		if h.JSON(&r, "resources", "show", "far"); !slices.Equal(r.Resource.Upstream.Wants, []string{"tools:write"}) {
			t.Errorf("the owner sees %+v", r.Resource.Upstream)
		}
		if said, _, code := h.Run("", "doctor"); code != 1 || !strings.Contains(said, "wants tools:write") || !strings.Contains(said, "steward resources authorize far") {
			t.Errorf("the doctor says %d: %s", code, said)
		}
		h.Restart()
	}
	if link := signIn(t, h); !slices.Equal(link.Scopes, []string{"tools", "offline_access", "own", "tools:write"}) {
		t.Errorf("asked for %v", link.Scopes)
	}
	h.Do("resources", "authorize", "far", "--wait")
	done(t, h)
	got, err := app.Call(tool, map[string]any{})
	if calls, _ := s.Counts(); err != nil || got.IsError() || calls != 1 {
		t.Errorf("%v, %d calls: %s", err, calls, got.Raw)
	}
	var r adminwire.Review
	if h.JSON(&r, "resources", "show", "far"); len(r.Resource.Upstream.Wants) != 0 {
		t.Errorf("afterwards the owner sees %+v", r.Resource.Upstream)
	}
	for _, f := range func() []url.Values { _, forms, _ := s.Seen(); return forms }() {
		if f.Get("client_id") != document {
			t.Errorf("known as %v", f)
		}
	}
}
