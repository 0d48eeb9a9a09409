// Package issuer is steward as a client of the authorization servers of others: it
// finds out who guards a remote server, makes itself known there, and trades codes
// and refresh tokens for access tokens (pool page, section 7; MCP, authorization).
//
// Promised: every hop goes through the egress policy and follows no redirect, and the
// link for the owner is held to it too; every document is bounded, in time as well, and
// read strictly; an issuer is compared as it is written
// (RFC 8414, section 3.3); a token goes only to the endpoints of the issuer that
// gave it; PKCE is S256, and a server that does not announce it is not used. What
// a server says in its own words is never repeated.
//
// Not promised: that the owner is asked anything here; that is the service's. A
// Client is immutable and safe for concurrent use. Faults: those of egress, and
// upstream_failed for an answer that is of no use; ErrInvalid is the cause where a
// grant is of no use any more.
package issuer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/means/egress"
)

// Options may be left zero.
type Options struct {
	Version  string        // steward's own, told to servers
	Document string        // https URL of a client ID metadata document that names steward; empty for none
	Answer   time.Duration // the longest that one answer may take; bound.IssuerAnswer if zero
}

// Client speaks to authorization servers.
type Client struct {
	gate *egress.Gate
	opt  Options
}

// New returns a client that goes out through a gate.
func New(gate *egress.Gate, opt Options) *Client {
	opt.Answer = cmp.Or(opt.Answer, bound.IssuerAnswer.Duration())
	return &Client{gate, opt}
}

// ErrInvalid says that a code or a refresh token was refused.
var ErrInvalid = errors.New("the grant was refused")

// Dead reports whether an error says that a grant is of no use any more.
func (*Client) Dead(err error) bool { return errors.Is(err, ErrInvalid) }

// fetch sends one request and reads its bounded answer.
func (c *Client) fetch(ctx context.Context, method, address string, header http.Header, body []byte) (*egress.Response, []byte, error) {
	target, err := egress.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.opt.Answer)
	defer cancel()
	if header == nil {
		header = http.Header{}
	}
	header.Set("User-Agent", "steward/"+c.opt.Version)
	if header.Get("Accept") == "" {
		header.Set("Accept", "application/json")
	}
	resp, went, err := c.gate.Send(ctx, egress.Request{Method: method, Target: target, Header: header, Body: body})
	if err != nil {
		if went {
			err = fault.Newf(fault.UpstreamFailed, "%s did not answer whole", target.Origin()).Because(err)
		}
		return nil, nil, err
	}
	defer resp.Close()
	raw, err := resp.Read(bound.IssuerBytes.Int())
	if err != nil {
		return nil, nil, fault.Newf(fault.UpstreamFailed, "%s did not answer whole", target.Origin()).Because(err)
	}
	return resp, raw, nil
}

func failed(format string, args ...any) *fault.Fault {
	return fault.Newf(fault.UpstreamFailed, format, args...)
}

var limits = strictjson.Limits{Bytes: bound.IssuerBytes, Depth: bound.RequestDepth, Nodes: bound.RequestNodes}

// text is a member that is a text, or nothing.
func text(v strictjson.Value, name string) string {
	if m, ok := v.Get(name); ok && m.Kind == strictjson.String {
		return m.Text
	}
	return ""
}

// texts is a member that is a list of texts; what else is in it is left out.
func texts(v strictjson.Value, name string) (out []string) {
	m, _ := v.Get(name)
	for _, item := range m.Items {
		if item.Kind == strictjson.String {
			out = append(out, item.Text)
		}
	}
	return out
}

// Request is the URL at which the owner says yes. The challenge is that of PKCE.
func (*Client) Request(s credential.Server, r credential.Registration, redirect, state, challenge string) (string, error) {
	at, err := url.Parse(s.Authorize)
	if err != nil {
		return "", failed("the authorization endpoint is no URL")
	}
	q := at.Query()
	for name, value := range map[string]string{"response_type": "code", "client_id": r.Client, "redirect_uri": redirect, "state": state,
		"code_challenge": challenge, "code_challenge_method": "S256", "resource": s.Resource} {
		q.Set(name, value)
	}
	if len(s.Scopes) > 0 {
		q.Set("scope", strings.Join(s.Scopes, " "))
	}
	if slices.Contains(s.Scopes, offline) {
		q.Set("prompt", "consent")
	}
	at.RawQuery = q.Encode()
	return at.String(), nil
}

