package frame_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/faces/mcp/frame"
)

func TestTheHeaderPicksTheEra(t *testing.T) {
	for version, want := range map[string]struct {
		era    frame.Era
		spoken bool
	}{
		"": {frame.Legacy, true}, "2024-11-05": {frame.Legacy, true}, "2025-03-26": {frame.Legacy, true}, "2025-06-18": {frame.Legacy, true},
		"2025-11-25": {frame.Legacy, true}, "2026-07-28": {frame.Modern, true}, "2027-01-01": {frame.Modern, true},
		"2025-12-01": {frame.Legacy, false}, "1": {frame.Legacy, false},
	} {
		if era, spoken := frame.EraOf(version); era != want.era || spoken != want.spoken {
			t.Errorf("%q is era %d, spoken %v", version, era, spoken)
		}
	}
}

// FuzzHeaders holds every accepted request of the newer revision to what headers
// and body must share, as encoding/json reads the body.
func FuzzHeaders(f *testing.F) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	f.Add("2026-07-28", "tools/call", "a", []byte(call))
	f.Add("2026-07-28", "tools/call", "", []byte(call))
	f.Add("2027-07-28", "tools/list", "a", []byte(call))
	f.Add("2026-07-28", "ping", "", []byte(`{"jsonrpc":"2.0","method":"ping"}`))
	f.Fuzz(func(t *testing.T, version, method, name string, body []byte) {
		m, err := frame.Parse(body)
		if err != nil {
			return
		}
		p, err := m.Split()
		if err != nil {
			return
		}
		h := http.Header{}
		h.Set(frame.VersionHeader, version)
		h.Set(frame.MethodHeader, method)
		h.Set(frame.NameHeader, name)
		if frame.CheckModern(m, p, h) != nil {
			return
		}
		// Maps, since encoding/json takes a name of a struct in any case.
		var message, params, meta map[string]json.RawMessage
		var inBody, tool string
		_ = json.Unmarshal(body, &message)
		_ = json.Unmarshal(message["params"], &params)
		_ = json.Unmarshal(params["_meta"], &meta)
		_ = json.Unmarshal(meta[sdk.MetaKeyProtocolVersion], &inBody)
		_ = json.Unmarshal(params["name"], &tool)
		switch {
		case m.Method != method:
			t.Errorf("method %q passes as %q", m.Method, method)
		case m.ID != nil && (inBody != version || !slices.Contains(sdk.SupportedProtocolVersions(), version)):
			t.Errorf("version %q passes as %q", inBody, version)
		case m.Method == frame.CallTool && (tool != name || name == ""):
			t.Errorf("name %q passes as %q", tool, name)
		}
	})
}
