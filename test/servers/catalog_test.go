//go:build npm

package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

const canary = "canary-9f8e7d6c"

func TestOtherServersOfTheProtocolsAuthors(t *testing.T) {
	t.Setenv("STEWARD_TEST_CANARY", canary) // of the host, and not for its servers
	graph := filepath.Join(t.TempDir(), "graph.jsonl")
	for _, c := range []struct {
		server  string
		env     map[string]string
		tools   int
		lossy   int // tools that lose something
		refused int // tools that can be called as a task only
		method  string
		effects string
		args    map[string]any
		check   func(t *testing.T, text, raw string)
	}{
		{"everything", map[string]string{"GIVEN": "yes"}, 13, 0, 1, "get-env", "read", map[string]any{}, func(t *testing.T, text, _ string) {
			var env map[string]string
			if err := json.Unmarshal([]byte(text), &env); err != nil || env["GIVEN"] != "yes" {
				t.Errorf("%v: %s", err, text)
			}
			if strings.Contains(text, canary) {
				t.Errorf("the host's environment reached the server: %s", text)
			}
		}},
		{"everything", nil, 13, 0, 1, "get-structured-content", "read", map[string]any{"location": "Chicago"}, func(t *testing.T, text, raw string) {
			if !strings.Contains(raw, `"structuredContent":{"temperature":`) {
				t.Errorf("no structured content: %s", raw)
			}
		}},
		{"memory", map[string]string{"MEMORY_FILE_PATH": graph}, 9, 0, 0, "create_entities", "write", map[string]any{"entities": []any{
			map[string]any{"name": "bread", "entityType": "food", "observations": []any{"is out"}}}}, func(t *testing.T, _, _ string) {
			if kept, err := os.ReadFile(graph); err != nil || !strings.Contains(string(kept), "is out") {
				t.Errorf("the graph is %q: %v", kept, err)
			}
		}},
		{"sequential-thinking", nil, 1, 0, 0, "sequentialthinking", "compute", map[string]any{"thought": "one", "nextThoughtNeeded": false,
			"thoughtNumber": 1, "totalThoughts": 1}, func(t *testing.T, text, _ string) {
			if !strings.Contains(text, `"thoughtNumber": 1`) {
				t.Errorf("it thinks %s", text)
			}
		}},
	} {
		t.Run(c.server+" "+c.method, func(t *testing.T) {
			h := hosttest.Start(t)
			config := h.Config(map[string]hosttest.Server{"outside": npmServer(t, c.server, c.env).Server})
			plan := map[string]int{}
			for _, tool := range h.Plan(config).Tools {
				plan[tool.Outcome]++
			}
			if plan["as_is"]+plan["narrowed"] != c.tools-c.lossy-c.refused || plan["lossy"] != c.lossy || plan["refused"] != c.refused {
				t.Errorf("the plan of %d tools is %v", c.tools, plan)
			}
			if n := len(h.Import(config)[0].Methods); n != c.tools {
				t.Errorf("%d methods, want %d", n, c.tools)
			}
			h.Approve("outside", map[string]string{c.method: c.effects})
			app := h.AddApp("reader")
			got := modern(t, app, app.Grant("outside", c.method)[c.method], c.args)
			if got.Status != 200 || got.IsError() {
				t.Fatalf("%d %s", got.Status, got.Raw)
			}
			c.check(t, got.Text(), got.Raw)
			if diff := cmp.Diff(map[string]int{"succeeded": 1}, states(t, h)); diff != "" {
				t.Errorf("the journal's calls (-want +got):\n%s", diff)
			}
			verify(t, h)
		})
	}
}

func TestAServerKilledInTheMiddleOfACall(t *testing.T) {
	server := npmServer(t, "everything", nil)
	h := hosttest.Start(t)
	h.Import(h.Config(map[string]hosttest.Server{"outside": server.Server}))
	const slow = "trigger-long-running-operation"
	h.Approve("outside", map[string]string{slow: "write", "echo": "read"})
	review := h.Review("outside")
	app := h.AddApp("patient")
	tools := app.Grant("outside", slow, "echo")
	args := map[string]any{"duration": 25, "steps": 1}

	tx := newTx()
	answered := make(chan rpcwire.Response, 1)
	go func() {
		got, err := app.Send(rpcwire.Request{Tx: tx, Resource: review.Resource.ID, Contract: review.Methods[0].Contract, Method: slow,
			Args: rpcwire.Raw(`{"duration":25,"steps":1}`)})
		if err != nil {
			t.Error(err)
		}
		answered <- got
	}()
	var row adminwire.Invocation
	hosttest.WaitFor(t, "the dispatch mark", func() error {
		if _, code := h.CLI("journal", "show", tx, "--json"); code != 0 {
			return os.ErrNotExist
		}
		h.JSON(&row, "journal", "show", tx)
		if row.State != "dispatching" {
			return os.ErrNotExist
		}
		return nil
	})
	if err := syscall.Kill(server.pid(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := <-answered
	if got.Status != rpcwire.Indeterminate || got.Effects != rpcwire.Uncertain || got.Error.Retry != "after_reconcile" {
		t.Errorf("the cut call: %+v", got)
	}
	if again := send(t, app, review, newTx(), slow, args); again.Error == nil || again.Error.Code != "conflict" || again.Effects != rpcwire.NotDispatched {
		t.Errorf("an equal call: %+v", again)
	}
	hosttest.WaitFor(t, "the server to be back", func() error {
		if got := modern(t, app, tools["echo"], map[string]any{"message": "still there"}); got.IsError() {
			return os.ErrDeadlineExceeded
		}
		return nil
	})
	h.Do("journal", "reconcile", row.ID, "did-not")
	if after := send(t, app, review, tx, slow, args); after.Status != rpcwire.Failed || !after.Replayed {
		t.Errorf("the same tx after the owner's word: %+v", after)
	}
	verify(t, h)
}

// Field faults, FF35.
func TestNoServerOutlivesItsHost(t *testing.T) {
	server := npmServer(t, "everything", nil)
	h := hosttest.Start(t)
	h.Import(h.Config(map[string]hosttest.Server{"outside": server.Server}))
	h.Approve("outside", map[string]string{"echo": "read"})
	app := h.AddApp("reader")
	tool := app.Grant("outside", "echo")["echo"]
	if got := modern(t, app, tool, map[string]any{"message": "one"}); got.Text() != "Echo: one" {
		t.Errorf("before the kill: %s", got.Raw)
	}
	first := server.pid(t)
	h.Kill()
	hosttest.WaitFor(t, "the server to end", func() error {
		if err := syscall.Kill(first, 0); !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("process %d is there", first)
		}
		return nil
	})
	h.Restart()
	if got := modern(t, app, tool, map[string]any{"message": "two"}); got.Text() != "Echo: two" {
		t.Errorf("after the restart: %s", got.Raw)
	}
	verify(t, h)
}
