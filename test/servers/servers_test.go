//go:build npm

// Package servers does the main job with MCP servers that nobody here wrote, as
// npm has them: a real host, its commands, and clients of both eras.
package servers

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// outside is a server from npm, started by a shell that tells its process id.
type outside struct {
	hosttest.Server
	pidFile string
}

// npmServer is a server of the protocol's authors.
func npmServer(t *testing.T, name string, env map[string]string, args ...string) outside {
	t.Helper()
	return npmProgram(t, "@modelcontextprotocol/server-"+name+"/dist/index.js", env, args...)
}

// npmProgram is a server by its script.
func npmProgram(t *testing.T, script string, env map[string]string, args ...string) outside {
	t.Helper()
	pidFile := filepath.Join(t.TempDir(), "pid")
	node, path := npmScript(t, script)
	words := append([]string{"-c", `echo $$ >"$0" && exec "$@"`, pidFile, node, path}, args...)
	return outside{hosttest.Server{Command: "/bin/sh", Args: words, Env: env}, pidFile}
}

// npmScript is what runs a script of the outside programs, and its path.
func npmScript(t *testing.T, script string) (node, path string) {
	t.Helper()
	npm, node := os.Getenv("STEWARD_NPM"), os.Getenv("STEWARD_NODE")
	if npm == "" || node == "" {
		t.Fatal("STEWARD_NPM and STEWARD_NODE say where the servers are; run make npm-suite")
	}
	return node, filepath.Join(npm, "node_modules", filepath.FromSlash(script))
}

