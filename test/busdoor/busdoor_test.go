// Package busdoor holds the whole bus wing together: a real host, real capsules,
// and clients of both revisions at the MCP door.
package busdoor

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// folder makes a folder with files in it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listed gives the URIs that a client sees.
func listed(s *mcp.ClientSession) (string, error) {
	res, err := s.ListResources(context.Background(), nil)
	if err != nil {
		return "", err
	}
	var uris []string
	for _, r := range res.Resources {
		uris = append(uris, r.URI)
	}
	return strings.Join(uris, " "), nil
}

func wantListed(t *testing.T, s *mcp.ClientSession, want string) {
	t.Helper()
	if got, err := listed(s); err != nil || got != want {
		t.Errorf("listed %q, %v, want %q", got, err, want)
	}
}

func code(err error) int64 {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return wire.Code
	}
	return 0
}

func capsule(t *testing.T, h *hosttest.Host, name string) adminwire.Capsule {
	t.Helper()
	var all adminwire.Capsules
	h.JSON(&all, "capsule", "list")
	for _, c := range all.Capsules {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no capsule %s in %+v", name, all)
	return adminwire.Capsule{}
}

// older speaks a revision with sessions.
type older struct {
	t       *testing.T
	host    *hosttest.Host
	token   string
	session string
}

const revision = "2025-11-25"

func handshake(t *testing.T, h *hosttest.Host, a *hosttest.App) *older {
	t.Helper()
	o := &older{t: t, host: h, token: a.MCP}
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`
	resp, raw := o.post(body)
	if o.session = resp.Get("Mcp-Session-Id"); o.session == "" || !strings.Contains(raw, `"resources":{"listChanged":true}`) {
		t.Fatalf("no session: %s", raw)
	}
	o.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return o
}

func (o *older) ask(method, params string) string {
	o.t.Helper()
	_, raw := o.post(`{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":` + params + `}`)
	return raw
}

func (o *older) post(body string) (http.Header, string) {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.host.BaseURL+"/mcp", strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + o.token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Session-Id": o.session, "Mcp-Protocol-Version": revision} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return resp.Header, string(raw)
}

// From nothing to a resource in a client, and back, as an owner and an app live
// through it.
func TestFromInstallationToRemoval(t *testing.T) {
	h := hosttest.Start(t)
	reader, other := h.AddApp("reader"), h.AddApp("other")
	changed := make(chan struct{}, 100)
	s := reader.Session(&mcp.ClientOptions{ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { changed <- struct{}{} }})
	if caps := s.InitializeResult().Capabilities.Resources; caps == nil || !caps.ListChanged || caps.Subscribe {
		t.Errorf("the capability is %+v", caps)
	}
	wantListed(t, s, "")

	h.Do("capsule", "install", "files", folder(t, map[string]string{"a.md": "# Hello", "b.bin": "\x00\xff"}))
	h.Do("capsule", "install", "introspect")
	wantListed(t, s, "") // without a grant
	h.Do("grants", "add", "reader", "files", "read")
	const uris = "files:///a.md files:///b.bin"
	hosttest.WaitFor(t, "the files to be listed", func() error {
		if got, err := listed(s); err != nil || got != uris {
			return fmt.Errorf("%q, %w", got, err)
		}
		return nil
	})
	wait(t, changed)
	if other, err := listed(other.Session(nil)); err != nil || other != "" {
		t.Errorf("an app without a grant lists %q, %v", other, err)
	}

	text, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "files:///a.md"})
	if err != nil || len(text.Contents) != 1 || text.Contents[0].Text != "# Hello" || text.Contents[0].MIMEType != "text/markdown" {
		t.Errorf("%+v, %v", text, err)
	}
	blob, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "files:///b.bin"})
	if err != nil || string(blob.Contents[0].Blob) != "\x00\xff" {
		t.Errorf("%+v, %v", blob, err)
	}
	if templates, err := s.ListResourceTemplates(t.Context(), nil); err != nil || len(templates.ResourceTemplates) != 0 {
		t.Errorf("%+v, %v", templates, err)
	}

	old := handshake(t, h, reader)
	if raw := old.ask("resources/list", "{}"); !strings.Contains(raw, `"uri":"files:///a.md"`) {
		t.Error(raw)
	}

	// What is not there, what is not granted and what climbs out look the same, in
	// the number of each revision.
	var raws []string
	for _, uri := range []string{"files:///none", "introspect:apps", "files:///x/../a.md", "other:x"} {
		if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); code(err) != -32602 {
			t.Errorf("%s: %v", uri, err)
		}
		if raw := old.ask("resources/read", `{"uri":"`+uri+`"}`); !strings.Contains(raw, `"error":{"code":-32002,`) {
			t.Errorf("%s: %s", uri, raw)
		}
		got, err := reader.Modern("resources/read", uri, map[string]any{"uri": uri})
		if number, _ := got.Error.Get("code"); err != nil || number.Text != "-32602" {
			t.Errorf("%s: %s, %v", uri, got.Raw, err)
		}
		raws = append(raws, got.Raw)
	}
	for _, raw := range raws {
		if raw != raws[0] {
			t.Errorf("%s and %s differ", raw, raws[0])
		}
	}
	got, err := reader.Modern("resources/list", "", nil)
	if err != nil || !strings.Contains(got.Raw, `"ttlMs":0,"cacheScope":"private"`) || !strings.Contains(got.Raw, "files:///a.md") || strings.Contains(got.Raw, "nextCursor") {
		t.Errorf("%s, %v", got.Raw, err)
	}

	// A capsule that dies comes back; an app that lost its grant sees nothing.
	before := capsule(t, h, "files")
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitFor(t, "the capsule to come back", func() error {
		if now := capsule(t, h, "files"); now.State != "ready" || now.PID == before.PID || now.Restarts != 1 {
			return fmt.Errorf("%+v", now)
		}
		return nil
	})
	wantListed(t, s, uris)
	h.Do("capsule", "remove", "files")
	wait(t, changed)
	wantListed(t, s, "")
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "files:///a.md"}); code(err) != -32602 {
		t.Errorf("a removed capsule is read: %v", err)
	}
	h.Do("journal", "verify")
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(hosttest.Patience):
		t.Fatal("nobody told the client of a change")
	}
}

