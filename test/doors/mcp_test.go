package doors_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// mcp posts a body to the MCP door in the revision that is named, as a client of
// a session where there is one.
func (h *house) mcp(version, session, token, body string) (int, string) {
	h.t.Helper()
	status, raw, _ := h.post(version, session, token, body)
	return status, raw
}

func (h *house) post(version, session, token, body string) (int, string, http.Header) {
	h.t.Helper()
	r, err := http.NewRequest(http.MethodPost, h.web.URL+"/mcp", strings.NewReader(body))
	h.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", version)
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if version == modern {
		var m struct {
			Method string
			Params json.RawMessage
		}
		var named struct{ Name any }
		_ = json.Unmarshal([]byte(body), &m) // a body that is no message has no headers of its own
		_ = json.Unmarshal(m.Params, &named)
		r.Header.Set("Mcp-Method", m.Method)
		if name, ok := named.Name.(string); ok {
			r.Header.Set("Mcp-Name", name)
		}
	}
	resp, err := h.web.Client().Do(r)
	h.must(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	h.must(err)
	return resp.StatusCode, string(raw), resp.Header
}

// session opens a session of the older revisions.
func (h *house) session(token string) string {
	h.t.Helper()
	_, raw, header := h.post(legacy, "", token, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if header.Get("Mcp-Session-Id") == "" {
		h.t.Fatal(raw)
	}
	return header.Get("Mcp-Session-Id")
}

// toolCall writes tools/call with these members of params besides those that the
// revision asks for.
func toolCall(version, params string) string {
	if version == modern {
		const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
		if !strings.Contains(params, `"_meta":{`) {
			params += `,"_meta":{}`
		}
		params = strings.Replace(strings.Replace(params, `"_meta":{`, `"_meta":{`+meta+`,`, 1), meta+`,}`, meta+`}`, 1)
	}
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `}}`
}

// rows counts the trail after a restart, which writes what was not waited for
// and a row that starts the next epoch.
func (h *house) rows() int64 {
	h.t.Helper()
	h.restart()
	v := do(h, adminwire.JournalVerify, adminwire.Empty{})
	if !v.Holds {
		h.t.Errorf("the trail does not hold: %+v", v)
	}
	return v.Rows
}

// Every attempt at the MCP door has one row in the trail as well, in both eras,
// also one that no other floor has seen (invariant I63).
func TestEveryAttemptAtToolsHasOneAuditRow(t *testing.T) {
	for _, version := range []string{legacy, modern} {
		t.Run(version, func(t *testing.T) {
			h := newHouse(t)
			h.notes()
			_, tokens := h.app("reader", "read_note")
			granted := do(h, adminwire.GrantsList, adminwire.ListGrants{App: "reader"})
			tool := granted.Grants[0].Tool
			h.up.set(func(u *upstream) {
				u.events = []invocation.Event{{Kind: invocation.Answered, Result: []byte(`{"content":[]}`)}, {Kind: invocation.Rejected}, {Kind: invocation.Broken}}
			})
			tx := `"_meta":{"io.github.stewardhost/tx":"` + id.NewTx(time.Now()).String() + `"}`
			named := func(name, rest string) string { return `"name":"` + name + `",` + rest }
			at := time.Now()
			h.now = func() time.Time { return at } // lists are counted by the minute, and this one does not end
			before := h.rows()
			session := ""
			if version == legacy {
				session = h.session(tokens["mcp"])
			}
			attempts := []struct{ name, token, params string }{
				{"an answer", tokens["mcp"], named(tool, `"arguments":{"id":1},`+tx)},
				{"a replay", tokens["mcp"], named(tool, `"arguments":{"id":1},`+tx)},
				{"another request under its tx", tokens["mcp"], named(tool, `"arguments":{"id":2},`+tx)},
				{"a failure", tokens["mcp"], named(tool, `"arguments":{"id":3}`)},
				{"a doubt", tokens["mcp"], named(tool, `"arguments":{"id":4}`)},
				{"a call that is held back", tokens["mcp"], named(tool, `"arguments":{"id":4}`)},
				{"arguments that do not fit", tokens["mcp"], named(tool, `"arguments":{}`)},
				{"arguments without an exact form", tokens["mcp"], named(tool, `"arguments":{"id":9007199254740993}`)},
				{"arguments that are null", tokens["mcp"], named(tool, `"arguments":null`)},
				{"a twin of the arguments", tokens["mcp"], named(tool, `"arguments":{"id":5},"Arguments":{"id":6}`)},
				{"a name that is guessed", tokens["mcp"], named("admin_tools_list", `"arguments":{}`)},
				{"the upstream's own name", tokens["mcp"], named("read_note", `"arguments":{"id":1}`)},
				{"a tx that is none", tokens["mcp"], named(tool, `"arguments":{"id":1},"_meta":{"io.github.stewardhost/tx":"x"}`)},
				{"no name", tokens["mcp"], `"arguments":{}`},
				{"no token", "", named(tool, `"arguments":{"id":1}`)},
				{"another door's token", tokens["rpc"], named(tool, `"arguments":{"id":1}`)},
			}
			// A name that is not remembered is looked for in a list: of those of a minute
			// the first has a row, and the others are one row with a count.
			const listed = 2
			for _, a := range attempts {
				_, answer := h.mcp(version, session, a.token, toolCall(version, a.params))
				t.Logf("%s: %.200s", a.name, answer)
			}
			if got, want := h.rows(), before+int64(len(attempts))+listed+1; got != want {
				t.Errorf("%d rows, want %d", got, want)
			}
		})
	}
}

// What is no request at all, of whatever kind, is answered with its row of the
// error table at both doors, and leaves a row in the trail.
func TestBadBodiesHaveTheirRowAtBothDoors(t *testing.T) {
	h := newHouse(t)
	h.notes()
	_, tokens := h.app("reader", "read_note")
	for name, tc := range map[string]struct {
		body   string
		code   fault.Code
		status int // at the MCP door
	}{
		"nothing":                {"", fault.InvalidRequest, 400},
		"broken off":             {`{"jsonrpc":`, fault.InvalidRequest, 400},
		"a member twice":         {`{"v":1,"v":1}`, fault.InvalidRequest, 400},
		"a twin in another case": {`{"v":1,"V":1,"jsonrpc":"2.0","JSONRPC":"2.0","id":1,"method":"ping"}`, fault.InvalidRequest, 400},
		"two documents":          {`{}{}`, fault.InvalidRequest, 400},
		"no UTF-8":               {"{\"v\":\"\xff\"}", fault.InvalidRequest, 400},
		"a list":                 {`[]`, fault.InvalidRequest, 400},
		"too deep":               {`{"args":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, fault.InvalidRequest, 400},
		"too long":               {`{"v":"` + strings.Repeat("x", 64<<10) + `"}`, fault.TooLarge, 413},
	} {
		row, _ := fault.Lookup(tc.code)
		status, raw := h.rpc(rpcwire.Call.Path, tokens["rpc"], tc.body)
		if got := decoded(t, raw); status != row.HTTP || got.Error == nil || got.Error.Code != string(tc.code) {
			t.Errorf("rpc, %s: %d %s", name, status, raw)
		}
		for _, version := range []string{legacy, modern} {
			status, raw := h.mcp(version, "", tokens["mcp"], tc.body)
			var got struct {
				ID    any
				Error struct {
					Code int
					Data struct{ Code string }
				}
			}
			if err := json.Unmarshal([]byte(raw), &got); err != nil || status != tc.status || got.ID != nil || got.Error.Code != row.RPC ||
				got.Error.Data.Code != string(tc.code) {
				t.Errorf("mcp %s, %s: %d %s", version, name, status, raw)
			}
		}
	}
	for _, version := range []string{legacy, modern} {
		status, raw := h.mcp(version, "", "none", `{}`)
		row, _ := fault.Lookup(fault.Unauthenticated)
		if status != 401 || !strings.Contains(raw, fmt.Sprintf(`"code":%d`, row.RPC)) {
			t.Errorf("mcp %s: %d %s", version, status, raw)
		}
	}
}

// The access log of a call names what the journal knows it by.
func TestToolCallsAreFoundInTheLog(t *testing.T) {
	h := newHouse(t)
	h.notes()
	_, tokens := h.app("reader", "read_note")
	tool := do(h, adminwire.GrantsList, adminwire.ListGrants{App: "reader"}).Grants[0].Tool
	tx := id.NewTx(time.Now()).String()
	h.mcp(modern, "", tokens["mcp"], toolCall(modern, `"name":"`+tool+`","arguments":{"id":1},"_meta":{"io.github.stewardhost/tx":"`+tx+`"}`))
	h.mcp(modern, "", tokens["mcp"], toolCall(modern, `"name":"guessed","arguments":{}`))
	h.mcp(modern, "", tokens["mcp"], toolCall(modern, `"name":"`+tool+`","arguments":{}`))
	h.stop()
	log := h.log.String()
	for _, want := range []string{"tx=" + tx + " invocation=inv_", "code=not_found", "code=invalid_args"} {
		if strings.Count(log, want) != 1 {
			t.Errorf("%q is not once in:\n%s", want, log)
		}
	}
}
