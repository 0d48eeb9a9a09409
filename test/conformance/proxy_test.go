package conformance

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The suite has neither tokens nor any idea of our stable tool names. proxy is
// what stands between: it adds the token of one app, and shows the app's tools
// under the names that the upstream gave them. Everything else passes as it is,
// Host and Origin too.
type proxy struct {
	token  string
	inward map[string]string // the upstream's name to ours
	behind *httputil.ReverseProxy
}

type askedFor struct{} // key of the JSON-RPC method in a request's context

func newProxy(base, token string, inward map[string]string) (*proxy, error) {
	target, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	p := &proxy{token: token, inward: inward}
	p.behind = &httputil.ReverseProxy{
		FlushInterval: -1, // of a stream, each event at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+p.token)
			if name, ok := p.inward[r.In.Header.Get("Mcp-Name")]; ok {
				r.Out.Header.Set("Mcp-Name", name)
			}
		},
		ModifyResponse: p.answered,
	}
	return p, nil
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	method := methodOf(body)
	if method == "tools/call" {
		body = rename(body, p.inward, "params", "name")
	}
	r = r.WithContext(context.WithValue(r.Context(), askedFor{}, method))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	p.behind.ServeHTTP(w, r)
}

// answered renames the tools of a list, in a JSON body or in the events of a
// stream that ends with the list.
func (p *proxy) answered(r *http.Response) error {
	if r.Request.Context().Value(askedFor{}) != "tools/list" {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	outward := map[string]string{}
	for its, ours := range p.inward {
		outward[ours] = its
	}
	lines := [][]byte{body}
	prefix := ""
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		lines, prefix = bytes.SplitAfter(body, []byte("\n")), "data:"
	}
	var out []byte
	for _, line := range lines {
		if data, ok := bytes.CutPrefix(line, []byte(prefix)); ok {
			text := bytes.TrimRight(data, "\r\n")
			line = slices.Concat([]byte(prefix), rename(text, outward, "result", "tools", "*", "name"), data[len(text):])
		}
		out = append(out, line...)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	if r.Header.Get("Content-Length") != "" {
		r.Header.Set("Content-Length", strconv.Itoa(len(out)))
	}
	return nil
}

func methodOf(body []byte) string {
	v, err := strictjson.Parse(body, strictjson.Limits{})
	if err != nil {
		return ""
	}
	method, _ := v.Get("method")
	return method.Text
}

// rename changes the names at a path of a message; a message that has none, or
// that is no JSON, comes back as it is.
func rename(message []byte, names map[string]string, path ...string) []byte {
	v, err := strictjson.Parse(message, strictjson.Limits{})
	if err != nil {
		return message
	}
	changed := false
	v = edit(v, path, func(s strictjson.Value) strictjson.Value {
		if name, ok := names[s.Text]; ok && s.Kind == strictjson.String {
			s.Text, changed = name, true
		}
		return s
	})
	if !changed {
		return message
	}
	return v.Append(nil)
}

// edit changes the values at a path in a copy; * is every item of a list.
func edit(v strictjson.Value, path []string, f func(strictjson.Value) strictjson.Value) strictjson.Value {
	if len(path) == 0 {
		return f(v)
	}
	v.Items, v.Members = slices.Clone(v.Items), slices.Clone(v.Members)
	for i := range v.Items {
		if path[0] == "*" {
			v.Items[i] = edit(v.Items[i], path[1:], f)
		}
	}
	for i, m := range v.Members {
		if m.Name == path[0] {
			v.Members[i].Value = edit(m.Value, path[1:], f)
		}
	}
	return v
}

// seen is what reached the host behind the proxy.
type seen struct {
	Host, Origin, Token, Name string
	Body                      string
}

func TestProxyRenamesToolsAndNothingElse(t *testing.T) {
	const list = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a_0","description":"a_0","x":9007199254740993},{"name":"other_2"}],"b":1,"a":2}}`
	const listed = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"a_0","x":9007199254740993},{"name":"other_2"}],"b":1,"a":2}}`
	for _, c := range []struct {
		name, body, header, media, answer string
		wantBody, wantHeader, wantAnswer  string
	}{
		{"a list in JSON", `{"method":"tools/list"}`, "", "application/json", list, `{"method":"tools/list"}`, "", listed},
		{"a list in a stream", `{"method":"tools/list"}`, "", "text/event-stream", "event: message\r\ndata: " + list + "\r\n\r\n",
			`{"method":"tools/list"}`, "", "event: message\r\ndata:" + listed + "\r\n\r\n"},
		{"a call", `{"method":"tools/call","params":{"name":"a","arguments":{"name":"a","n":1e400}}}`, "a", "application/json", list,
			`{"method":"tools/call","params":{"name":"a_0","arguments":{"name":"a","n":1e400}}}`, "a_0", list},
		{"a call whose header differs", `{"method":"tools/call","params":{"name":"a"}}`, "wrong", "application/json", "{}",
			`{"method":"tools/call","params":{"name":"a_0"}}`, "wrong", "{}"},
		{"a call of an unknown tool", `{"method":"tools/call","params":{"name":"b"}}`, "b", "application/json", "{}",
			`{"method":"tools/call","params":{"name":"b"}}`, "b", "{}"},
		{"another method", `{"method":"prompts/get","params":{"name":"a"}}`, "", "application/json", list,
			`{"method":"prompts/get","params":{"name":"a"}}`, "", list},
		{"no JSON", `{"method":"tools/call",`, "", "application/json", "nothing", `{"method":"tools/call",`, "", "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make(chan seen, 1)
			front := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got <- seen{r.Host, r.Header.Get("Origin"), r.Header.Get("Authorization"), r.Header.Get("Mcp-Name"), string(body)}
				w.Header().Set("Content-Type", c.media)
				io.WriteString(w, c.answer)
			})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front+"/mcp", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = "elsewhere.example"
			req.Header.Set("Origin", "http://elsewhere.example")
			if c.header != "" {
				req.Header.Set("Mcp-Name", "  "+c.header+"  ")
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			want := seen{"elsewhere.example", "http://elsewhere.example", "Bearer secret", c.wantHeader, c.wantBody}
			if diff := cmp.Diff(want, <-got); diff != "" {
				t.Errorf("the host saw (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantAnswer, string(answer)); diff != "" {
				t.Errorf("the client got (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProxyPassesEventsOnAtOnce(t *testing.T) {
	more := make(chan bool)
	front := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-more
		io.WriteString(w, "data: 2\n\n")
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front+"/mcp", strings.NewReader(`{"method":"subscriptions/listen"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	first, err := lines.ReadString('\n')
	if err != nil || first != "data: 1\n" {
		t.Errorf("first %q: %v", first, err)
	}
	more <- true
	rest, err := io.ReadAll(lines)
	if err != nil || string(rest) != "\ndata: 2\n\n" {
		t.Errorf("rest %q: %v", rest, err)
	}
}

// serve puts a proxy that knows the one tool a, which we call a_0, before a host.
func serve(t *testing.T, host http.HandlerFunc) (front string) {
	t.Helper()
	back := httptest.NewServer(host)
	t.Cleanup(back.Close)
	p, err := newProxy(back.URL, "secret", map[string]string{"a": "a_0"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return server.URL
}