// Register makes steward a client of a server: by the document that names it, where
// the server takes those, or by asking to be registered.
func (c *Client) Register(ctx context.Context, s credential.Server, redirect string) (credential.Registration, error) {
	if s.Documents && c.opt.Document != "" {
		return credential.Registration{Client: c.opt.Document, Method: "none"}, nil
	}
	if s.Register == "" && s.Documents {
		return credential.Registration{}, failed("%s knows clients by documents of theirs; set client_document, or ask it for a client id and give that", s.Issuer)
	}
	if s.Register == "" {
		return credential.Registration{}, failed("%s registers no clients by itself; ask it for a client id, and give that", s.Issuer)
	}
	method := methodOf(s, false)
	body, err := strictjson.Encode(map[string]any{
		"client_name": "steward", "redirect_uris": []string{redirect}, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": method, "application_type": "native",
	})
	if err != nil {
		return credential.Registration{}, err
	}
	resp, raw, err := c.fetch(ctx, http.MethodPost, s.Register, http.Header{"Content-Type": {"application/json"}}, body)
	if err != nil {
		return credential.Registration{}, err
	}
	v, err := strictjson.Parse(raw, limits)
	if resp.Status != http.StatusCreated && resp.Status != http.StatusOK || err != nil || text(v, "client_id") == "" {
		return credential.Registration{}, failed("%s does not register this client (HTTP %d)", s.Issuer, resp.Status)
	}
	r := credential.Registration{Client: text(v, "client_id"), Secret: secret.Of(text(v, "client_secret")), Method: text(v, "token_endpoint_auth_method"), Redirect: redirect}
	if r.Method == "" {
		r.Method = methodOf(s, !r.Secret.IsZero())
	}
	return r, nil
}

// Known is a client that the owner registered by hand.
func (*Client) Known(s credential.Server, client string, secretText secret.Secret) credential.Registration {
	return credential.Registration{Client: client, Secret: secretText, Method: methodOf(s, !secretText.IsZero())}
}

// methodOf chooses how a client proves itself, of what the server takes.
func methodOf(s credential.Server, secretly bool) string {
	prefer := []string{"none", "client_secret_post", "client_secret_basic"}
	if secretly {
		prefer = []string{"client_secret_basic", "client_secret_post", "none"}
	}
	if len(s.Methods) == 0 {
		return map[bool]string{true: "client_secret_basic", false: "none"}[secretly]
	}
	for _, m := range prefer {
		if slices.Contains(s.Methods, m) {
			return m
		}
	}
	return prefer[0]
}

// Exchange trades a code for a token.
func (c *Client) Exchange(ctx context.Context, s credential.Server, r credential.Registration, code, verifier, redirect string, now time.Time) (credential.Token, error) {
	return c.token(ctx, s, r, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}}, now)
}

// Refresh trades a refresh token for a token, which has the old refresh token where
// the server gives no new one.
func (c *Client) Refresh(ctx context.Context, k credential.Credential, now time.Time) (credential.Token, error) {
	t, err := c.token(ctx, k.Server, k.Registration, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {k.Token.Refresh.Reveal()}}, now)
	if err == nil && t.Refresh.IsZero() {
		t.Refresh = k.Token.Refresh
	}
	return t, err
}

// seconds bounds how long a token is believed to live.
const seconds = 10 * 365 * 24 * 3600

func (c *Client) token(ctx context.Context, s credential.Server, r credential.Registration, form url.Values, now time.Time) (credential.Token, error) {
	form.Set("resource", s.Resource)
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	switch r.Method {
	case "client_secret_basic":
		req := http.Request{Header: header}
		req.SetBasicAuth(url.QueryEscape(r.Client), url.QueryEscape(r.Secret.Reveal()))
	case "client_secret_post":
		form.Set("client_secret", r.Secret.Reveal())
		fallthrough
	default:
		form.Set("client_id", r.Client)
	}
	resp, raw, err := c.fetch(ctx, http.MethodPost, s.Token, header, []byte(form.Encode()))
	if err != nil {
		return credential.Token{}, err
	}
	v, bad := strictjson.Parse(raw, limits)
	switch {
	case resp.Status >= 400 && resp.Status < 500 && resp.Status != http.StatusTooManyRequests && resp.Status != http.StatusRequestTimeout:
		return credential.Token{}, failed("%s does not give a token (HTTP %d)", s.Issuer, resp.Status).Because(ErrInvalid)
	case resp.Status != http.StatusOK:
		return credential.Token{}, failed("%s gives no token now (HTTP %d)", s.Issuer, resp.Status)
	case bad != nil || text(v, "access_token") == "" || !strings.EqualFold(text(v, "token_type"), "Bearer"):
		return credential.Token{}, failed("%s gives no token that can be used", s.Issuer)
	case !sendable(text(v, "access_token")):
		return credential.Token{}, failed("%s gives a token that no header carries", s.Issuer)
	}
	t := credential.Token{Access: secret.Of(text(v, "access_token")), Refresh: secret.Of(text(v, "refresh_token")), At: now}
	if m, ok := v.Get("expires_in"); ok && m.Kind == strictjson.Number {
		var n float64
		if _, err := fmt.Sscan(m.Text, &n); err == nil && n > 0 && n < seconds {
			t.Until = now.Add(time.Duration(n * float64(time.Second)))
		}
	}
	return t, nil
}

// sendable reports whether a header carries a token (RFC 6750, section 2.1).
func sendable(token string) bool {
	for _, c := range []byte(token) {
		if c <= 0x20 || c >= 0x7f {
			return false
		}
	}
	return len(token) <= bound.RequestBytes.Int()/8
}
