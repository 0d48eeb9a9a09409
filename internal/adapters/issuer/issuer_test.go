package issuer_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/issuer"
	"github.com/stewardhost/steward/internal/adapters/issuer/browser"
	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/means/egress"
	"github.com/stewardhost/steward/test/guarded"
)

func client(t *testing.T, exceptions ...string) *issuer.Client {
	t.Helper()
	var opt egress.Options
	for _, text := range exceptions {
		e, err := egress.ParseException(text)
		if err != nil {
			t.Fatal(err)
		}
		opt.Exceptions = append(opt.Exceptions, e)
	}
	return issuer.New(egress.New(opt), issuer.Options{Version: "test"})
}

// Metadata are found in each of their places (FF57), and a code is traded there and
// at no other origin (FF60).
func TestMetadataAreFoundInEachPlace(t *testing.T) {
	for name, opt := range map[string]guarded.Options{
		"below the path": {}, "at the root": {Root: true}, "by the challenge": {Challenge: true}, "a tenant": {Tenant: "/tenant"},
		"a tenant of OpenID": {Tenant: "/tenant/x", OpenID: true}, "OpenID": {OpenID: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := guarded.Start(t, opt)
			c := client(t, s.Exceptions()...)
			found, err := c.Discover(t.Context(), s.URL())
			if err != nil {
				t.Fatal(err)
			}
			resource := map[bool]string{false: s.URL(), true: s.MCP.URL}[opt.Root]
			want := credential.Server{Issuer: s.Issuer(), Resource: resource, Authorize: s.AS.URL + "/authorize", Token: s.AS.URL + "/token", Register: s.AS.URL + "/register",
				Scopes: []string{"tools", "offline_access"}, TellsSelf: true, Methods: []string{"none", "client_secret_basic"}}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Error(diff)
			}
			token := signIn(t, c, found, nil)
			again, err := c.Refresh(t.Context(), credential.Credential{Server: found, Registration: token.Registration, Token: token.Token}, time.Now())
			if err != nil || again.Access.Reveal() == token.Token.Access.Reveal() {
				t.Error("not renewed", err)
			}
			_, forms, _ := s.Seen()
			for _, f := range forms {
				if f.Get("resource") != resource {
					t.Errorf("a token was asked for without its resource: %v", f)
				}
			}
		})
	}
}

