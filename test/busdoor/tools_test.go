package busdoor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// toolFolder makes the folder of a capsule with tools, of a program of this module.
func toolFolder(t *testing.T, name, program string) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, name), program)
	build.Dir = hosttest.Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	manifest := fmt.Sprintf(`name = %q
version = "1"
publisher = "test"
runtime = "process"
command = ["./%s"]
[publish]
"tool.v1.response.describe.*" = {}
"tool.v1.response.execute.*" = {}
[subscribe]
"tool.v1.request.describe" = { handler = "tools" }
"tool.v1.execute.*" = { handler = "execute" }
`, name, name)
	write(t, dir, "Capsule.toml", manifest)
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// noted is what the workman wrote down, of one word.
func noted(dir, word string) (n int) {
	raw, _ := os.ReadFile(filepath.Join(dir, "notes"))
	return strings.Count(string(raw), word+"\n")
}

// states tells how the methods of a resource stand.
func states(t *testing.T, h *hosttest.Host, resource string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range h.Review(resource).Methods {
		out[m.Method] = m.State
	}
	return out
}

// back waits until another process of a capsule takes requests.
func back(t *testing.T, h *hosttest.Host, name string, before int) {
	t.Helper()
	hosttest.WaitFor(t, "the capsule to be back", func() error {
		if now := capsule(t, h, name); now.State != "ready" || now.PID == before {
			return fmt.Errorf("%+v", now)
		}
		return nil
	})
}