func (o outside) pid(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile(o.pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// send calls a method of an imported server over /rpc/v1.
func send(t *testing.T, app *hosttest.App, r adminwire.Review, tx, method string, args map[string]any) rpcwire.Response {
	t.Helper()
	raw, err := strictjson.Encode(args)
	if err != nil {
		t.Fatal(err)
	}
	got, err := app.Send(rpcwire.Request{Tx: tx, Resource: r.Resource.ID, Contract: r.Methods[0].Contract, Method: method, Args: rpcwire.Raw(raw)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func newTx() string { return id.NewTx(time.Now()).String() }

// modern calls a tool in the revision without sessions.
func modern(t *testing.T, app *hosttest.App, tool string, args map[string]any) hosttest.Reply {
	t.Helper()
	got, err := app.Call(tool, args)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// legacy calls a tool in the revision with the handshake and returns its text.
func legacy(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (text string, isError bool) {
	t.Helper()
	got, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range got.Content {
		if b, ok := block.(*mcp.TextContent); ok {
			text += b.Text
		}
	}
	return text, got.IsError
}

// wantFile holds a file to its content.
func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, want %q: %v", filepath.Base(path), got, want, err)
	}
}

func listModern(t *testing.T, app *hosttest.App) []string {
	t.Helper()
	got, err := app.Modern("tools/list", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := got.Result.Get("tools")
	names := []string{}
	for _, tool := range tools.Items {
		name, _ := tool.Get("name")
		names = append(names, name.Text)
	}
	return names
}

func listLegacy(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	names := []string{}
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func verify(t *testing.T, h *hosttest.Host) {
	t.Helper()
	var v adminwire.Verification
	h.JSON(&v, "journal", "verify")
	if !v.Holds || v.Rows == 0 || v.Invocations == 0 {
		t.Errorf("the journal: %+v", v)
	}
}

// states counts the journal's calls by their state.
func states(t *testing.T, h *hosttest.Host) map[string]int {
	t.Helper()
	out := map[string]int{}
	for page := []string{"journal", "list", "--limit", "100"}; ; {
		var j adminwire.Journal
		h.JSON(&j, page...)
		for _, row := range j.Invocations {
			out[row.State]++
		}
		if j.Next == "" {
			return out
		}
		page = []string{"journal", "list", "--limit", "100", "--before", j.Next}
	}
}

// files is the stage of the main job: a folder that the server may use, a file
// that lies outside of it, and three granted methods.
type files struct {
	dir, secret string
	server      outside
	host        *hosttest.Host
	review      adminwire.Review
	app         *hosttest.App
	tools       map[string]string
	again       func(t *testing.T) // sends the replayed call once more
}

func TestMainJobWithTheFilesystemServer(t *testing.T) {
	f := &files{dir: filepath.Join(t.TempDir(), "allowed"), secret: filepath.Join(t.TempDir(), "secret")}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.secret, []byte("not for anybody"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.server = npmServer(t, "filesystem", nil, f.dir)
	f.host = hosttest.Start(t)
	// Each step needs what those before it did.
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"a dry run tells of every tool and stores nothing", f.plan},
		{"an import stages every tool and allows nothing", f.bringIn},
		{"three methods are approved and granted, and no more are listed", f.allow},
		{"calls of both eras do what they say", f.use},
		{"the server's own refusal passes through as data", f.guarded},
		{"the same transaction twice is executed once", f.replay},
		{"what is not granted does not exist", f.refuse},
		{"a restarted host remembers everything", f.reopen},
		{"a killed server is started again", f.restart},
		{"a revoked method is gone with the next call", f.revoke},
		{"the journal holds", f.audit},
		{"a disconnected app is nobody", f.disconnect},
	} {
		if !t.Run(step.name, step.run) {
			return
		}
	}
}

func (f *files) config() string {
	return f.host.Config(map[string]hosttest.Server{"files": f.server.Server})
}

func (f *files) plan(t *testing.T) {
	got := map[string]string{}
	for _, tool := range f.host.Plan(f.config()).Tools {
		got[tool.Name] = tool.Outcome
	}
	want := map[string]string{"list_allowed_directories": "narrowed"}
	for _, name := range []string{"read_file", "read_text_file", "read_media_file", "read_multiple_files", "write_file", "edit_file",
		"create_directory", "list_directory", "list_directory_with_sizes", "directory_tree", "move_file", "search_files", "get_file_info"} {
		want[name] = "narrowed"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	var all adminwire.Resources
	f.host.JSON(&all, "resources", "list")
	for _, r := range all.Resources {
		if r.Kind != "builtin" {
			t.Errorf("the dry run stored %+v", r)
		}
	}
}

func (f *files) bringIn(t *testing.T) {
	f.review = f.host.Import(f.config())[0]
	got := map[string]string{}
	for _, m := range f.review.Methods {
		got[m.Method] = m.State + ": " + strings.Join(m.Effects, " ")
	}
	want := map[string]string{}
	for _, name := range []string{"read_file", "read_text_file", "read_media_file", "read_multiple_files", "list_directory",
		"list_directory_with_sizes", "directory_tree", "search_files", "get_file_info", "list_allowed_directories"} {
		want[name] = "proposed: read"
	}
	for _, name := range []string{"write_file", "edit_file", "move_file"} {
		want[name] = "proposed: write delete"
	}
	want["create_directory"] = "proposed: write"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("methods differ (-want +got):\n%s", diff)
	}
	f.app = f.host.AddApp("writer")
	if got := listModern(t, f.app); len(got) > 0 {
		t.Errorf("before any grant the app sees %v", got)
	}
}

func (f *files) allow(t *testing.T) {
	f.host.Approve("files", map[string]string{"read_text_file": "read", "write_file": "write", "edit_file": "write"})
	f.review = f.host.Review("files")
	f.tools = f.app.Grant("files", "read_text_file", "write_file", "edit_file")
	var want []string
	for _, tool := range f.tools {
		want = append(want, tool)
	}
	slices.Sort(want)
	if len(want) != 3 {
		t.Errorf("grants of %v", f.tools)
	}
	if got := listModern(t, f.app); !slices.Equal(got, want) {
		t.Errorf("the stateless list is %v, want %v", got, want)
	}
	if got := listLegacy(t, f.app.Session(nil)); !slices.Equal(got, want) {
		t.Errorf("the list of a session is %v, want %v", got, want)
	}
}

func (f *files) use(t *testing.T) {
	path := filepath.Join(f.dir, "note.txt")
	session := f.app.Session(nil)
	const written = "bread, olives \u2026 and 9007199254740993\n"
	if text, bad := legacy(t, session, f.tools["write_file"], map[string]any{"path": path, "content": written}); bad {
		t.Errorf("write: %s", text)
	}
	wantFile(t, path, written)
	if got := modern(t, f.app, f.tools["read_text_file"], map[string]any{"path": path}); got.IsError() || got.Text() != written {
		t.Errorf("read: %s", got.Raw)
	}
	edits := []map[string]any{{"oldText": "olives", "newText": "lemons"}}
	if got := modern(t, f.app, f.tools["edit_file"], map[string]any{"path": path, "edits": edits}); got.IsError() {
		t.Errorf("edit: %s", got.Raw)
	}
	wantFile(t, path, strings.Replace(written, "olives", "lemons", 1))
	if text, bad := legacy(t, session, f.tools["read_text_file"], map[string]any{"path": path, "head": 1}); bad || !strings.HasPrefix(text, "bread, lemons") {
		t.Errorf("read in a session: %q", text)
	}
}

func (f *files) guarded(t *testing.T) {
	got := modern(t, f.app, f.tools["read_text_file"], map[string]any{"path": f.secret})
	if got.Status != 200 || !got.IsError() || !strings.Contains(got.Text(), "Access denied") || strings.Contains(got.Raw, "not for anybody") {
		t.Errorf("the guard's answer came as %d %s", got.Status, got.Raw)
	}
	tx := newTx()
	over := send(t, f.app, f.review, tx, "read_text_file", map[string]any{"path": f.secret})
	if over.Status != rpcwire.Failed || over.Error.Code != "upstream_failed" || over.Effects != rpcwire.Reported ||
		!strings.Contains(string(over.Result), "Access denied") {
		t.Errorf("over RPC it came as %+v", over)
	}
	var row adminwire.Invocation
	f.host.JSON(&row, "journal", "show", tx)
	if row.State != "failed" || row.Code != "upstream_failed" || row.App != "writer" || row.Method != "read_text_file" {
		t.Errorf("the journal says %+v", row)
	}
}

func (f *files) replay(t *testing.T) {
	path := filepath.Join(f.dir, "count.txt")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tx := newTx()
	longer := map[string]any{"path": path, "edits": []map[string]any{{"oldText": "x", "newText": "xx"}}}
	first := send(t, f.app, f.review, tx, "edit_file", longer)
	second := send(t, f.app, f.review, tx, "edit_file", longer)
	if first.Status != rpcwire.OK || first.Replayed {
		t.Errorf("the first answer: %+v", first)
	}
	first.Replayed = true
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second answer differs (-first +second):\n%s", diff)
	}
	wantFile(t, path, "xx")
	f.again = func(t *testing.T) {
		if diff := cmp.Diff(second, send(t, f.app, f.review, tx, "edit_file", longer)); diff != "" {
			t.Errorf("the answer differs (-before +after):\n%s", diff)
		}
		wantFile(t, path, "xx")
	}
	other := send(t, f.app, f.review, tx, "write_file", map[string]any{"path": path, "content": ""})
	if other.Error == nil || other.Error.Code != "tx_mismatch" {
		t.Errorf("the same tx for another call: %+v", other)
	}
	wantFile(t, path, "xx")
}

func (f *files) refuse(t *testing.T) {
	before := states(t, f.host)
	path := filepath.Join(f.dir, "moved.txt")
	args := map[string]any{"source": filepath.Join(f.dir, "count.txt"), "destination": path}
	if got := send(t, f.app, f.review, newTx(), "move_file", args); got.Error == nil || got.Error.Code != "grant_required" {
		t.Errorf("over RPC: %+v", got)
	}
	stranger := f.host.AddApp("stranger")
	if got := send(t, stranger, f.review, newTx(), "write_file", map[string]any{"path": path, "content": ""}); got.Error == nil || got.Error.Code != "not_found" {
		t.Errorf("over RPC for an app without grants: %+v", got)
	}
	answers := map[string]bool{}
	for _, c := range []struct {
		app  *hosttest.App
		tool string
	}{{f.app, "move_file"}, {f.app, "no_such_tool"}, {f.app, "write_file"}, {stranger, f.tools["write_file"]}} {
		got := modern(t, c.app, c.tool, args)
		code, _ := got.Error.Get("code")
		if code.Text != "-32602" {
			t.Errorf("%s: %s", c.tool, got.Raw)
		}
		answers[got.Raw] = true
	}
	if len(answers) != 1 {
		t.Errorf("absent and not granted are told apart: %v", answers)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was moved")
	}
	if diff := cmp.Diff(before, states(t, f.host)); diff != "" {
		t.Errorf("refused calls reached the journal's calls (-before +after):\n%s", diff)
	}
}

func (f *files) reopen(t *testing.T) {
	before := listModern(t, f.app)
	f.host.Restart()
	if after := listModern(t, f.app); !slices.Equal(before, after) {
		t.Errorf("the list was %v and is %v", before, after)
	}
	f.again(t)
	path := filepath.Join(f.dir, "count.txt")
	if got := modern(t, f.app, f.tools["read_text_file"], map[string]any{"path": path}); got.IsError() || got.Text() != "xx" {
		t.Errorf("read: %s", got.Raw)
	}
}

func (f *files) restart(t *testing.T) {
	first := f.server.pid(t)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Until the host has seen the end of the server, a call may have reached it
	// and is a doubt; after that it is refused, and then served by a new process.
	// No two calls are equal, since an equal one is held back behind a doubt.
	path, head := filepath.Join(f.dir, "note.txt"), 0
	hosttest.WaitFor(t, "the server to be back", func() error {
		head++
		got := modern(t, f.app, f.tools["read_text_file"], map[string]any{"path": path, "head": head})
		switch got.Code() {
		case "":
			return nil
		case "unavailable":
		case "indeterminate":
			f.host.Do("journal", "reconcile", got.Tx(), "did-not")
		default:
			t.Fatalf("between the kill and the restart: %s", got.Raw)
		}
		return errors.New(got.Raw)
	})
	if second := f.server.pid(t); second == first {
		t.Errorf("the server is still process %d", first)
	}
}

func (f *files) revoke(t *testing.T) {
	told := make(chan bool, 8)
	session := f.app.Session(&mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- true }})
	for _, g := range f.app.Grants() {
		if g.Method == "edit_file" {
			f.host.Do("grants", "revoke", g.ID)
		}
	}
	args := map[string]any{"path": filepath.Join(f.dir, "count.txt"), "edits": []map[string]any{{"oldText": "xx", "newText": "y"}}}
	got := modern(t, f.app, f.tools["edit_file"], args)
	if code, _ := got.Error.Get("code"); code.Text != "-32602" {
		t.Errorf("the call after the revocation: %s", got.Raw)
	}
	wantFile(t, filepath.Join(f.dir, "count.txt"), "xx")
	want := []string{f.tools["read_text_file"], f.tools["write_file"]}
	if got := listModern(t, f.app); !slices.Equal(got, want) {
		t.Errorf("the list is %v, want %v", got, want)
	}
	select {
	case <-told:
	case <-time.After(hosttest.Patience):
		t.Error("the open session was not told")
	}
	if got := listLegacy(t, session); !slices.Equal(got, want) {
		t.Errorf("the session's list is %v, want %v", got, want)
	}
}

func (f *files) audit(t *testing.T) {
	verify(t, f.host)
	if got := states(t, f.host); got["succeeded"] != 7 || got["failed"] != 2 || got["dispatching"]+got["reserved"]+got["indeterminate"] != 0 {
		t.Errorf("the journal's calls: %v", got)
	}
}

func (f *files) disconnect(t *testing.T) {
	f.host.Do("apps", "disconnect", f.app.Name)
	for path, token := range map[string]string{"/mcp": f.app.MCP, rpcwire.Call.Path: f.app.RPC} {
		if status, raw := f.host.Post(path, token, []byte("{}"), nil); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, status, raw)
		}
	}
	if got := f.app.Tools(); len(got) > 0 {
		t.Errorf("it still has grants: %v", got)
	}
	verify(t, f.host)
}
