package upstreams_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/faces/admin"
	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/hosttest"
)

const sendTool = `{"name":"send","title":"Send","description":"Sends a note.",` +
	`"inputSchema":{"type":"object","properties":{"to":{"type":"string","enum":["ann","bob"]},"n":{"type":"integer","minimum":0,"maximum":100}},"additionalProperties":false},` +
	`"outputSchema":{"type":"object","properties":{"id":{"type":"string","maxLength":9}},"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"destructiveHint":false}}`

// Whatever an upstream changes of an approved tool suspends that method and no
// other, within seconds and without a restart; the client is told; the upstream alone
// cannot undo it; and one word of the owner brings it back with its grants, where the
// change is of words or was taken back (field faults, FF39, FF40, FF75, FF76; threats,
// A48).
func TestDriftSuspendsThatMethodOnly(t *testing.T) {
	t.Parallel()
	up := server(t, sendTool, closed("keep", "Keeps."))
	h := hosttest.Start(t)
	app := h.AddApp("app")
	tools := up.use(h, app, "notes", "send", "keep")
	told := make(chan time.Time, 1000)
	session := app.Session(&mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- time.Now() }})
	news := func(t *testing.T) (at time.Time) {
		t.Helper()
		select {
		case at = <-told:
		case <-time.After(hosttest.Patience):
			t.Fatal("the client was not told")
		}
		return at
	}
	socket := client.Dial(filepath.Join(h.Home, "run", admin.SocketName))
	t.Cleanup(socket.Close)
	state := func() (m adminwire.Definition, shown string) {
		r := h.Review("notes")
		for _, d := range r.Methods {
			if d.Method == "send" {
				m = d
			}
		}
		return m, r.Shown
	}
	relisted := func(what string, look func() error) {
		up.write("news", "")
		hosttest.WaitFor(t, what, look)
	}
	settle := func(want string) func() error {
		return func() error {
			if m, _ := state(); m.State != want {
				return fmt.Errorf("it is %s", m.State)
			}
			return nil
		}
	}
	reaffirm := func() (adminwire.Reaffirmed, error) {
		_, shown := state()
		return client.Call(t.Context(), socket, adminwire.ReviewReaffirm, adminwire.Reaffirm{Resource: "notes", Shown: shown, Methods: []string{"send"}})
	}
	works := func(when string) {
		t.Helper()
		if got := up.send(app, "send", `{"to":"ann"}`); code(got) != "ok" {
			t.Errorf("%s: %+v", when, got)
		}
	}
	works("at the start")

	for _, c := range []struct{ name, from, to, kind string }{
		{"the description", "Sends a note.", "Sends a note. Eve reads it.", "wording"},
		{"the title", `"Send"`, `"Look"`, "wording"},
		{"one value of an enum", `"bob"`, `"eve"`, "meaning"},
		{"the output", `"maxLength":9`, `"maxLength":8`, "meaning"},
		{"one hint", `"destructiveHint":false`, `"destructiveHint":true`, "meaning"},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := up.times("tools/call send")
			up.define(strings.Replace(sendTool, c.from, c.to, 1), closed("keep", "Keeps."))
			changed := time.Now()
			relisted("the drift", settle("needs_consent"))
			t.Logf("staged after %v", time.Since(changed))
			t.Logf("told after %v", news(t).Sub(changed))
			if got := up.send(app, "send", `{"to":"ann"}`); code(got) != "needs_consent" {
				t.Errorf("the changed method: %+v", got)
			}
			if got, err := app.Call(tools["send"], map[string]any{"to": "ann"}); err != nil || !strings.Contains(got.Raw, `-32602`) {
				t.Errorf("%v: over MCP the changed method: %s", err, got.Raw)
			}
			if got := up.send(app, "keep", `{}`); code(got) != "ok" {
				t.Errorf("the other method: %+v", got)
			}
			if n := up.times("tools/call send"); n != calls {
				t.Errorf("%d calls went out", n-calls)
			}
			m, _ := state()
			if m.Change == nil || m.Change.Kind != c.kind || len(m.Change.Differences) != 1 || m.Change.Differences[0].Words != (c.kind == "wording") {
				t.Errorf("the owner sees %+v", m.Change)
			}
			if c.kind == "meaning" {
				if _, err := reaffirm(); err == nil || !strings.Contains(err.Error(), "needs_consent") {
					t.Errorf("more than words was reaffirmed: %v", err)
				}
			} else {
				if got, err := reaffirm(); err != nil || got.Grants != 1 {
					t.Errorf("%+v, %v", got, err)
				}
				news(t)
				works("with other words")
			}

			up.define(sendTool, closed("keep", "Keeps."))
			relisted("the way back", func() error {
				if m, _ := state(); m.State != "needs_consent" || !strings.Contains(m.Reason, "took that back") && c.kind == "meaning" {
					return fmt.Errorf("it is %s, %s", m.State, m.Reason)
				}
				return nil
			})
			if c.kind == "wording" {
				news(t) // it was live, and went
			}
			if got := up.send(app, "send", `{"to":"ann"}`); code(got) != "needs_consent" {
				t.Errorf("taken back without the owner: %+v", got)
			}
			if got, err := reaffirm(); err != nil || got.Grants > 1 {
				t.Errorf("%+v, %v", got, err)
			}
			news(t)
			works("taken back")
		})
	}

	t.Run("spelling", func(t *testing.T) {
		other := strings.NewReplacer(`"maximum":100`, `"maximum":1e2`, `"title":"Send","description":"Sends a note.",`, `"description" : "Sends\u0020a note.", "title":"Send",`).Replace(sendTool)
		up.define(closed("keep", "Keeps."), other)
		lists := up.times("tools/list")
		relisted("the listing", func() error {
			if up.times("tools/list") == lists {
				return fmt.Errorf("%d listings", lists)
			}
			return nil
		})
		hosttest.WaitFor(t, "its result", settle("active"))
		works("spelt otherwise")
	})

	t.Run("a new tool", func(t *testing.T) {
		up.define(sendTool, closed("keep", "Keeps."), closed("extra", "New."))
		relisted("the new tool", func() error {
			if r := h.Review("notes"); len(r.Methods) != 3 {
				return fmt.Errorf("%d methods", len(r.Methods))
			}
			return nil
		})
		for _, m := range h.Review("notes").Methods {
			if m.Method == "extra" && (m.State != "proposed" || m.Change != nil) {
				t.Errorf("it is %+v", m)
			}
		}
		if got := up.send(app, "extra", `{}`); code(got) != "grant_required" {
			t.Errorf("it was called: %+v", got)
		}
		works("beside a new one")
	})

	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 {
		t.Errorf("%v, %d tools", err, len(list.Tools))
	}
	var trail adminwire.Verification
	h.JSON(&trail, "journal", "verify")
	if !trail.Holds {
		t.Errorf("the trail: %+v", trail)
	}
}