// What is as long as it may be passes whole, to clients of both eras; what is one
// byte longer the capsule does not list, and nothing of it comes.
func TestAResourcePassesWholeOrFails(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	whole := strings.Repeat("\x00\xff\x10", 512<<10)[:512<<10]
	h.Do("capsule", "install", "files", folder(t, map[string]string{"cap.bin": whole, "over.bin": whole + "x"}))
	h.Do("grants", "add", "reader", "files", "read")
	s, o := reader.Session(nil), handshake(t, h, reader)
	got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "files:///cap.bin"})
	if err != nil || string(got.Contents[0].Blob) != whole {
		t.Errorf("at the cap: %v", err)
	}
	if raw := o.ask("resources/read", `{"uri":"files:///cap.bin"}`); !strings.Contains(raw, base64.StdEncoding.EncodeToString([]byte(whole))) {
		t.Errorf("at the cap, of the older era: %.200s", raw)
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "files:///over.bin"}); code(err) != -32602 {
		t.Errorf("one over: %v", err)
	}
	if raw := o.ask("resources/read", `{"uri":"files:///over.bin"}`); !strings.Contains(raw, `"code":-32002`) {
		t.Errorf("one over, of the older era: %.200s", raw)
	}
}

// BF1, BF7, BF11: the first list after a restart holds everything, and nothing of
// a host that was killed goes on.
func TestCapsulesLiveAndDieWithTheHost(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	h.Do("capsule", "install", "files", folder(t, map[string]string{"a.md": "x"}))
	h.Do("grants", "add", "reader", "files", "read")
	for _, end := range []func(){h.Restart, func() {
		pid := capsule(t, h, "files").PID
		h.Kill()
		hosttest.WaitFor(t, "the capsule to end with its host", func() error {
			if syscall.Kill(pid, 0) == nil {
				return fmt.Errorf("process %d is there", pid)
			}
			return nil
		})
		h.Restart()
	}} {
		end()
		wantListed(t, reader.Session(nil), "files:///a.md")
	}
}

