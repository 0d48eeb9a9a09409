package busdoor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// A module is a capsule like any other, but that each request has an instance of its
// own, that nothing of the machine is in it, and that one that goes wrong takes no
// other request with it.
func TestAModuleIsACapsule(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("helper")
	dir := t.TempDir()
	write(t, dir, "Capsule.toml", `name = "abacus"
version = "1"
publisher = "test"
runtime = "wasm"
module = "./abacus.wasm"
[publish]
"resource.v1.response.describe.*" = {}
"resource.v1.response.read.*" = {}
"tool.v1.response.describe.*" = {}
"tool.v1.response.execute.*" = {}
[subscribe]
"resource.v1.request.describe" = { handler = "describe" }
"resource.v1.request.read" = { handler = "read" }
"tool.v1.request.describe" = { handler = "tools" }
"tool.v1.execute.*" = { handler = "execute" }
`)
	if _, text, exit := h.Run("", "capsule", "install", dir); exit == 0 || !strings.Contains(text, "module cannot be read") {
		t.Errorf("without its module: %d %s", exit, text)
	}
	write(t, dir, "abacus.wasm", "\x7fELF")
	if _, text, exit := h.Run("", "capsule", "install", dir); exit == 0 || !strings.Contains(text, "no WebAssembly module") {
		t.Errorf("with another file for its module: %d %s", exit, text)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "abacus.wasm"), "./test/busdoor/abacus")
	build.Dir, build.Env = hosttest.Root(t), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.Do("capsule", "install", dir)
	all := map[string]string{"add": "read", "trap": "write", "spin": "write", "eat": "write", "rest": "write", "look": "write"}
	h.Approve("abacus", all)
	tools := app.Grant("abacus", "read", "add", "trap", "spin", "eat", "rest", "look")

	s := app.Session(nil)
	wantListed(t, s, "abacus:trap abacus:who")
	if got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "abacus:who"}); err != nil || got.Contents[0].Text != "abacus" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "abacus:trap"}); code(err) != -32603 || !strings.Contains(err.Error(), "it cannot be read now") {
		t.Errorf("a read that traps: %v", err)
	}
	for range 2 { // in another instance each time
		if got := call(t, app, tools["add"], map[string]any{"a": 1, "b": 2}); !strings.Contains(got.Raw, `"structuredContent":{"calls":1,"sum":3}`) {
			t.Errorf("add: %s", got.Raw)
		}
	}
	if got := call(t, app, tools["rest"], map[string]any{}); got.Text() != "rested" {
		t.Errorf("rest: %s", got.Raw)
	}
	if got := call(t, app, tools["look"], map[string]any{}); got.Text() != "true true true 0 0" {
		t.Errorf("it sees more than nothing: %s", got.Raw)
	}
	review := h.Review("abacus")
	contract := ""
	for _, m := range review.Methods {
		if m.Method == "spin" {
			contract = m.Contract
		}
	}
	for _, method := range []string{"trap", "eat", "spin"} {
		patience := int64(20_000)
		if method == "spin" {
			patience = 700
		}
		got, err := app.Send(rpcwire.Request{Tx: id.NewTx(time.Now()).String(), Resource: review.Resource.ID, Contract: contract, Method: method, Args: rpcwire.Raw("{}"), DeadlineMS: &patience})
		if err != nil || got.Status != rpcwire.Indeterminate || method != "spin" && got.Error.Details["reason"] != "broken" {
			t.Errorf("%s: %+v, %v", method, got, err)
		}
		if got := call(t, app, tools["add"], map[string]any{"a": 2, "b": 2}); got.IsError() {
			t.Errorf("after %s: %s", method, got.Raw)
		}
	}
	if c := capsule(t, h, "abacus"); c.State != "ready" || c.Restarts != 0 || c.PID != 0 {
		t.Errorf("it is %+v", c)
	}
	if out := h.Do("capsule", "logs", "abacus"); !strings.Contains(out, "panic") && !strings.Contains(out, "ended") && !strings.Contains(out, "memory") {
		t.Errorf("its log is %q", out)
	}
	h.Restart()
	wantListed(t, app.Session(nil), "abacus:trap abacus:who")
	write(t, dir, "abacus.wasm", "\x00asm\x01\x00\x00\x00")
	h.Restart()
	if c := capsule(t, h, "abacus"); c.State != "changed" {
		t.Errorf("a changed module is %+v", c)
	}
}

// BF1: a module that was written by `steward capsule new` works as it is, is compiled
// once it is installed, and is never silently missing from a list: not from the first
// one after the installation, nor after a start, nor where it has to be compiled again.
func TestANewModuleWorksAsItIsWritten(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	dir := scaffold(t, h, "notes", "--runtime", "wasm")
	h.Do("capsule", "install", filepath.Join(dir, "notes"))
	kept, err := filepath.Glob(filepath.Join(h.Home, "compiled", "*", "sum"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("what was compiled is kept in %q, %v", kept, err)
	}
	h.Do("grants", "add", "reader", "notes", "read")
	listedOrTold(t, h, reader)
	s := reader.Session(nil)
	if got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "notes:hello"}); err != nil || !strings.HasPrefix(got.Contents[0].Text, "It is ") {
		t.Errorf("%+v, %v", got, err)
	}
	before, err := os.Stat(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	h.Restart()
	listedOrTold(t, h, reader)
	if after, err := os.Stat(kept[0]); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("it was compiled again: %v", err)
	}
	h.Stop()
	if err := os.Truncate(kept[0], 0); err != nil {
		t.Fatal(err)
	}
	h.Restart()
	listedOrTold(t, h, reader)
}

// listedOrTold wants each list from now on to hold the capsule or to say that it
// lacks it, in both eras, and one to hold it in the end. A person sees the same.
func listedOrTold(t *testing.T, h *hosttest.Host, a *hosttest.App) {
	t.Helper()
	old := handshake(t, h, a)
	for whole := false; !whole; {
		got, err := a.Modern("resources/list", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		shown := capsule(t, h, "notes")
		for _, raw := range []string{got.Raw, old.ask("resources/list", "{}")} {
			whole = strings.Contains(raw, `"uri":"notes:hello"`)
			told := strings.Contains(raw, `"io.github.stewardhost/incomplete":{"cut":false,"missing":[{"capsule":"notes","why":"warming"}]}`)
			if whole == told {
				t.Fatalf("listed: %t, told: %t: %s", whole, told, raw)
			}
		}
		if shown.State != "ready" && shown.State != "starting" && shown.State != "compiling" {
			t.Fatalf("it is shown as %+v", shown)
		}
	}
}
