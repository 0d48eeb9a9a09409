package frame_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/mcp/frame"
)

func handover(t *testing.T, body string) (string, *frame.Problem) {
	t.Helper()
	m, err := frame.Parse([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	p, err := m.Split()
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	out, bad := frame.Handover(m, p)
	return string(out.Body), bad
}

const (
	opening  = `{"jsonrpc":"2.0","id":%s,"method":"initialize","params":%s}`
	hearing  = `{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":%s}`
	asMeta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"x":[1]}}`
	usedMeta = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"","version":""},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
)

// What a session or a stream is opened with is kept as long as it lasts, so
// nothing passes that the host has no use for.
func TestWhatOpensSomethingIsWrittenAnew(t *testing.T) {
	pad := strings.Repeat("x", 60_000)
	for _, tc := range []struct{ name, body, want string }{
		{"initialize", fmt.Sprintf(opening, "1", `{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"a":"`+pad+`"}},"clientInfo":{"name":"n","title":"t","version":"1"},"more":[{}]}`),
			fmt.Sprintf(opening, "1", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}`)},
		{"initialize with nothing", fmt.Sprintf(opening, `"a"`, `{}`),
			fmt.Sprintf(opening, `"a"`, `{"protocolVersion":"","capabilities":{},"clientInfo":{"name":"","version":""}}`)},
		{"listen", fmt.Sprintf(hearing, "7", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["`+pad+`"]},`+asMeta+`}`),
			fmt.Sprintf(hearing, "7", `{`+usedMeta+`,"notifications":{"toolsListChanged":true}}`)},
		{"listen to nothing", fmt.Sprintf(hearing, "7", `{`+asMeta+`}`), fmt.Sprintf(hearing, "7", `{`+usedMeta+`,"notifications":{}}`)},
		{"what opens nothing", `{"jsonrpc":"2.0","id":-5,"method":"ping", "params":{}}`, `{"jsonrpc":"2.0","id":-5,"method":"ping", "params":{}}`},
	} {
		got, bad := handover(t, tc.body)
		if diff := cmp.Diff(tc.want, got); bad != nil || diff != "" {
			t.Errorf("%s: %+v %s", tc.name, bad, diff)
		}
	}
}

func TestWhatOpensSomethingIsHeldToItsForm(t *testing.T) {
	long := `"` + strings.Repeat("x", 257) + `"`
	for _, tc := range []struct {
		body string
		code int
	}{
		{fmt.Sprintf(opening, "1", `{"protocolVersion":1}`), frame.BadParams},
		{fmt.Sprintf(opening, "1", `{"protocolVersion":`+long+`}`), frame.BadParams},
		{fmt.Sprintf(opening, "1", `{"capabilities":[]}`), frame.BadParams},
		{fmt.Sprintf(opening, "1", `{"capabilities":null}`), frame.BadParams},
		{fmt.Sprintf(opening, "1", `{"clientInfo":"x"}`), frame.BadParams},
		{fmt.Sprintf(opening, "1", `{"clientInfo":{"name":1}}`), frame.BadParams},
		{fmt.Sprintf(opening, "1", `{"clientInfo":{"name":"n","version":`+long+`}}`), frame.BadParams},
		{fmt.Sprintf(opening, long, `{}`), frame.BadRequest},
		{fmt.Sprintf(opening, "9007199254740992", `{}`), frame.BadRequest},
		{fmt.Sprintf(hearing, "1", `{"notifications":[]}`), frame.BadParams},
		{fmt.Sprintf(hearing, "1", `{"notifications":{"toolsListChanged":1}}`), frame.BadParams},
		{fmt.Sprintf(hearing, "1", `{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":[]}}}`), frame.BadParams},
		{`{"jsonrpc":"2.0","id":-9007199254740992,"method":"ping"}`, frame.BadRequest},
		{`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, frame.BadRequest},
		{`{"jsonrpc":"2.0","id":-0,"method":"ping"}`, frame.BadRequest},
	} {
		if _, bad := handover(t, tc.body); bad == nil || bad.Code != tc.code {
			t.Errorf("%.120s: %+v, want code %d", tc.body, bad, tc.code)
		}
	}
	for _, id := range []string{"9007199254740991", "-9007199254740991", "0", `""`, `"9007199254740993"`} {
		if _, bad := handover(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`); bad != nil {
			t.Errorf("the id %s: %+v", id, bad)
		}
	}
}