// scaffold has the program write a capsule into an empty folder and types the
// command that it prints, up to the installation. Nothing but what a person has
// who built steward is used: no network, and no repository around the folder.
func scaffold(t *testing.T, h *hosttest.Host, name string, flags ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	made := exec.Command(h.Program, append([]string{"capsule", "new", name, "--from", hosttest.Root(t)}, flags...)...)
	made.Dir = dir
	out, err := made.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, next, found := strings.Cut(string(out), "next: ")
	build, install, both := strings.Cut(next, " && steward capsule install")
	if !found || !both || strings.TrimSpace(install) != "." {
		t.Fatalf("it says %s", out)
	}
	cmd := exec.Command("sh", "-c", build)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return dir
}

// What `steward capsule new` writes is a capsule: it builds, installs and is read,
// and a changed build needs a new yes.
func TestANewCapsuleWorksAsItIsWritten(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	dir := scaffold(t, h, "clock")
	check := exec.Command(h.Program, "capsule", "check", "clock")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || string(out) != "The capsule clock 0.1.0 is one to install. It serves resources.\nnext: steward capsule install ./clock\n" {
		t.Errorf("%v: %s", err, out)
	}
	h.Do("import", "--command", hosttest.Build(t, "./test/oracle", "")+" "+filepath.Join(t.TempDir(), "effects"), "--name", "clock")
	if _, text, exit := h.Run("", "capsule", "install", filepath.Join(dir, "clock")); exit == 0 || !strings.Contains(text, "next: steward import --remove clock") {
		t.Fatalf("a name of a server: %d, %s", exit, text)
	}
	h.Do("import", "--remove", "clock")
	h.Do("import", "--command", hosttest.Build(t, "./test/oracle", "")+" "+filepath.Join(t.TempDir(), "effects"), "--name", "introspect")
	if text := h.Do("capsule", "install", "introspect"); !strings.Contains(text, "grants add APP @capsule-introspect read") {
		t.Errorf("a capsule whose name means two: %s", text)
	}
	if _, text, exit := h.Run("", "resources", "show", "introspect"); exit == 0 || !strings.Contains(text, "next: steward resources show ") {
		t.Errorf("a name that means two: %d, %s", exit, text)
	}
	h.Do("capsule", "remove", "introspect")
	bare := exec.Command(h.Program, "capsule", "install", "clock", "--home", h.Home)
	bare.Dir = dir // a folder is the caller's, not one where the host stands
	if out, err := bare.CombinedOutput(); err != nil || capsule(t, h, "clock").Folder != filepath.Join(dir, "clock") {
		t.Fatalf("%v: %s", err, out)
	}
	h.Do("grants", "add", "reader", "clock", "read")
	s := reader.Session(nil)
	wantListed(t, s, "clock:hello")
	got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "clock:hello"})
	if err != nil || !strings.HasPrefix(got.Contents[0].Text, "It is ") {
		t.Errorf("%+v, %v", got, err)
	}
	var reads adminwire.Readings
	if h.JSON(&reads, "capsule", "reads"); len(reads.Reads) != 1 || reads.Reads[0].App != "reader" || reads.Reads[0].Resource != "clock" || reads.Reads[0].Outcome != "ok" || reads.Reads[0].Count != 1 {
		t.Errorf("the reads are %+v", reads)
	}
	first := capsule(t, h, "clock")
	manifest := filepath.Join(dir, "clock", "Capsule.toml")
	raw, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte(strings.Replace(string(raw), "0.1.0", "0.2.0", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := capsule(t, h, "clock"); c.State != "changed" || c.PID == 0 {
		t.Errorf("that the files of a capsule changed is not told: %+v", c)
	}
	wantListed(t, reader.Session(nil), "clock:hello") // what was installed runs on
	h.Restart()
	if c := capsule(t, h, "clock"); c.State != "changed" {
		t.Errorf("a changed capsule runs: %+v", c)
	}
	wantListed(t, reader.Session(nil), "")
	if text := h.Do("capsule", "install", filepath.Join(dir, "clock")); !strings.Contains(text, "\nreader can read this: steward grants revoke grn_") {
		t.Errorf("who can read it from before is not told: %s", text)
	}
	wantListed(t, reader.Session(nil), "clock:hello")
	if c := capsule(t, h, "clock"); c.Source != first.Source || c.Order != first.Order || c.Version != "0.2.0" {
		t.Errorf("an upgrade changed the source or the order: %+v, then %+v", first, c)
	}
	other := folder(t, map[string]string{"Capsule.toml": strings.Replace(string(raw), `"me"`, `"another"`, 1)})
	write(t, other, "clock", "")
	if err := os.Chmod(filepath.Join(other, "clock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, text, exit := h.Run("", "capsule", "install", other); exit == 0 || !strings.Contains(text, "next: steward capsule remove clock") {
		t.Errorf("a name that is taken: %d, %s", exit, text)
	}
	for _, flags := range [][]string{nil, {"--from", dir}} {
		refused := exec.Command(h.Program, append([]string{"capsule", "new", "other"}, flags...)...)
		refused.Dir = dir
		if out, err := refused.CombinedOutput(); refused.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "steward's source") {
			t.Errorf("without the source of package capsule: %v, %s", err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
		t.Error("a refused capsule new left a folder")
	}
	if err := os.Chmod(filepath.Join(dir, "clock", "clock"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"check", "install"} {
		if _, text, exit := h.Run("", "capsule", verb, filepath.Join(dir, "clock")); exit == 0 || !strings.Contains(text, "chmod +x") {
			t.Errorf("%s with a program that is none: %d, %s", verb, exit, text)
		}
		if _, text, exit := h.Run("", "capsule", verb, dir); exit == 0 || !strings.Contains(text, "Capsule.toml") {
			t.Errorf("%s of a folder without a manifest: %d, %s", verb, exit, text)
		}
	}
	if _, text, exit := h.Run("", "capsule", "install", dir); exit != 12 || !strings.Contains(text, "Capsule.toml") {
		t.Errorf("a folder without a manifest: %d, %s", exit, text)
	}
}

// A backup has the capsules. After a restore each is there, runs no more, and is named
// with the command that runs it again; what is not there is named too.
func TestCapsulesComeBackFromABackup(t *testing.T) {
	h := hosttest.Start(t)
	h.AddApp("reader")
	notes := folder(t, map[string]string{"a.md": "# Hello"})
	h.Do("capsule", "install", "files", notes)
	h.Do("capsule", "install", "introspect")
	h.Do("grants", "add", "reader", "files", "read")
	copied := filepath.Join(t.TempDir(), "copy")
	h.Do("backup", copied)
	h.Do("capsule", "remove", "introspect")
	h.Stop()
	if err := os.Rename(notes, notes+".away"); err != nil {
		t.Fatal(err)
	}

	out, told, code := h.Run("", "restore", copied, "--replace")
	if told = out + told; code != 0 {
		t.Fatal(told)
	}
	for _, want := range []string{"2 capsules", "steward capsule install introspect", "steward capsule install files " + notes,
		"the folder of the capsule files is not there, and no backup has it: " + notes} {
		if !strings.Contains(told, want) {
			t.Errorf("the restore does not tell %q:\n%s", want, told)
		}
	}
	h.Restart()
	for _, name := range []string{"files", "introspect"} {
		if c := capsule(t, h, name); c.State != "off" || c.PID != 0 {
			t.Errorf("%s is %s, process %d", name, c.State, c.PID)
		}
	}
	if out, _, code := h.Run("", "grants", "add", "reader", "files", "read"); code == 0 {
		t.Errorf("a capsule that is off was granted: %s", out)
	}
	if _, told, code := h.Run("", "capsule", "install", "files", notes); code == 0 || !strings.Contains(told, notes) {
		t.Errorf("without its files it is installed: %d %s", code, told)
	}
	if err := os.Rename(notes+".away", notes); err != nil {
		t.Fatal(err)
	}
	h.Do("capsule", "install", "files", notes)
	h.Do("capsule", "remove", "introspect")
	if c := capsule(t, h, "files"); c.State == "off" {
		t.Errorf("it is %s still", c.State)
	}
	h.Do("apps", "rotate", "reader")
	h.Do("grants", "add", "reader", "files", "read")
	h.Restart()
	hosttest.WaitFor(t, "the capsule to run", func() error {
		if c := capsule(t, h, "files"); c.State != "ready" {
			return fmt.Errorf("it is %s: %s", c.State, c.Reason)
		}
		return nil
	})
}

// A restore leaves the tools of a capsule off: nothing is started or called until the
// owner installs it again, and says yes again to each tool and each grant.
func TestToolsOfCapsulesAreOffAfterARestore(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("helper")
	dir, _ := working(t, h, app)
	review := h.Review("workman")
	request := rpcwire.Request{Tx: id.NewTx(time.Now()).String(), Resource: review.Resource.ID, Contract: contractOf(review, "who"), Method: "who", Args: rpcwire.Raw(`{}`)}
	copied := filepath.Join(t.TempDir(), "copy")
	h.Do("backup", copied)
	h.Stop()
	out, told, code := h.Run("", "restore", copied, "--replace")
	if told = out + told; code != 0 || !strings.Contains(told, "steward capsule install "+dir) || !strings.Contains(told, "0 servers ") {
		t.Fatal(told)
	}
	h.Restart()
	app.Rotate()

	denied := func(when, want string) {
		t.Helper()
		if got := app.Tools(); len(got) != 0 {
			t.Errorf("%s: the app is shown %v", when, got)
		}
		if got, err := app.Send(request); err != nil || got.Error == nil || got.Error.Code != want || got.Effects == rpcwire.Reported {
			t.Errorf("%s: a call ends with %+v %+v, %v", when, got, got.Error, err)
		}
		if n := noted(dir, "who"); n != 1 {
			t.Errorf("%s: it was called %d times", when, n)
		}
		request.Tx = id.NewTx(time.Now()).String()
	}
	off := func(when string) {
		t.Helper()
		if c := capsule(t, h, "workman"); c.State != "off" || c.PID != 0 {
			t.Errorf("%s it is %s, process %d", when, c.State, c.PID)
		}
		if _, _, exit := h.Run("", "grants", "add", "helper", "workman", "who"); exit == 0 {
			t.Errorf("%s its tools can be granted", when)
		}
		if _, _, exit := h.Run("", "call", "workman", "who"); exit == 0 {
			t.Errorf("%s the owner's own call is sent", when)
		}
	}
	off("after the restore")
	denied("after the restore", "needs_consent")
	h.Restart()
	off("after a restart")
	denied("after a restart", "needs_consent")

	h.Do("capsule", "install", dir)
	if s := states(t, h, "workman"); s["who"] != "needs_consent" || s["count"] != "needs_consent" {
		t.Errorf("after its installation: %v", s)
	}
	denied("after its installation", "needs_consent")
	h.Approve("workman", map[string]string{"who": "read"})
	denied("after its approval", "needs_consent")
	h.Do("grants", "add", "helper", "workman", "who")
	if got := call(t, app, app.Tools()["who"], map[string]any{}); got.IsError() {
		t.Errorf("after a new yes: %s", got.Raw)
	}
	h.Do("journal", "verify")
}

// Whoever writes a capsule is told what is wrong with an answer of it.
func TestTheLogSaysWhatIsWrongWithAnAnswer(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	dir := shellFolder(t, "odd", `	*request.describe*) echo '{"type":"reply","id":"'"$id"'","payload":{"resources":[{"uri":"odd:x","name":"X"}]}}' ;;
	*request.read*) echo '{"type":"reply","id":"'"$id"'","payload":{"uri":"odd:x","contents":[{"text":{"uri":"odd:x"}}]}}' ;;
`)
	h.Do("capsule", "install", dir)
	h.Do("grants", "add", "reader", "odd", "read")
	s := reader.Session(nil)
	wantListed(t, s, "odd:x")
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "odd:x"}); err == nil {
		t.Error("contents without a text are taken")
	}
	if log := h.Do("capsule", "logs", "odd"); !strings.Contains(log, "steward: its answer to a read is not of the contract: ") || !strings.Contains(log, "text") {
		t.Errorf("the log says %s", log)
	}
}