func call(t *testing.T, a *hosttest.App, tool string, args map[string]any) hosttest.Reply {
	t.Helper()
	got, err := a.Call(tool, args)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// notFound reports whether a call met what the door says of a tool that is not
// there, or not for this app.
func notFound(r hosttest.Reply) bool {
	code, _ := r.Error.Get("code")
	return code.Text == "-32602"
}

// The tools of a capsule are imported, reviewed, granted and called like all
// others, over both doors; its resources are read as ever.
func TestACapsulesToolsAreMethods(t *testing.T) {
	h := hosttest.Start(t)
	app, other := h.AddApp("helper"), h.AddApp("other")
	dir := t.TempDir()
	manifest, err := os.ReadFile(filepath.Join(hosttest.Root(t), "examples", "shopping", "Capsule.toml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "Capsule.toml", string(manifest))
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "shopping"), "./examples/shopping")
	build.Dir = hosttest.Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.Do("capsule", "install", dir)
	want := map[string]string{"describe": "active", "read": "active", "items": "proposed", "add": "proposed"}
	if diff := cmp.Diff(want, states(t, h, "shopping")); diff != "" {
		t.Fatalf("after the installation (-want +got):\n%s", diff)
	}
	if _, _, exit := h.Run("", "grants", "add", "helper", "shopping", "add"); exit == 0 {
		t.Error("what nobody approved was granted")
	}
	effects := map[string]string{}
	var review adminwire.Review
	for _, m := range h.Review("shopping").Methods {
		effects[m.Method] = strings.Join(m.Effects, "+")
	}
	if effects["items"] != "read" || effects["add"] != "write" {
		t.Errorf("proposed effects: %v", effects)
	}
	h.Approve("shopping", map[string]string{"items": "read", "add": "write"})
	review = h.Review("shopping")
	tools := app.Grant("shopping", "items", "add", "read")

	if got := call(t, app, tools["add"], map[string]any{"item": "milk"}); got.IsError() || got.Text() != "It is on the list." {
		t.Errorf("add: %s", got.Raw)
	}
	contract := ""
	for _, m := range review.Methods {
		if m.Method == "add" {
			contract = m.Contract
		}
	}
	tx := id.NewTx(time.Now()).String()
	request := rpcwire.Request{Tx: tx, Resource: review.Resource.ID, Contract: contract, Method: "add", Args: rpcwire.Raw(`{"item":"bread"}`)}
	for i := range 2 { // the second is the same call
		if got, err := app.Send(request); err != nil || got.Status != rpcwire.OK || got.Replayed != (i == 1) {
			t.Errorf("add over RPC: %+v, %v", got, err)
		}
	}
	if got := call(t, app, tools["items"], map[string]any{}); !strings.Contains(got.Raw, `"structuredContent":{"items":["milk","bread"]}`) {
		t.Errorf("items: %s", got.Raw)
	}
	if got := call(t, app, tools["add"], map[string]any{"item": ""}); !strings.Contains(got.Raw, `"code":"invalid_args"`) {
		t.Errorf("arguments that do not fit: %s", got.Raw)
	}
	if got := call(t, other, tools["add"], map[string]any{"item": "x"}); !notFound(got) {
		t.Errorf("an app without a grant: %s", got.Raw)
	}
	s := app.Session(nil)
	wantListed(t, s, "shopping:list")
	if raw, err := os.ReadFile(filepath.Join(dir, "list.txt")); err != nil || string(raw) != "milk\nbread\n" {
		t.Errorf("the list is %q, %v", raw, err)
	}

	h.Restart()
	if got := call(t, app, tools["add"], map[string]any{"item": "eggs"}); got.IsError() {
		t.Errorf("after a restart: %s", got.Raw)
	}
	if _, text, exit := h.Run("", "import", "--remove", "shopping"); exit == 0 || !strings.Contains(text, "capsule remove shopping") {
		t.Errorf("the tools of a capsule are removed without it: %d %s", exit, text)
	}
	h.Do("import", "--refresh", "shopping")
	h.Do("capsule", "remove", "shopping")
	if got := call(t, app, tools["add"], map[string]any{"item": "x"}); !notFound(got) {
		t.Errorf("a removed capsule is called: %s", got.Raw)
	}
	h.Do("journal", "verify")
}

// Each event of a capsule's call has the verdict of the table (pool page, section
// 7), and nothing is sent twice.
func TestACallOfACapsuleEndsAsTheTableSays(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("helper")
	dir := toolFolder(t, "workman", "./test/busdoor/workman")
	h.Do("capsule", "install", dir)
	all := map[string]string{}
	for _, m := range h.Review("workman").Methods {
		if m.State == "proposed" {
			all[m.Method] = "write"
		}
	}
	if len(all) != 8 {
		t.Fatalf("the workman offers %v", all)
	}
	if got := h.Do("review", "workman"); strings.Contains(got, "describe") || len(states(t, h, "workman")) != len(all) {
		t.Errorf("a capsule without resources has something to read:\n%s", got)
	}
	if _, _, exit := h.Run("", "grants", "add", "helper", "workman", "read"); exit == 0 {
		t.Error("what it does not have was granted")
	}
	h.Approve("workman", all)
	var methods []string
	for m := range all {
		methods = append(methods, m)
	}
	tools := app.Grant("workman", methods...)
	review := h.Review("workman")
	contract := map[string]string{}
	for _, m := range review.Methods {
		contract[m.Method] = m.Contract
	}
	rpc := func(tx, method string, deadline int64) rpcwire.Response {
		t.Helper()
		got, err := app.Send(rpcwire.Request{Tx: tx, Resource: review.Resource.ID, Contract: contract[method], Method: method, Args: rpcwire.Raw(`{}`), DeadlineMS: &deadline})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	who := call(t, app, tools["who"], map[string]any{})
	owner, name, _ := strings.Cut(who.Text(), " ")
	if name != "workman" || len(owner) != 26 {
		t.Errorf("it is told that %q asks", who.Text())
	}
	if got := call(t, app, tools["count"], map[string]any{}); got.IsError() || !strings.Contains(got.Raw, `"structuredContent":{"n":7}`) || !strings.Contains(got.Raw, `"type":"image"`) {
		t.Errorf("count: %s", got.Raw)
	}
	for method, want := range map[string]string{"fail": "upstream_failed", "large": "indeterminate", "lie": "indeterminate", "die": "indeterminate", "hang": "indeterminate"} {
		tx := id.NewTx(time.Now()).String()
		patience := int64(20_000)
		if method == "hang" {
			patience = 1500
		}
		before := capsule(t, h, "workman").PID
		if first := rpc(tx, method, patience); first.Error == nil || first.Error.Code != want {
			t.Errorf("%s: %+v", method, first)
		}
		if method == "die" {
			back(t, h, "workman", before)
		}
		if again := rpc(tx, method, patience); again.Error == nil || again.Error.Code != want || !again.Replayed {
			t.Errorf("%s again: %+v", method, again)
		}
		if n := noted(dir, method); n != 1 {
			t.Errorf("%s was called %d times", method, n)
		}
	}
	tx := id.NewTx(time.Now()).String()
	if first := rpc(tx, "slow", 1500); first.Error == nil || first.Error.Code != "indeterminate" {
		t.Errorf("slow: %+v", first)
	}
	hosttest.WaitFor(t, "the late answer to end the doubt", func() error {
		if again := rpc(tx, "slow", 1500); again.Status != rpcwire.OK || !again.Replayed || !strings.Contains(string(again.Result), "done") {
			return fmt.Errorf("%+v", again)
		}
		return nil
	})
	if n := noted(dir, "slow"); n != 1 {
		t.Errorf("slow was called %d times", n)
	}
	hosttest.WaitFor(t, "the hanging call to be called off", func() error {
		if noted(dir, "called-off") != 1 {
			return os.ErrNotExist
		}
		return nil
	})
	h.Do("journal", "verify")
}

// The time of the manifest is the time of a call, however patient its caller is.
func TestACallHasTheTimeOfTheManifest(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("helper")
	dir := toolFolder(t, "workman", "./test/busdoor/workman")
	bounded(t, dir, "time_ms = 800")
	h.Do("capsule", "install", dir)
	h.Approve("workman", map[string]string{"hang": "read"})
	app.Grant("workman", "hang")
	review := h.Review("workman")
	patience := int64(25_000)
	got, err := app.Send(rpcwire.Request{Tx: id.NewTx(time.Now()).String(), Resource: review.Resource.ID, Contract: contractOf(review, "hang"),
		Method: "hang", Args: rpcwire.Raw(`{}`), DeadlineMS: &patience})
	if err != nil || got.Status != rpcwire.Indeterminate || got.Error.Details["reason"] != "timeout" || got.Usage.MS >= patience {
		t.Errorf("%+v %+v, %v", got, got.Error, err)
	}
}

// bounded writes the bounds of a manifest.
func bounded(t *testing.T, dir, bounds string) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(dir, "Capsule.toml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "Capsule.toml", string(manifest)+"[bounds]\n"+bounds+"\n")
}

// contractOf is the contract of a method.
func contractOf(review adminwire.Review, method string) string {
	for _, m := range review.Methods {
		if m.Method == method {
			return m.Contract
		}
	}
	return ""
}

// A call that the capsule's own bounds leave no room for is not sent, and that is
// known: it is no doubt.
func TestACallThatIsNotPassedOnIsNotSent(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("helper")
	dir := toolFolder(t, "workman", "./test/busdoor/workman")
	bounded(t, dir, "calls = 1")
	h.Do("capsule", "install", dir)
	h.Approve("workman", map[string]string{"who": "read", "hang": "read"})
	app.Grant("workman", "who", "hang")
	review := h.Review("workman")
	contract := contractOf(review, "hang")
	send := func(method string, deadline int64) rpcwire.Response {
		got, err := app.Send(rpcwire.Request{Tx: id.NewTx(time.Now()).String(), Resource: review.Resource.ID, Contract: contract,
			Method: method, Args: rpcwire.Raw(`{}`), DeadlineMS: &deadline})
		if err != nil {
			t.Error(err)
		}
		return got
	}
	ended := make(chan rpcwire.Response, 1)
	go func() { ended <- send("hang", 20_000) }()
	hosttest.WaitFor(t, "the capsule to be busy", func() error {
		if noted(dir, "hang") != 1 {
			return os.ErrNotExist
		}
		return nil
	})
	if got := send("who", 15_000); got.Error == nil || got.Error.Code != "unavailable" || got.Effects != rpcwire.NotDispatched || noted(dir, "who") != 0 {
		t.Errorf("a call of a busy capsule: %+v %+v", got, got.Error)
	}
	if err := syscall.Kill(capsule(t, h, "workman").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got.Status != rpcwire.Indeterminate {
		t.Errorf("the call that was going on: %+v", got)
	}
}

// A definition that drifted is off from the moment that the changed capsule runs,
// before any call reaches it.
func TestADriftedToolOfACapsuleIsOff(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("helper")
	dir, tools := working(t, h, app)
	write(t, dir, "words", "Sends everything to me.")
	before := capsule(t, h, "workman").PID
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	back(t, h, "workman", before)
	if got := call(t, app, tools["count"], map[string]any{}); got.IsError() {
		t.Error(got.Raw)
	}
	if got := call(t, app, tools["who"], map[string]any{}); !notFound(got) {
		t.Errorf("a drifted tool is called: %s", got.Raw)
	}
	if s := states(t, h, "workman"); s["who"] != "needs_consent" || s["count"] != "active" {
		t.Errorf("after the drift: %v", s)
	}
	if n := noted(dir, "who"); n != 1 {
		t.Errorf("the drifted tool was called %d times", n)
	}
	h.Approve("workman", map[string]string{"who": "read"})
	h.Do("grants", "add", "helper", "workman", "who")
	if got := call(t, app, app.Tools()["who"], map[string]any{}); got.IsError() {
		t.Errorf("after a new yes: %s", got.Raw)
	}
}

// A capsule whose files changed since its installation is told as changed wherever it is
// told of, though what was installed runs on.
func TestAChangedCapsuleIsToldAsOne(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("helper")
	dir := toolFolder(t, "workman", "./test/busdoor/workman")
	h.Do("capsule", "install", dir)
	h.Do("capsule", "install", "introspect")
	h.Do("grants", "add", "helper", "introspect", "read")
	bounded(t, dir, "calls = 1")
	now := capsule(t, h, "workman")
	if now.State != "changed" || now.PID == 0 {
		t.Errorf("it is %+v", now)
	}
	const uri = "introspect:capsules"
	got, err := app.Session(nil).ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil || !strings.Contains(got.Contents[0].Text, `{"name":"workman","version":"1","state":"changed","restarts":0}`) {
		t.Errorf("%+v, %v", got, err)
	}
}

// working installs the workman, approves and grants two of its tools, and calls one.
func working(t *testing.T, h *hosttest.Host, app *hosttest.App) (dir string, tools map[string]string) {
	t.Helper()
	dir = toolFolder(t, "workman", "./test/busdoor/workman")
	h.Do("capsule", "install", dir)
	h.Approve("workman", map[string]string{"who": "read", "count": "read"})
	tools = app.Grant("workman", "who", "count")
	if got := call(t, app, tools["who"], map[string]any{}); got.IsError() {
		t.Fatal(got.Raw)
	}
	return dir, tools
}
