// Package credential is steward's own right to call a remote server that others
// guard: which authorization server gave it, as which client, and until when (pool
// page, section 7; threats, A3 and A53).
//
// A credential belongs to one resource and one issuer. It never moves to another:
// where a server names another issuer, only the owner's new yes makes a new one.
// Everything here is a pure function of values; secrets are of ground/secret, and
// Encode is the one place that writes them out, for a store that seals.
package credential

import (
	"slices"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// NeedsOwner is details.reason of a fault that only the owner mends, by signing in.
const NeedsOwner = "needs_authorization"

// Server is what an authorization server and the resource that it guards say of
// themselves. Nothing of it is secret.
type Server struct {
	Issuer    string   `json:"issuer"`
	Resource  string   `json:"resource"` // as it must be named in requests
	Authorize string   `json:"authorize"`
	Token     string   `json:"token"`
	Register  string   `json:"register"`   // empty where clients cannot register themselves
	Scopes    []string `json:"scopes"`     // to ask for; none is what the server thinks right
	TellsSelf bool     `json:"tells_self"` // iss comes with each answer (RFC 9207)
	Documents bool     `json:"documents"`  // a client may be named by the URL of its document
	Methods   []string `json:"methods"`    // how a client may prove itself
}

// Registration is steward as a client of one issuer. Method is how it proves itself:
// none, client_secret_basic or client_secret_post.
type Registration struct {
	Client   string
	Secret   secret.Secret
	Method   string
	Redirect string // the one that was registered, empty where any of this machine is taken
}

// Token is what an issuer gave.
type Token struct {
	Access, Refresh secret.Secret
	At              time.Time // when it was given
	Until           time.Time // zero where the issuer does not say
}

// Credential is all of it, for one entry of an owner's.
type Credential struct {
	URL          string // of the entry; another address gets nothing of it
	Server       Server
	Registration Registration
	Token        Token
	Refused      bool     // by the issuer or the server: only the owner can mend it
	Wanted       []string // scopes that the server wants for some calls beside what it was asked with
}

// Scopes reads what a server's challenge wants, as far as it has the form of scopes
// (RFC 6749, section 3.3) and is within bound.WantedScopes: they are shown to the
// owner.
func Scopes(line string) (out []string) {
	for _, s := range strings.Fields(line) {
		plain := !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
		if plain && bound.ScopeBytes.Check(len(s)) == nil && bound.WantedScopes.Check(len(out)+1) == nil && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Wider is a credential whose server wants scopes for something; false where that is
// known already.
func (c Credential) Wider(scopes []string) (Credential, bool) {
	all := Union(c.Wanted, scopes)
	if len(all) == len(c.Wanted) || bound.WantedScopes.Check(len(all)) != nil {
		return c, false
	}
	c.Wanted = all
	return c, true
}

// Asked is what to ask for in the owner's next sign-in at a server: what it names, what
// the owner allowed there before, and what it wanted meanwhile (MCP, authorization:
// step-up).
func (c Credential) Asked(now Server) []string {
	if !c.Server.Stands(now) {
		return now.Scopes
	}
	return Union(Union(now.Scopes, c.Server.Scopes), c.Wanted)
}

// Is reports whether two are one credential: of an address, with the same tokens.
func (c Credential) Is(other Credential) bool {
	return c.URL == other.URL && c.Server.Issuer == other.Server.Issuer &&
		c.Token.Access.Reveal() == other.Token.Access.Reveal() && c.Token.Refresh.Reveal() == other.Token.Refresh.Reveal()
}

// ahead is how long before its end a token is renewed: a fifth of its life, at most a
// minute (field faults, FF50).
func (t Token) ahead() time.Duration { return min(time.Minute, t.Until.Sub(t.At)/5) }

// Due reports whether a token should be renewed before it is used again.
func (t Token) Due(now time.Time) bool {
	return !t.Until.IsZero() && !now.Before(t.Until.Add(-t.ahead()))
}

// Over reports whether a token is of no more use.
func (t Token) Over(now time.Time) bool { return !t.Until.IsZero() && !now.Before(t.Until) }

// Stands reports whether a server's word for itself is still that which the owner
// said yes to. Another issuer or endpoint is another party (threats, A53).
func (s Server) Stands(now Server) bool {
	return s.Issuer == now.Issuer && s.Authorize == now.Authorize && s.Token == now.Token && s.Resource == now.Resource
}

// Guards reports whether metadata for one resource are about an address: the same
// one, or one below it at the same origin (RFC 9728, section 3.3; MCP, authorization).
func Guards(resource, address string) bool {
	if resource == address {
		return true
	}
	r := strings.TrimSuffix(resource, "/")
	return strings.Count(r, "/") >= 2 && (strings.HasPrefix(address, r+"/") || address == r)
}

// Callback is what came back with the owner's browser.
type Callback struct{ State, Code, Issuer, Error string }

// Code gives the code of an answer to a request of this state, or why there is none.
// The issuer is compared as it is written, with errors too (threats, A3; RFC 9207).
func (s Server) Code(c Callback, state string) (string, error) {
	switch {
	case c.State != state:
		return "", refused("the answer is to another question")
	case s.TellsSelf && c.Issuer == "":
		return "", refused("the answer does not say who gave it")
	case c.Issuer != "" && c.Issuer != s.Issuer:
		return "", refused("the answer is another server's")
	case c.Error != "":
		return "", refused("the server refused: " + plain(c.Error))
	case c.Code == "":
		return "", refused("the answer has no code")
	}
	return c.Code, nil
}

func refused(text string) *fault.Fault { return fault.New(fault.UpstreamFailed, text) }

// plain keeps the word of an OAuth error, and of nothing else.
func plain(word string) string {
	if len(word) > 64 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "an error of no usual name"
	}
	return word
}

// Union is two lists of scopes as one, in their order.
func Union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// sealedJSON is the form in which a credential is sealed.
type sealedJSON struct {
	URL      string    `json:"url"`
	Server   Server    `json:"server"`
	Client   string    `json:"client"`
	Secret   string    `json:"secret"`
	Method   string    `json:"method"`
	Redirect string    `json:"redirect"`
	Access   string    `json:"access"`
	Refresh  string    `json:"refresh"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until"`
	Refused  bool      `json:"refused"`
	Wanted   []string  `json:"wanted,omitzero"`
}

// Encode writes a credential with its secrets. What it gives must be sealed before
// it is kept.
func (c Credential) Encode() ([]byte, error) {
	return strictjson.Encode(sealedJSON{c.URL, c.Server, c.Registration.Client, c.Registration.Secret.Reveal(), c.Registration.Method, c.Registration.Redirect,
		c.Token.Access.Reveal(), c.Token.Refresh.Reveal(), c.Token.At, c.Token.Until, c.Refused, c.Wanted})
}

// Decode reads what Encode wrote.
func Decode(raw []byte) (Credential, error) {
	var s sealedJSON
	if err := strictjson.Decode(raw, strictjson.Limits{Bytes: bound.CredentialBytes}, &s); err != nil {
		return Credential{}, err
	}
	return Credential{URL: s.URL, Server: s.Server, Refused: s.Refused, Wanted: s.Wanted,
		Registration: Registration{s.Client, secret.Of(s.Secret), s.Method, s.Redirect},
		Token:        Token{secret.Of(s.Access), secret.Of(s.Refresh), s.At, s.Until}}, nil
}
