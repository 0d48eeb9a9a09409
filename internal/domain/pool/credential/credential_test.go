package credential_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Wrong, missing, normalised and unexpected issuers give no code (A3).
func TestOnlyTheIssuersOwnAnswerHasACode(t *testing.T) {
	const issuer = "https://as.example/tenant"
	for name, c := range map[string]struct {
		tells bool
		back  credential.Callback
		want  string
	}{
		"as asked":             {true, credential.Callback{State: "s", Code: "c", Issuer: issuer}, "c"},
		"not told":             {false, credential.Callback{State: "s", Code: "c"}, "c"},
		"told unasked":         {false, credential.Callback{State: "s", Code: "c", Issuer: issuer}, "c"},
		"missing":              {true, credential.Callback{State: "s", Code: "c"}, ""},
		"wrong":                {true, credential.Callback{State: "s", Code: "c", Issuer: "https://evil.example"}, ""},
		"wrong, not announced": {false, credential.Callback{State: "s", Code: "c", Issuer: "https://evil.example"}, ""},
		"a slash more":         {true, credential.Callback{State: "s", Code: "c", Issuer: issuer + "/"}, ""},
		"another case":         {true, credential.Callback{State: "s", Code: "c", Issuer: "https://AS.example/tenant"}, ""},
		"a port more":          {true, credential.Callback{State: "s", Code: "c", Issuer: "https://as.example:443/tenant"}, ""},
		"another state":        {true, credential.Callback{State: "t", Code: "c", Issuer: issuer}, ""},
		"no state":             {true, credential.Callback{Code: "c", Issuer: issuer}, ""},
		"an error":             {true, credential.Callback{State: "s", Code: "c", Issuer: issuer, Error: "access_denied"}, ""},
		"an error of another":  {true, credential.Callback{State: "s", Error: "access_denied", Issuer: "https://evil.example"}, ""},
		"no code":              {true, credential.Callback{State: "s", Issuer: issuer}, ""},
	} {
		got, err := credential.Server{Issuer: issuer, TellsSelf: c.tells}.Code(c.back, "s")
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !fault.Is(err, fault.UpstreamFailed) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestATokenIsRenewedAheadOfItsEnd(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		life, after time.Duration
		due, over   bool
	}{
		{time.Hour, 58 * time.Minute, false, false}, {time.Hour, 59 * time.Minute, true, false}, {time.Hour, time.Hour, true, true},
		{2 * time.Second, 1500 * time.Millisecond, false, false}, {2 * time.Second, 1600 * time.Millisecond, true, false},
	} {
		token := credential.Token{At: at, Until: at.Add(c.life)}
		if due, over := token.Due(at.Add(c.after)), token.Over(at.Add(c.after)); due != c.due || over != c.over {
			t.Errorf("%v of %v: due %v, over %v", c.after, c.life, due, over)
		}
	}
	if token := (credential.Token{At: at}); token.Due(at.Add(time.Hour*1e5)) || token.Over(at.Add(time.Hour*1e5)) {
		t.Error("a token without an end has one")
	}
}

func TestMetadataAreAboutTheAddress(t *testing.T) {
	const address = "https://a.example/mcp/x"
	for resource, want := range map[string]bool{
		address: true, "https://a.example/mcp": true, "https://a.example/mcp/": true, "https://a.example": true, "https://a.example/": true,
		"https://a.example/mc": false, "https://a.example/other": false, "https://a.example.evil": false, "https://b.example": false, "https:": false, "https://": false, "": false,
		"https://a.example/mcp/x/y": false, "http://a.example": false,
	} {
		if got := credential.Guards(resource, address); got != want {
			t.Errorf("%q: %v", resource, got)
		}
	}
}

func TestACredentialIsKeptWhole(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := credential.Credential{URL: "u", Server: credential.Server{Issuer: "i", Scopes: []string{"a"}, Methods: []string{"none"}}, Refused: true, Wanted: []string{"b"},
		Registration: credential.Registration{Client: "c", Secret: secret.Of("s1"), Method: "none", Redirect: "r"},
		Token:        credential.Token{Access: secret.Of("s2"), Refresh: secret.Of("s3"), At: at, Until: at.Add(time.Hour)}}
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := credential.Decode(raw)
	again, _ := got.Encode()
	if err != nil || string(again) != string(raw) || got.Token.Refresh.Reveal() != "s3" {
		t.Errorf("%s, %v", again, err)
	}
	if shown := fmt.Sprintf("%+v %v", got, got); shown != fmt.Sprintf("%+v %v", c, c) || len(shown) == 0 {
		t.Error(shown)
	}
}

// What a server wants is bounded, has the form of scopes, and is asked for with the rest
// at the party that the owner allowed, and at no other.
func TestWhatAServerWants(t *testing.T) {
	long, many := strings.Repeat("x", bound.ScopeBytes.Int()+1), strings.Fields(strings.Repeat("y ", 2))
	for n := range bound.WantedScopes.Int() + 1 {
		many = append(many, fmt.Sprint("s", n))
	}
	for line, want := range map[string][]string{
		"": nil, " a:read  b ": {"a:read", "b"}, "a a": {"a"}, "a\x1b[31m \"q\" b\\ é c": {"c"}, long + " d": {"d"}, strings.Join(many, " "): many[1 : bound.WantedScopes.Int()+1],
	} {
		if diff := cmp.Diff(want, credential.Scopes(line)); diff != "" {
			t.Errorf("%.40q: %s", line, diff)
		}
	}
	c := credential.Credential{Server: credential.Server{Issuer: "i", Scopes: []string{"a"}}}
	c, isNew := c.Wider([]string{"w"})
	if _, again := c.Wider([]string{"w"}); !isNew || again {
		t.Error("told twice, or never")
	}
	if diff := cmp.Diff([]string{"n", "a", "w"}, c.Asked(credential.Server{Issuer: "i", Scopes: []string{"n"}})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"n"}, c.Asked(credential.Server{Issuer: "other", Scopes: []string{"n"}})); diff != "" {
		t.Error(diff)
	}
}
