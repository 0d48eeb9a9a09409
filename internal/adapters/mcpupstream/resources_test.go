package mcpupstream

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// reads is an upstream with resources.
func reads(list, read func(u *upstream, m request) int) script {
	return script{
		initialize: func(u *upstream, m request) int {
			return u.result(m, strings.Replace(greetingJSON, `{"tools":{}}`, `{"resources":{"subscribe":true}}`, 1))
		},
		list: func(u *upstream, m request) int { return u.error(m, `{"code":-32601,"message":"no tools here"}`) },
		other: func(u *upstream, m request) int {
			switch m.Method {
			case "resources/list":
				return list(u, m)
			case "resources/read":
				return read(u, m)
			}
			return goOn
		},
	}
}

func says(result string) func(*upstream, request) int {
	return func(u *upstream, m request) int { return u.result(m, result) }
}

func refuses(object string) func(*upstream, request) int {
	return func(u *upstream, m request) int { return u.error(m, object) }
}

func silent(*upstream, request) int { return goOn }

// What is said of resources, byte for byte, in both eras. Nothing is said of them
// unasked.
func TestWhatIsSaidOfResources(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"steward","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	list := func(u *upstream, m request) int {
		if m.Params.Cursor == "" {
			return u.result(m, `{"resources":[{"uri":"a:1","name":"one","mimeType":"text/plain"}],"nextCursor":"n"}`)
		}
		return u.result(m, `{"resources":[{"uri":"a:2","name":"two"}]}`)
	}
	read := says(`{"contents":[{"uri":"a:1","text":"x"}]}`)
	stateless := reads(list, read)
	stateless.initialize = refuses(`{"code":-32601,"message":""}`)
	stateless.discover = says(`{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{}}}`)
	for _, c := range []struct {
		name   string
		script script
		want   []string
	}{
		{"handshake", reads(list, read), []string{
			`{"jsonrpc":"2.0","id":3,"method":"resources/list","params":{}}`,
			`{"jsonrpc":"2.0","id":4,"method":"resources/list","params":{"cursor":"n"}}`,
			`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"a:\"1\""}}`,
		}},
		{"stateless", stateless, []string{
			`{"jsonrpc":"2.0","id":4,"method":"resources/list","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","id":5,"method":"resources/list","params":{"cursor":"n",` + meta + `}}`,
			`{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"a:\"1\"",` + meta + `}}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, c.script)
				offered, err := r.List(t.Context())
				if err != nil || !offered.Readable || len(offered.Tools) != 0 || r.count("resources/") != 0 {
					t.Fatalf("%+v, %v", offered, err)
				}
				all, err := r.Resources(t.Context())
				if diff := cmp.Diff([]answer.Resource{{URI: "a:1", Name: "one", MimeType: "text/plain"}, {URI: "a:2", Name: "two"}}, all); diff != "" || err != nil {
					t.Errorf("%v\n%s", err, diff)
				}
				parts, err := r.ReadResource(t.Context(), `a:"1"`)
				if diff := cmp.Diff([]answer.Content{{URI: "a:1", Text: "x"}}, parts); diff != "" || err != nil {
					t.Errorf("%v\n%s", err, diff)
				}
				said := r.received()
				if diff := cmp.Diff(strings.Join(c.want, "\n")+"\n", strings.Join(said[len(said)-3:], "")); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
				r.Close()
			})
		})
	}
}

// A read is all of a resource or a fault; what is over a bound is refused, and the
// session goes on.
func TestAReadGivesAllOrAFault(t *testing.T) {
	ofParts := func(n int) string {
		return `{"contents":[` + strings.TrimSuffix(strings.Repeat(`{"uri":"a","text":""},`, n), ",") + `]}`
	}
	ofBlob := func(n int) string {
		return `{"contents":[{"uri":"a","mimeType":"image/png","blob":"` + base64.StdEncoding.EncodeToString(make([]byte, n)) + `"}]}`
	}
	most := bound.ReadContentBytes.Int()
	none := refusal{fault.UpstreamFailed, "resources/read: a part is neither a text nor a blob of a uri", nil}
	for _, c := range []struct {
		name  string
		read  func(*upstream, request) int
		parts []answer.Content // its first ones
		count int
		want  refusal
	}{
		{"texts and bytes", says(`{"resultType":"complete","contents":[{"uri":"a","mimeType":"text/plain","text":"é"},{"uri":"b","mimeType":"image/png","blob":"AP8="}],"_meta":{}}`),
			[]answer.Content{{URI: "a", MimeType: "text/plain", Text: "é"}, {URI: "b", MimeType: "image/png", Blob: []byte{0, 255}}}, 2, refusal{}},
		{"nothing in it", says(`{"contents":[]}`), nil, 0, refusal{}},
		{"most parts", says(ofParts(bound.ReadChunks.Int())), nil, 64, refusal{}},
		{"one part more", says(ofParts(bound.ReadChunks.Int() + 1)), nil, 0, refusal{fault.TooLarge, "read_chunks is limited to 64", nil}},
		{"most bytes", says(ofBlob(most)), []answer.Content{{URI: "a", MimeType: "image/png", Blob: make([]byte, most)}}, 1, refusal{}},
		{"one byte more", says(ofBlob(most + 1)), nil, 0, refusal{fault.TooLarge, "read_content_bytes is limited to 524288 bytes", nil}},
		{"over the answer", says(ofBlob(1 << 20)), nil, 0, refusal{fault.TooLarge, "resources/read: read_answer_bytes is limited to 1048576 bytes", nil}},
		{"over a line", says(ofBlob(8 << 20)), nil, 0, refusal{fault.TooLarge, "resources/read: read_answer_bytes is limited to 1048576 bytes", nil}},
		{"both", says(`{"contents":[{"uri":"a","text":"x","blob":"AP8="}]}`), nil, 0, none},
		{"neither", says(`{"contents":[{"uri":"a"}]}`), nil, 0, none},
		{"no uri", says(`{"contents":[{"text":"x"}]}`), nil, 0, none},
		{"a number for a text", says(`{"contents":[{"uri":"a","text":1}]}`), nil, 0, none},
		{"one of two spoilt", says(`{"contents":[{"uri":"a","text":"x"},7]}`), nil, 0, none},
		{"no base64", says(`{"contents":[{"uri":"a","blob":"?"}]}`), nil, 0, refusal{fault.UpstreamFailed, "resources/read: a blob is not base64", nil}},
		{"no list", says(`{"contents":{}}`), nil, 0, refusal{fault.UpstreamFailed, "resources/read: the answer has no list of contents", nil}},
		{"not an object", says(`[]`), nil, 0, refusal{fault.UpstreamFailed, "resources/read: the answer is not an object", nil}},
		{"not all of it", says(`{"resultType":"input_required","contents":[]}`), nil, 0, refusal{fault.UpstreamFailed, `resources/read: result type "input_required"`, nil}},
		{"a name twice", says(`{"contents":[{"uri":"a","text":"x","text":"y"}]}`), nil, 0, refusal{fault.UpstreamFailed, "resources/read: a member name stands twice in one object", nil}},
		{"not there", refuses(`{"code":-32002,"message":"no"}`), nil, 0, refusal{fault.NotFound, "the server has no such resource", nil}},
		{"not there, stateless", refuses(`{"code":-32602,"message":"no"}`), nil, 0, refusal{fault.NotFound, "the server has no such resource", nil}},
		{"refused", refuses(`{"code":-32603,"message":"out of\u0007luck"}`), nil, 0, refusal{fault.UpstreamFailed, "resources/read: -32603: out of luck", nil}},
		{"no answer", silent, nil, 0, refusal{fault.Unavailable, "resources/read: no answer in time", nil}},
		{"the upstream ends", func(*upstream, request) int { return 3 }, nil, 0, refusal{fault.Unavailable, "resources/read: exit code 3", nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, reads(says(`{"resources":[]}`), c.read))
				began := time.Now()
				got, err := r.ReadResource(t.Context(), "a")
				demandRefusal(t, "read", err, c.want)
				if len(got) != c.count {
					t.Errorf("%d parts, want %d", len(got), c.count)
				}
				if diff := cmp.Diff(c.parts, got[:min(len(c.parts), len(got))]); len(c.parts) > 0 && diff != "" {
					t.Error(diff)
				}
				if n := r.count("resources/read"); n != 1 {
					t.Errorf("%d messages asked", n)
				}
				if c.name == "no answer" {
					synctest.Wait()
					if r.count("notifications/cancelled") != 1 || time.Since(began) != bound.CallDeadline.Duration() {
						t.Errorf("after %v the upstream was told %q", time.Since(began), r.received())
					}
				}
				if _, err := r.Resources(t.Context()); c.name != "the upstream ends" && err != nil {
					t.Errorf("the session is of no more use: %v", err)
				}
				r.Close()
			})
		})
	}
}

// A list is all that there is or a fault; one entry spoils no other.
func TestAListOfResourcesIsAllOrAFault(t *testing.T) {
	entries := func(n, pages int) func(*upstream, request) int {
		return func(u *upstream, m request) int {
			page := 0
			fmt.Sscanf(m.Params.Cursor, "page %d", &page)
			next := ""
			if page+1 < pages {
				next = fmt.Sprintf(`,"nextCursor":"page %d"`, page+1)
			}
			var all []string
			for i := range n {
				all = append(all, fmt.Sprintf(`{"uri":"a:%d-%d","name":"x"}`, page, i))
			}
			return u.result(m, `{"resources":[`+strings.Join(all, ",")+`]`+next+`}`)
		}
	}
	long := strings.Repeat("x", bound.ResourceURIBytes.Int())
	for _, c := range []struct {
		name  string
		list  func(*upstream, request) int
		count int
		want  refusal
	}{
		{"most", entries(512, 1), 512, refusal{}},
		{"most, over pages", entries(4, 128), 512, refusal{}},
		{"one more", entries(513, 1), 0, refusal{fault.TooLarge, "principal_definitions is limited to 512", nil}},
		{"more, over pages", entries(19, 27), 0, refusal{fault.TooLarge, "principal_definitions is limited to 512", nil}},
		{"a page more", entries(1, 129), 0, refusal{fault.TooLarge, "listing_pages is limited to 128", nil}},
		{"spoilt entries", says(`{"resources":[{"uri":"a","name":"a"},{"name":"none"},{"uri":7},7,{"uri":"` + long + `"},{"uri":"` + long + `y"},{"uri":"b","x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}]}`), 2, refusal{}},
		{"no list", says(`{"resources":null}`), 0, refusal{fault.UpstreamFailed, "resources/list: the answer has no list of resources", nil}},
		{"a number for a cursor", says(`{"resources":[],"nextCursor":1}`), 0, refusal{fault.UpstreamFailed, "resources/list: the cursor is not a text", nil}},
		{"refused", refuses(`{"code":-32601,"message":"no"}`), 0, refusal{fault.UpstreamFailed, "resources/list: -32601: no", nil}},
		{"no answer", silent, 0, refusal{fault.Unavailable, "resources/list: no answer in time", nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, reads(c.list, silent))
				got, err := r.Resources(t.Context())
				demandRefusal(t, "list", err, c.want)
				if len(got) != c.count {
					t.Errorf("%d resources, want %d", len(got), c.count)
				}
				r.Close()
			})
		})
	}
}

// What is no URI does not go out, and neither does anything for who has gone.
func TestReadsThatMustNotGoOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, reads(silent, silent))
		for _, uri := range []string{"", "\xff", strings.Repeat("x", bound.ResourceURIBytes.Int()+1)} {
			_, err := r.ReadResource(t.Context(), uri)
			demandRefusal(t, "read", err, refusal{fault.InvalidArgs, "that is no URI of a resource", nil})
		}
		if r.starts() != 0 {
			t.Error("an upstream was started for it")
		}
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		gone, stop := context.WithCancel(t.Context())
		stop()
		_, err := r.ReadResource(gone, "a")
		demandRefusal(t, "gone", err, refusal{fault.Unavailable, "resources/read: no answer in time", nil})
		synctest.Wait()
		if n := r.count("resources/read") + r.count("notifications/cancelled"); n != 0 {
			t.Errorf("%d lines went out", n)
		}
		r.Close()
	})
}

// Against a server that others wrote.
func TestResourcesOfTheOfficialSDK(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "v"}, &mcp.ServerOptions{PageSize: 1})
	for _, uri := range []string{"a:1", "a:2"} {
		server.AddResource(&mcp.Resource{URI: uri, Name: uri}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text"}, {URI: r.Params.URI, Blob: []byte("\x00"), MIMEType: "x/y"}}}, nil
		})
	}
	client := onSDK(t, server)
	listing, err := client.List(t.Context())
	if err != nil || !listing.Readable {
		t.Fatalf("%+v, %v", listing, err)
	}
	all, err := client.Resources(t.Context())
	if diff := cmp.Diff([]answer.Resource{{URI: "a:1", Name: "a:1"}, {URI: "a:2", Name: "a:2"}}, all); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	parts, err := client.ReadResource(t.Context(), "a:2")
	if diff := cmp.Diff([]answer.Content{{URI: "a:2", Text: "text"}, {URI: "a:2", MimeType: "x/y", Blob: []byte{0}}}, parts); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	_, err = client.ReadResource(t.Context(), "a:3")
	demandRefusal(t, "unknown", err, refusal{fault.NotFound, "the server has no such resource", nil})
}
