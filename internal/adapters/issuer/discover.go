package issuer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/means/egress"
)

const (
	wellKnown = "/.well-known/"
	guarded   = "oauth-protected-resource"
	offline   = "offline_access"
)

// Discover finds out who guards an address: by what it answers a request without a
// credential, else by its metadata below its path or at its root (RFC 9728). Scopes
// are those of the challenge, else those that the resource names.
func (c *Client) Discover(ctx context.Context, address string) (credential.Server, error) {
	target, err := egress.Parse(address)
	if err != nil {
		return credential.Server{}, err
	}
	challenge, err := c.challenge(ctx, target)
	if err != nil {
		return credential.Server{}, err
	}
	doc, err := c.resource(ctx, target, challenge)
	if err != nil {
		return credential.Server{}, err
	}
	issuers := texts(doc, "authorization_servers")
	if len(issuers) == 0 {
		return credential.Server{}, failed("%s does not say who guards it", target.Origin())
	}
	s, offered, err := c.server(ctx, issuers[0])
	if err != nil {
		return credential.Server{}, err
	}
	if err := c.shown(ctx, s); err != nil {
		return credential.Server{}, err
	}
	s.Resource = text(doc, "resource")
	s.Scopes = strings.Fields(challenge["scope"])
	if len(s.Scopes) == 0 {
		s.Scopes = texts(doc, "scopes_supported")
	}
	if slices.Contains(offered, offline) && !slices.Contains(s.Scopes, offline) && len(s.Scopes) > 0 {
		s.Scopes = append(s.Scopes, offline) // a refresh token is what the owner's yes is worth
	}
	return s, nil
}

// shown holds the endpoint that the owner's browser is sent to, which is not reached
// from here, to the rule of those that are.
func (c *Client) shown(ctx context.Context, s credential.Server) error {
	t, err := egress.Parse(s.Authorize)
	if err != nil {
		return err
	}
	return c.gate.Look(ctx, t)
}

// challenge is what the server answers a request without a credential.
func (c *Client) challenge(ctx context.Context, t egress.Target) (map[string]string, error) {
	const probe = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`
	resp, _, err := c.fetch(ctx, http.MethodPost, t.URL(), http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}, []byte(probe))
	switch {
	case err == nil && resp.Status == http.StatusUnauthorized:
		for _, line := range resp.Header.Values("WWW-Authenticate") {
			if found, ok := Bearer(line); ok {
				return found, nil
			}
		}
	case fault.Is(err, fault.Unavailable):
		return nil, err // it was not reached
	}
	return nil, nil
}

// resource reads the first metadata of the resource that are there, and holds them
// to be about it.
func (c *Client) resource(ctx context.Context, t egress.Target, challenge map[string]string) (strictjson.Value, error) {
	var places []string
	if named := challenge["resource_metadata"]; named != "" {
		places = append(places, named)
	} else {
		if path := strings.TrimSuffix(t.Path(), "/"); path != "" {
			places = append(places, t.Origin()+wellKnown+guarded+path)
		}
		places = append(places, t.Origin()+wellKnown+guarded)
	}
	for _, place := range places {
		doc, err := c.document(ctx, place)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return strictjson.Value{}, err
		}
		if address, _, _ := strings.Cut(t.URL(), "?"); !credential.Guards(text(doc, "resource"), address) {
			return strictjson.Value{}, failed("%s has metadata that are about something else", t.Origin())
		}
		return doc, nil
	}
	return strictjson.Value{}, failed("%s does not say who guards it", t.Origin())
}

// server reads an authorization server's metadata, in each of their places, and holds
// them to the issuer's name as it is written. offered is every scope it knows.
func (c *Client) server(ctx context.Context, issuer string) (s credential.Server, offered []string, err error) {
	t, err := egress.Parse(issuer)
	if err != nil || strings.ContainsRune(issuer, '?') {
		return s, nil, failed("the server names an issuer that is no URL")
	}
	path := strings.TrimSuffix(t.Path(), "/")
	places := []string{t.Origin() + wellKnown + "oauth-authorization-server" + path, t.Origin() + wellKnown + "openid-configuration" + path}
	if path != "" {
		places = append(places, t.Origin()+path+wellKnown+"openid-configuration")
	}
	for _, place := range places {
		doc, err := c.document(ctx, place)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return s, nil, err
		}
		return readServer(issuer, doc)
	}
	return s, nil, failed("%s has no metadata", t.Origin())
}

func readServer(issuer string, doc strictjson.Value) (credential.Server, []string, error) {
	s := credential.Server{Issuer: text(doc, "issuer"), Authorize: text(doc, "authorization_endpoint"), Token: text(doc, "token_endpoint"),
		Register: text(doc, "registration_endpoint"), Methods: texts(doc, "token_endpoint_auth_methods_supported"),
		TellsSelf: is(doc, "authorization_response_iss_parameter_supported"), Documents: is(doc, "client_id_metadata_document_supported")}
	switch {
	case s.Issuer != issuer:
		return credential.Server{}, nil, failed("the metadata of %s are another issuer's", issuer)
	case !slices.Contains(texts(doc, "code_challenge_methods_supported"), "S256"):
		return credential.Server{}, nil, failed("%s does not announce PKCE with S256, without which a code can be stolen", issuer)
	}
	for _, endpoint := range []string{s.Authorize, s.Token} {
		if _, err := egress.Parse(endpoint); err != nil {
			return credential.Server{}, nil, failed("%s names an endpoint that is no URL", issuer)
		}
	}
	return s, texts(doc, "scopes_supported"), nil
}

func is(v strictjson.Value, name string) bool {
	m, ok := v.Get(name)
	return ok && m.Kind == strictjson.Bool && m.Bool
}

var errAbsent = errors.New("there is no such document")

func (c *Client) document(ctx context.Context, place string) (strictjson.Value, error) {
	resp, raw, err := c.fetch(ctx, http.MethodGet, place, nil, nil)
	switch {
	case err != nil:
		return strictjson.Value{}, err
	case resp.Status >= 400 && resp.Status < 500:
		return strictjson.Value{}, errAbsent
	case resp.Status != http.StatusOK:
		return strictjson.Value{}, failed("metadata: HTTP %d", resp.Status)
	}
	doc, err := strictjson.Parse(raw, limits)
	if err != nil || doc.Kind != strictjson.Object {
		return strictjson.Value{}, failed("metadata that are no JSON object")
	}
	return doc, nil
}
