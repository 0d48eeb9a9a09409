// Command caller is steward's client of remote servers as the public conformance
// suite runs it: it connects to the URL that is its last argument, lists the tools
// and calls each. Where a server wants a credential it goes the owner's way, whose
// browser it plays itself, and it says yes to every exception that the egress
// policy proposes, which no owner would. A call that was refused for want of scope
// is called anew, a bounded number of times.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/issuer"
	"github.com/stewardhost/steward/internal/adapters/issuer/browser"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/remote"
	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/means/egress"
)

const (
	patience = 20 * time.Second
	tries    = 3
	document = "https://conformance-test.local/client-metadata.json"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	err := run(ctx, os.Args[len(os.Args)-1])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "caller:", err)
		os.Exit(1)
	}
}

// caller is one run; mu guards what is below it.
type caller struct {
	url    string
	gate   *egress.Gate
	given  struct{ ClientID, ClientSecret string } // by the suite
	scopes []string

	mu        sync.Mutex
	token     credential.Token
	challenge map[string]string
}

func run(ctx context.Context, url string) error {
	c := &caller{url: url, gate: egress.New(egress.Options{})}
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given)
	c.given.ClientID, c.given.ClientSecret = given.ClientID, given.ClientSecret
	for n := range tries {
		again, err := c.converse(ctx)
		if !again || n == tries-1 {
			return err
		}
		if err := c.authorize(ctx); err != nil {
			return err
		}
	}
	return nil
}

// let says yes to what the policy proposes and reports whether there was anything.
func (c *caller) let(err error) bool {
	if err == nil {
		return false
	}
	exception, ok := fault.From(err).Details["exception"].(string)
	if !ok {
		return false
	}
	gate, err := c.gate.Also(exception)
	if err == nil {
		c.gate = gate
	}
	return err == nil
}

// converse connects, lists and calls; again says that a wider credential is wanted.
func (c *caller) converse(ctx context.Context) (again bool, err error) {
	target, err := egress.Parse(c.url)
	if err != nil {
		return false, err
	}
	for c.let(c.gate.Look(ctx, target)) {
	}
	client := mcpupstream.NewRemote("suite", remote.Spec{Gate: c.gate, Target: target, Header: http.Header{}, Authorize: c.lend, Refused: c.refused}, mcpupstream.Options{Version: "conformance"})
	defer client.Close()
	listing, err := client.List(ctx)
	if err != nil {
		return c.wanted(), errors.Join(err, errors.New(client.Status().Reason))
	}
	for _, tool := range listing.Tools {
		if tool.Trouble != nil || bytes.Contains(tool.Raw, []byte("x-mcp-header")) {
			continue // the importer refuses such a tool, valid or not (threats, A50)
		}
		if e := client.Call(ctx, tool.Name, arguments(tool.Raw, listing.Tools), nil); e.Kind != invocation.Answered {
			if c.wanted() {
				return true, fmt.Errorf("%s: %s", tool.Name, e.Detail)
			}
			fmt.Fprintln(os.Stderr, tool.Name, e.Kind, e.Detail)
		}
	}
	return false, nil
}

func (c *caller) lend(context.Context) (secret.Secret, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token.Access, nil
}

func (c *caller) refused(status int, _ secret.Secret, challenge string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, _ := issuer.Bearer(challenge)
	if found == nil {
		found = map[string]string{}
	}
	if status == http.StatusUnauthorized || found["error"] == "insufficient_scope" {
		c.challenge = found
	}
	return ""
}

// wanted reports whether a credential was asked for since it was last asked.
func (c *caller) wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.challenge != nil
}

// arguments gives each required member of a tool's input some value; a member that
// is a schema gets the first one that was listed, byte for byte.
func arguments(raw []byte, listed []mcpupstream.RawTool) []byte {
	var tool struct {
		InputSchema struct {
			Required   []string
			Properties map[string]struct{ Type string }
		}
	}
	_ = json.Unmarshal(raw, &tool)
	values := map[string]any{"string": "text", "number": 5, "integer": 5, "boolean": true, "array": []any{}, "object": map[string]any{}}
	args := map[string]any{}
	for _, name := range tool.InputSchema.Required {
		args[name] = values[tool.InputSchema.Properties[name].Type]
		var first struct{ InputSchema json.RawMessage }
		if name == "schema" && json.Unmarshal(listed[0].Raw, &first) == nil {
			args[name] = first.InputSchema
		}
	}
	out, _ := json.Marshal(args)
	return out
}

// authorize goes the owner's way.
func (c *caller) authorize(ctx context.Context) error {
	c.mu.Lock()
	asked := strings.Fields(c.challenge["scope"])
	c.challenge = nil
	c.mu.Unlock()
	server, err := c.discover(ctx)
	if err != nil {
		return err
	}
	c.scopes = credential.Union(c.scopes, asked)
	server.Scopes = credential.Union(server.Scopes, c.scopes)
	c.scopes = server.Scopes
	state, verifier := rand.Text(), rand.Text()+rand.Text()
	back, err := browser.Open(ctx, state)
	if err != nil {
		return err
	}
	defer back.Close()
	issuers := issuer.New(c.gate, issuer.Options{Version: "conformance", Document: document})
	client := issuers.Known(server, c.given.ClientID, secret.Of(c.given.ClientSecret))
	if c.given.ClientID == "" {
		if client, err = issuers.Register(ctx, server, back.Redirect()); err != nil {
			return err
		}
	}
	sum := sha256.Sum256([]byte(verifier))
	link, err := issuers.Request(server, client, back.Redirect(), state, base64.RawURLEncoding.EncodeToString(sum[:]))
	if err != nil {
		return err
	}
	resp, err := http.Get(link)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	select {
	case answer := <-back.Answer():
		code, err := server.Code(answer, state)
		if err != nil {
			return err
		}
		token, err := issuers.Exchange(ctx, server, client, code, verifier, back.Redirect(), time.Now())
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.token = token
		c.mu.Unlock()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *caller) discover(ctx context.Context) (credential.Server, error) {
	for {
		server, err := issuer.New(c.gate, issuer.Options{Version: "conformance"}).Discover(ctx, c.url)
		if err == nil || !c.let(err) {
			return server, err
		}
	}
}
