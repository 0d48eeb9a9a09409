package hosttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// Modern is the revision of MCP that App.Modern speaks.
const Modern = "2026-07-28"

// App is an app of the host's owner, with its tokens.
type App struct {
	ID, Name string
	MCP, RPC string // tokens
	host     *Host
}

// AddApp makes an app.
func (h *Host) AddApp(name string) *App {
	h.t.Helper()
	var added adminwire.AddedApp
	h.JSON(&added, "apps", "add", name)
	a := &App{ID: added.ID, Name: added.Name, host: h}
	a.take(added)
	return a
}

// Rotate gives the app new tokens.
func (a *App) Rotate() {
	a.host.t.Helper()
	var added adminwire.AddedApp
	a.host.JSON(&added, "apps", "rotate", a.Name)
	a.take(added)
}

func (a *App) take(added adminwire.AddedApp) {
	a.host.t.Helper()
	a.MCP, a.RPC = "", ""
	for _, token := range added.Tokens {
		switch token.Audience {
		case "mcp":
			a.MCP = token.Token
		case "rpc":
			a.RPC = token.Token
		}
	}
	if a.MCP == "" || a.RPC == "" {
		a.host.t.Fatalf("the app %s has no token for each door", a.Name)
	}
}

// Grant gives the app methods of a resource and returns the tool names that all
// its grants have, by method.
func (a *App) Grant(resource string, methods ...string) map[string]string {
	a.host.t.Helper()
	a.host.Do(append([]string{"grants", "add", a.Name, resource}, methods...)...)
	return a.Tools()
}

// Tools gives the tool names of the app's live grants, by method.
func (a *App) Tools() map[string]string {
	a.host.t.Helper()
	out := map[string]string{}
	for _, g := range a.Grants() {
		if g.State == "active" {
			out[g.Method] = g.Tool
		}
	}
	return out
}

// Grants gives every row of the app.
func (a *App) Grants() []adminwire.Grant {
	a.host.t.Helper()
	var all adminwire.Grants
	a.host.JSON(&all, "grants", "list")
	var out []adminwire.Grant
	for _, g := range all.Grants {
		if g.AppID == a.ID {
			out = append(out, g)
		}
	}
	return out
}

// Post sends one body to a path of the doors and returns the status and the
// answer. Safe for concurrent use; a failure to exchange is status 0.
func (h *Host) Post(path, token string, body []byte, headers map[string]string) (int, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, bound.AnswerBytes.Max))
	if err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, raw
}

// bearer adds a token to each request, as a client's configuration does.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// Session connects the official Go client, which speaks with the handshake. It
// is closed when the test ends.
func (a *App) Session(opt *mcp.ClientOptions) *mcp.ClientSession {
	a.host.t.Helper()
	if opt == nil {
		opt = &mcp.ClientOptions{}
	}
	opt.Capabilities = &mcp.ClientCapabilities{}
	client := mcp.NewClient(&mcp.Implementation{Name: "steward-test", Version: "1"}, opt)
	s, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: a.host.BaseURL + "/mcp",
		HTTPClient: &http.Client{Transport: bearer{a.MCP}}, MaxRetries: -1}, nil)
	if err != nil {
		a.host.t.Fatal(err)
	}
	a.host.t.Cleanup(func() { s.Close() })
	return s
}

// Reply is a JSON-RPC answer.
type Reply struct {
	Status int // of HTTP
	Result strictjson.Value
	Error  strictjson.Value // null where there is none
	Raw    string
}

// IsError reports whether the answer is a tool's result that says so.
func (r Reply) IsError() bool {
	v, _ := r.Result.Get("isError")
	return v.Bool
}

// Text joins the text blocks of a tool's result.
func (r Reply) Text() (out string) {
	content, _ := r.Result.Get("content")
	for _, block := range content.Items {
		text, _ := block.Get("text")
		out += text.Text
	}
	return out
}

// Code is the machine code of a tool's result that is no success, empty where
// there is none.
func (r Reply) Code() string {
	told, _ := r.meta("error")
	code, _ := told.Get("code")
	return code.Text
}

// Tx is the transaction that the host minted for a call, or was given.
func (r Reply) Tx() string {
	tx, _ := r.meta("tx")
	return tx.Text
}

func (r Reply) meta(name string) (strictjson.Value, bool) {
	meta, _ := r.Result.Get("_meta")
	return meta.Get("io.github.stewardhost/" + name)
}

// Modern sends one request of the stateless revision by plain HTTP; params are a
// struct or map of JSON values, and get the _meta that the revision asks for.
// Safe for concurrent use.
func (a *App) Modern(method, name string, params map[string]any) (Reply, error) {
	meta := map[string]any{
		mcp.MetaKeyProtocolVersion: Modern, mcp.MetaKeyClientCapabilities: map[string]any{},
		mcp.MetaKeyClientInfo: map[string]any{"name": "steward-test", "version": "1"},
	}
	given, _ := params["_meta"].(map[string]any)
	for key, value := range given {
		meta[key] = value
	}
	all := map[string]any{"_meta": meta}
	for key, value := range params {
		if key != "_meta" {
			all[key] = value
		}
	}
	body, err := strictjson.Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": all})
	if err != nil {
		return Reply{}, err
	}
	headers := map[string]string{"MCP-Protocol-Version": Modern, "Mcp-Method": method, "Accept": "application/json, text/event-stream"}
	if name != "" {
		headers["Mcp-Name"] = name
	}
	status, raw := a.host.Post("/mcp", a.MCP, body, headers)
	return readReply(status, raw)
}

// Call calls a tool in the stateless revision. Safe for concurrent use.
func (a *App) Call(tool string, args any) (Reply, error) {
	return a.Modern("tools/call", tool, map[string]any{"name": tool, "arguments": args})
}

// readReply takes a JSON body or the last message of an event stream.
func readReply(status int, raw []byte) (Reply, error) {
	for line := range bytes.Lines(raw) {
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			raw = bytes.TrimSpace(data)
		}
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil {
		return Reply{}, fmt.Errorf("HTTP %d, no JSON-RPC answer: %q", status, raw)
	}
	r := Reply{Status: status, Raw: string(raw)}
	r.Result, _ = v.Get("result")
	r.Error, _ = v.Get("error")
	return r, nil
}

// Send sends one request to /rpc/v1. Safe for concurrent use.
func (a *App) Send(r rpcwire.Request) (rpcwire.Response, error) {
	var out rpcwire.Response
	r.V = rpcwire.Version
	body, err := strictjson.Encode(r)
	if err != nil {
		return out, err
	}
	status, raw := a.host.Post(rpcwire.Call.Path, a.RPC, body, nil)
	if err := strictjson.Decode(raw, strictjson.Limits{}, &out); err != nil {
		return out, fmt.Errorf("HTTP %d, no response: %q: %w", status, raw, err)
	}
	return out, nil
}
