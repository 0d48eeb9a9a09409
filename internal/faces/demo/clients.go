package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const modernRevision = "2026-07-28"

// bearer adds the app's token to each request, as a client's configuration does.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// session connects the official Go client, which speaks the protocol with the
// handshake.
func (s *story) session(ctx context.Context) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "steward-demo", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	return client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: s.host.base + "/mcp", HTTPClient: &http.Client{Transport: bearer{s.app.mcp}},
		MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
}

func (s *story) listLegacy() error {
	session, err := s.session(s.ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	list, err := session.ListTools(s.ctx, nil)
	if err != nil {
		return err
	}
	var got []string
	for _, t := range list.Tools {
		got = append(got, t.Name)
		s.say("  %-28s %s", t.Name, t.Description)
	}
	return must(slices.Equal(got, s.granted()), "the app sees %v, want %v", got, s.granted())
}

func (s *story) granted() []string {
	var names []string
	for _, tool := range s.tools {
		names = append(names, tool)
	}
	slices.Sort(names)
	return names
}

func (s *story) callLegacy() error {
	session, err := s.session(s.ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, call := range []struct {
		method string
		args   map[string]any
		want   string
	}{
		{"write_note", map[string]any{"title": noteTitle, "text": noteText}, ""},
		{"read_note", map[string]any{"title": noteTitle}, noteText},
	} {
		got, err := session.CallTool(s.ctx, &sdk.CallToolParams{Name: s.tools[call.method], Arguments: call.args})
		if err != nil {
			return err
		}
		text := contentText(got)
		if err := must(!got.IsError && strings.Contains(text, call.want), "%s answers %q", call.method, text); err != nil {
			return err
		}
		s.say("  %s -> %s", call.method, text)
	}
	return nil
}

func contentText(r *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// reply is what the story needs of a JSON-RPC answer.
type reply struct {
	raw       string
	errorCode string // of a JSON-RPC error
	message   string // of the error, or the text of the result
	isError   bool
	result    strictjson.Value
}

// modern sends one request of the stateless protocol by plain HTTP.
func (s *story) modern(method, name string, params map[string]any) (reply, error) {
	meta, _ := params["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["io.modelcontextprotocol/protocolVersion"] = modernRevision
	meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "steward-demo", "version": "1"}
	meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
	params["_meta"] = meta
	body, err := strictjson.Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return reply{}, err
	}
	headers := map[string]string{"MCP-Protocol-Version": modernRevision, "Mcp-Method": method,
		"Accept": "application/json, text/event-stream"}
	if name != "" {
		headers["Mcp-Name"] = name
	}
	raw, err := s.post("/mcp", s.app.mcp, body, headers)
	if err != nil {
		return reply{}, err
	}
	return readReply(raw)
}

func (s *story) modernCall(method string, args map[string]any) (reply, error) {
	return s.modern("tools/call", s.tools[method], map[string]any{"name": s.tools[method], "arguments": args})
}

// readReply takes a JSON body or the data line of an event stream.
func readReply(raw []byte) (reply, error) {
	for line := range bytes.Lines(raw) {
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			raw = bytes.TrimSpace(data)
		}
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil {
		return reply{}, fmt.Errorf("not a JSON-RPC answer: %q", raw)
	}
	r := reply{raw: string(raw)}
	if e, ok := v.Get("error"); ok {
		code, _ := e.Get("code")
		message, _ := e.Get("message")
		r.errorCode, r.message = code.Text, message.Text
		return r, nil
	}
	r.result, _ = v.Get("result")
	isError, _ := r.result.Get("isError")
	r.isError = isError.Bool
	content, _ := r.result.Get("content")
	for _, block := range content.Items {
		text, _ := block.Get("text")
		r.message += text.Text
	}
	return r, nil
}

func (s *story) callModern() error {
	list, err := s.modern("tools/list", "", map[string]any{})
	if err != nil {
		return err
	}
	tools, _ := list.result.Get("tools")
	var got []string
	for _, t := range tools.Items {
		name, _ := t.Get("name")
		got = append(got, name.Text)
	}
	if err := must(slices.Equal(got, s.granted()), "the app sees %v: %s", got, list.raw); err != nil {
		return err
	}
	read, err := s.modernCall("read_note", map[string]any{"title": noteTitle})
	if err != nil {
		return err
	}
	s.say("  read_note -> %s", read.message)
	return must(!read.isError && strings.Contains(read.message, noteText), "it answers %s", read.raw)
}

// post sends one bounded request to the host.
func (s *story) post(path, token string, body []byte, headers map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.host.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, bound.AnswerBytes.Max))
}