// signIn goes the way of an owner's browser.
func signIn(t *testing.T, c *issuer.Client, s credential.Server, known *credential.Registration) credential.Credential {
	t.Helper()
	back, err := browser.Open(t.Context(), "state")
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	var r credential.Registration
	if known != nil {
		r = *known
	} else if r, err = c.Register(t.Context(), s, back.Redirect()); err != nil {
		t.Fatal(err)
	}
	const verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // RFC 7636, appendix B
	link, err := c.Request(s, r, back.Redirect(), "state", challenge)
	if err != nil {
		t.Fatal(err)
	}
	if status, err := guarded.SignIn(link); err != nil || status != 200 {
		t.Fatalf("%d, %v", status, err)
	}
	code, err := s.Code(<-back.Answer(), "state")
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.Exchange(t.Context(), s, r, code, verifier, back.Redirect(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return credential.Credential{Server: s, Registration: r, Token: token}
}

func TestAClientMadeByHandProvesItself(t *testing.T) {
	s := guarded.Start(t, guarded.Options{NoRegister: true})
	c := client(t, s.Exceptions()...)
	found, err := c.Discover(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Register(t.Context(), found, "http://127.0.0.1/x"); !fault.Is(err, fault.UpstreamFailed) {
		t.Error(err)
	}
	known := c.Known(found, "by-hand", secret.Of("proof"))
	got := signIn(t, c, found, &known)
	got.Token.Refresh = secret.Of("another")
	if _, err := c.Refresh(t.Context(), got, time.Now()); !errors.Is(err, issuer.ErrInvalid) {
		t.Errorf("a refused refresh token: %v", err)
	}
}

// Nothing that a server names leads inside, elsewhere, or past a check (A53).
func TestDiscoveryIsNotLedAstray(t *testing.T) {
	var canary atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { canary.Add(1) }))
	defer inside.Close()
	edit := func(document, member string, value any) func(string, map[string]any) {
		return func(d string, members map[string]any) {
			if d == document {
				members[member] = value
			}
		}
	}
	for name, c := range map[string]struct {
		edit func(string, map[string]any)
		says string
	}{
		"an issuer inside":         {edit("resource", "authorization_servers", []string{inside.URL}), "is not a public address"},
		"an issuer by name inside": {edit("resource", "authorization_servers", []string{strings.Replace(inside.URL, "127.0.0.1", "localhost", 1)}), "is not a public address"},
		"metadata of the cloud":    {edit("resource", "authorization_servers", []string{"http://169.254.169.254/"}), "is not a public address"},
		"no issuer":                {edit("resource", "authorization_servers", []string{}), "does not say who guards it"},
		"an issuer of no URL":      {edit("resource", "authorization_servers", []string{"issuer"}), "no URL"},
		"an issuer with a query":   {edit("resource", "authorization_servers", []string{"https://a.example/?x"}), "no URL"},
		"another resource":         {edit("resource", "resource", "https://other.example/mcp"), "about something else"},
		"no resource":              {edit("resource", "resource", ""), "about something else"},
		"another issuer's":         {edit("issuer", "issuer", "https://other.example"), "another issuer's"},
		"no issuer's":              {edit("issuer", "issuer", nil), "another issuer's"},
		"no PKCE":                  {edit("issuer", "code_challenge_methods_supported", nil), "PKCE"},
		"plain PKCE":               {edit("issuer", "code_challenge_methods_supported", []string{"plain"}), "PKCE"},
		"no endpoint":              {edit("issuer", "token_endpoint", nil), "endpoint"},
		"a script for an endpoint": {edit("issuer", "authorization_endpoint", "javascript:alert(1)"), "endpoint"},
		"an owner's link inside":   {edit("issuer", "authorization_endpoint", "https://192.168.1.1/authorize"), "is not a public address"},
		"an owner's link in plain": {edit("issuer", "authorization_endpoint", "http://1.1.1.1/authorize"), "is not https"},
		"a long document":          {edit("issuer", "x", strings.Repeat("y", 70<<10)), "did not answer whole"},
	} {
		s := guarded.Start(t, guarded.Options{Edit: c.edit})
		_, err := client(t, s.Exceptions()...).Discover(t.Context(), s.URL())
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, s := range map[string]credential.Server{
		"a token endpoint inside": {Issuer: "https://a.example", Token: inside.URL + "/token", Register: inside.URL + "/register"},
	} {
		c := client(t)
		if _, err := c.Register(t.Context(), s, "http://127.0.0.1/x"); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Refresh(t.Context(), credential.Credential{Server: s, Token: credential.Token{Refresh: secret.Of("canary")}}, time.Now()); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	redirects := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	defer redirects.Close()
	if _, err := client(t, redirects.URL+"=127.0.0.1/32").Discover(t.Context(), redirects.URL+"/mcp"); err == nil {
		t.Error("a redirect was followed")
	}
	if canary.Load() != 0 {
		t.Errorf("the canary got %d requests", canary.Load())
	}
}

// A server that answers a byte at a time holds nobody for longer than an answer may
// take.
func TestAnAnswerThatDripsEnds(t *testing.T) {
	drips := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "60000")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range 60_000 {
			if _, err := w.Write([]byte(" ")); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer drips.Close()
	e, err := egress.ParseException(drips.URL + "=127.0.0.1/32")
	if err != nil {
		t.Fatal(err)
	}
	c := issuer.New(egress.New(egress.Options{Exceptions: []egress.Exception{e}}), issuer.Options{Answer: 200 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Discover(ctx, drips.URL+"/mcp"); !fault.Is(err, fault.UpstreamFailed) || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
}

func TestTokensThatAreNone(t *testing.T) {
	for name, edit := range map[string]func(m map[string]any){
		"none":               func(m map[string]any) { delete(m, "access_token") },
		"of another kind":    func(m map[string]any) { m["token_type"] = "mac" },
		"with a line end":    func(m map[string]any) { m["access_token"] = "a\r\nX: y" },
		"longer than a line": func(m map[string]any) { m["access_token"] = strings.Repeat("a", 9<<10) },
	} {
		s := guarded.Start(t, guarded.Options{Edit: func(d string, m map[string]any) {
			if d == "token" {
				edit(m)
			}
		}})
		c := client(t, s.Exceptions()...)
		found, err := c.Discover(t.Context(), s.URL())
		if err != nil {
			t.Fatal(err)
		}
		r := c.Known(found, "by-hand", secret.Of("proof"))
		if _, err := c.Refresh(t.Context(), credential.Credential{Server: found, Registration: r, Token: credential.Token{Refresh: secret.Of("x")}}, time.Now()); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestChallenges(t *testing.T) {
	for line, want := range map[string]map[string]string{
		`Bearer`: {}, `bearer realm="a b", error=invalid_token`: {"realm": "a b", "error": "invalid_token"},
		`Basic realm="x", Bearer resource_metadata="https://a/b", scope="a b"`: {"resource_metadata": "https://a/b", "scope": "a b"},
		`Bearer scope="a", Basic realm="x"`:                                    {"scope": "a"},
		`Negotiate YII==, Bearer scope=a`:                                      {"scope": "a"},
		`Bearer scope="a\"b", scope="c"`:                                       {"scope": `a"b`},
		`Basic realm="Bearer scope=x"`:                                         nil, ``: nil, `=,,`: nil,
	} {
		got, ok := issuer.Bearer(line)
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%s: %v %s", line, ok, diff)
		}
	}
}

func FuzzBearer(f *testing.F) {
	for _, line := range []string{`Bearer realm="a b", error=invalid_token`, `Negotiate YII==, Bearer scope=a`, `Bearer scope="a\"b`, `=,,"`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, ok := issuer.Bearer(line)
		size := 0
		for name, value := range got {
			size += len(name) + len(value)
		}
		if size > len(line) || !ok && got != nil {
			t.Errorf("%q became %v, %v", line, got, ok)
		}
	})
}

func TestTheBrowserIsTakenAtItsOwnAddressOnly(t *testing.T) {
	l, err := browser.Open(t.Context(), "y")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Host = "evil.example" },
		func(r *http.Request) { r.URL.Path = "/callback/" },
		func(r *http.Request) { r.URL.RawQuery = "code=x&state=z" },
		func(r *http.Request) { r.URL.RawQuery = "code=x" },
		func(r *http.Request) { r.Method = http.MethodPost },
	} {
		r, err := http.NewRequest(http.MethodGet, l.Redirect()+"?code=x&state=y", nil)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != http.StatusNotFound {
			t.Errorf("%v, %v", resp, err)
			continue
		}
		resp.Body.Close()
	}
	select {
	case got := <-l.Answer():
		t.Errorf("took %+v", got)
	default:
	}
}
