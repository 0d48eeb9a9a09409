// These tests type commands at a real host: what the command line tells a person
// to do next is done, and must help.
package live_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// answer is what a command said.
type answer struct {
	out, err string
	code     int
}

// typed types a command that must end with this exit code.
func typed(t *testing.T, h *hosttest.Host, code int, args ...string) answer {
	t.Helper()
	out, bad, got := h.Run("", args...)
	if got != code {
		t.Fatalf("steward %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, bad)
	}
	return answer{out, bad, got}
}

var nextLine = regexp.MustCompile(`(?m)^next: (steward .*)$`)

// next is the command that an answer names, read by a shell as a person would
// have it read.
func (a answer) next(t *testing.T) []string {
	t.Helper()
	found := nextLine.FindStringSubmatch(a.out + a.err)
	if found == nil {
		t.Fatalf("no next command in:\n%s%s", a.out, a.err)
	}
	words, err := exec.Command("sh", "-c", "printf '%s\\n' "+strings.TrimPrefix(found[1], "steward ")).Output()
	if err != nil {
		t.Fatalf("%s cannot be typed: %v", found[1], err)
	}
	return strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
}

// notes is a host with the shipped server in a file of its own.
func notes(t *testing.T) (h *hosttest.Host, config, pidFile string) {
	t.Helper()
	h = hosttest.Start(t)
	dir := t.TempDir()
	pidFile = filepath.Join(dir, "pid")
	config = h.Config(map[string]hosttest.Server{"my notes": {Command: h.Program,
		Args: []string{"notes-server", "--dir", dir, "--pid-file", pidFile}}})
	return h, config, pidFile
}

// Field faults, FF78: every refusal carries the command that mends it.
func TestWhatIsToldToDoNextHelps(t *testing.T) {
	h, config, _ := notes(t)
	planned := typed(t, h, 0, "import", config, "--dry-run")
	imported := typed(t, h, 0, planned.next(t)...)
	app := h.AddApp("my app")

	refused := typed(t, h, 11, "grants", "add", "my app", "my notes", "read_note", "send_note", "write_note")
	review := typed(t, h, 0, refused.next(t)...)
	if again := typed(t, h, 0, imported.next(t)...); again.out != review.out {
		t.Errorf("two ways to one review differ:\n%s\n%s", again.out, review.out)
	}
	typed(t, h, 0, review.next(t)...) // what only reads
	typed(t, h, 0, "review", "--approve", "my notes", "--all")
	typed(t, h, 0, "grants", "add", "my app", "my notes", "read_note", "send_note", "write_note")

	failed := typed(t, h, 1, "call", "my notes", "read_note", `{"title":"none yet"}`)
	if story := typed(t, h, 0, failed.next(t)...); !strings.Contains(story.out, "settled: failed") {
		t.Errorf("the story of a failed call:\n%s", story.out)
	}
	misfit := typed(t, h, 1, "call", "my notes", "read_note", `{"name":"x"}`)
	if form := typed(t, h, 0, misfit.next(t)...); !strings.Contains(form.out, `"title"`) {
		t.Errorf("what the method takes:\n%s", form.out)
	}
	nothing := typed(t, h, 12, "call", "my notes", "no_such")
	typed(t, h, 0, nothing.next(t)...)
	nowhere := typed(t, h, 12, "call", "my note", "read_note")
	if list := typed(t, h, 0, nowhere.next(t)...); !strings.Contains(list.out, "my notes") {
		t.Errorf("what there is to call:\n%s", list.out)
	}
	if !strings.Contains(nothing.err, "my notes has no method no_such") || !strings.Contains(nowhere.err, "no resource is called my note (") {
		t.Errorf("%s%s", nothing.err, nowhere.err)
	}
	typed(t, h, 0, typed(t, h, 12, "grants", "list", "--app", "nobody").next(t)...)
	unknown := typed(t, h, 12, "grants", "add", "my app", "my notes", "read_note", "no_such", "write_note", "send_note")
	typed(t, h, 0, unknown.next(t)...)
	foreign := rpcwire.Request{Tx: id.NewTx(time.Now()).String(), Resource: h.Review("my notes").Resource.ID, Contract: "https://x.invalid/contracts/none/v1", Method: "m", Args: rpcwire.Raw("{}")}
	if got, err := app.Send(foreign); err != nil || got.Error == nil {
		t.Errorf("%+v, %v", got, err)
	}
	refusals := typed(t, h, 0, "journal", "list", "--denied", "--app", "my app")
	for _, want := range []string{"grant_required", foreign.Tx, "my notes", "What helps: ", "steward resources show 'my notes'"} {
		if !strings.Contains(refusals.out, want) {
			t.Errorf("a refused call is not seen, or without %q:\n%s", want, refusals.out)
		}
	}
	twice := typed(t, h, 2, "grants", "add", "my app", "my notes", "read_note", "write_note", "send_note", "read_note")
	if !strings.Contains(unknown.err, "has no method no_such") || !strings.Contains(twice.err, "read_note is named twice") {
		t.Errorf("%s%s", unknown.err, twice.err)
	}

	regranted(t, h, app)
	confirmed(t, h, app)
}

// regranted takes a right away: the app is told the command that gives it back, and
// giving what is there says what it takes the place of.
func regranted(t *testing.T, h *hosttest.Host, app *hosttest.App) {
	t.Helper()
	var g adminwire.Grant
	for _, g = range app.Grants() {
		if g.Method == "read_note" {
			break
		}
	}
	typed(t, h, 0, "grants", "revoke", g.ID)
	call := rpcwire.Request{Tx: id.NewTx(time.Now()).String(), Resource: g.ResourceID, Contract: g.Contract, Method: "read_note", Args: rpcwire.Raw(`{"title":"none yet"}`)}
	got, err := app.Send(call)
	if err != nil || got.Error == nil || got.Error.Code != "grant_required" {
		t.Fatalf("%+v, %v", got, err)
	}
	fix := answer{out: fmt.Sprintf("next: %s", got.Error.Details["fix"])}.next(t)
	var first, second adminwire.Grants
	h.JSON(&first, append(fix, "--json")...)
	if got, err := app.Send(call); err != nil || got.Error == nil || got.Error.Code != "upstream_failed" {
		t.Errorf("after %v: %+v, %v", fix, got, err)
	}
	said := typed(t, h, 0, fix...)
	if first.Grants[0].Replaces != "" || !strings.Contains(said.out, " replaces "+first.Grants[0].ID) {
		t.Errorf("%+v, and then:\n%s", first, said.out)
	}
	h.JSON(&second, append(fix, "--json")...)
	if second.Grants[0].Replaces == "" || !strings.Contains(said.out, second.Grants[0].Replaces+" replaces") {
		t.Errorf("%+v after:\n%s", second, said.out)
	}
}

// confirmed sends what needs the owner's yes, with an argument of 20 KiB that has
// to be read whole before it (field faults, FF96 and FF100).
func confirmed(t *testing.T, h *hosttest.Host, app *hosttest.App) {
	t.Helper()
	typed(t, h, 0, "call", "my notes", "write_note", `{"title":"a","text":"x"}`)
	review := h.Review("my notes")
	to := strings.Repeat("neighbour\u202e\x1b[2J ", 180)
	args, err := strictjson.Encode(map[string]string{"title": "a", "to": to})
	if err != nil {
		t.Fatal(err)
	}
	send := func() rpcwire.Response {
		t.Helper()
		got, err := app.Send(rpcwire.Request{Tx: id.NewTx(time.Now()).String(), Resource: review.Resource.ID,
			Contract: review.Methods[0].Contract, Method: "send_note", Args: rpcwire.Raw(args)})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := send(); got.Error == nil || got.Error.Code != "confirmation_required" {
		t.Fatalf("%+v", got)
	}
	list := typed(t, h, 0, "confirm", "list")
	if shown := strings.ReplaceAll(list.out, `\u202e\u001b`, "\u202e\x1b"); !strings.Contains(shown, to) || strings.ContainsAny(list.out, "\u202e\x1b") {
		t.Errorf("the arguments are not shown whole and visible:\n%s", list.out)
	}
	h.Restart()
	typed(t, h, 0, list.next(t)...)
	typed(t, h, 0, list.next(t)...) // the same answer again is no other one
	if got := send(); got.Status != rpcwire.OK {
		t.Errorf("after the yes: %+v", got)
	}
	if got := send(); got.Error == nil || got.Error.Code != "confirmation_required" {
		t.Errorf("one yes was good for two calls: %+v", got)
	}
}

// A server that is killed in the middle of a call leaves a doubt, which every
// command says and only the owner ends (proof, "What indeterminate must look
// like").
func TestADoubtIsToldAndEnded(t *testing.T) {
	h, config, pidFile := notes(t)
	typed(t, h, 0, "import", config)
	typed(t, h, 0, "review", "--approve", "my notes", "--all")
	typed(t, h, 0, "call", "my notes", "write_note", `{"title":"a","text":"x"}`)
	const slow = `{"title":"a","to":"aunt","delay_ms":20000}`
	tx := id.NewTx(time.Now()).String()
	done := make(chan answer, 1)
	go func() {
		out, bad, code := h.Run("", "call", "my notes", "send_note", slow, "--tx", tx)
		done <- answer{out, bad, code}
	}()
	hosttest.WaitFor(t, "the call to be on its way", func() error {
		var call adminwire.Invocation
		out, _, _ := h.Run("", "journal", "show", tx, "--json")
		if err := strictjson.Decode([]byte(out), strictjson.Limits{}, &call); err != nil {
			return err
		}
		if call.State != "dispatching" {
			return fmt.Errorf("it is %s", call.State)
		}
		return nil
	})
	kill(t, pidFile)
	cut := <-done
	want := regexp.MustCompile(`(?s)^error: .*may have happened.*\nnext: find out what happened, then steward journal reconcile (inv_\w+) happened, did-not or give-up\n$`)
	found := want.FindStringSubmatch(cut.err)
	if cut.code != 11 || found == nil {
		t.Fatalf("exit code %d:\n%s%s", cut.code, cut.out, cut.err)
	}
	if list := typed(t, h, 0, "journal", "list", "--indeterminate"); !strings.Contains(list.out, found[1]) {
		t.Errorf("the call is not in doubt:\n%s", list.out)
	}
	if status := typed(t, h, 0, "status"); !strings.Contains(status.out, "1 call in doubt") {
		t.Errorf("the status does not tell:\n%s", status.out)
	}
	held := typed(t, h, 1, "call", "my notes", "send_note", slow)
	asked := typed(t, h, 11, held.next(t)...)
	story := typed(t, h, 0, "journal", "show", found[1])
	if !strings.Contains(asked.err, "say what you found out") || !strings.Contains(story.out, "IT MAY HAVE HAPPENED") {
		t.Errorf("%s%s", asked.err, story.out)
	}
	ended := typed(t, h, 0, "journal", "reconcile", found[1], "did-not")
	if !strings.Contains(ended.out, "reconciled_failed") {
		t.Errorf("%s", ended.out)
	}
	if list := typed(t, h, 0, "journal", "list", "--indeterminate"); strings.Contains(list.out, found[1]) {
		t.Errorf("the doubt goes on:\n%s", list.out)
	}
	typed(t, h, 0, "journal", "verify")
}

func kill(t *testing.T, pidFile string) {
	t.Helper()
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// One broken server is named and does not keep the others out.
func TestABrokenServerIsNamed(t *testing.T) {
	h, _, _ := notes(t)
	config := h.Config(map[string]hosttest.Server{
		"good":   {Command: h.Program, Args: []string{"notes-server", "--dir", t.TempDir()}},
		"broken": {Command: "sh", Args: []string{"-c", "echo no key >&2; exit 3"}},
	})
	got := typed(t, h, 1, "import", config)
	if !strings.Contains(got.err, "broken: ") || strings.Contains(got.err, "good: ") || !strings.Contains(got.out, "next: steward review good") {
		t.Errorf("%s%s", got.out, got.err)
	}
	if again := typed(t, h, 1, "import", config); !strings.Contains(again.out, "good is known already") {
		t.Errorf("the same again:\n%s%s", again.out, again.err)
	}
	other := h.Config(map[string]hosttest.Server{"good": {Command: h.Program, Args: []string{"notes-server", "--dir", t.TempDir()}}})
	if again := typed(t, h, 1, "import", other); !strings.Contains(again.err, "good was imported before") {
		t.Errorf("a second server took the name:\n%s%s", again.out, again.err)
	}
	typed(t, h, 0, "import", "--refresh", "good")
	typed(t, h, 0, "import", "--remove", "good")
}

func TestWithoutAHostTheWayToOneIsTold(t *testing.T) {
	h := hosttest.Start(t)
	second := typed(t, h, 10, "up", "--listen", "127.0.0.1:0")
	if !strings.Contains(second.err, "another host runs on the folder") {
		t.Errorf("%s", second.err)
	}
	typed(t, h, 0, second.next(t)...)
	h.Stop()
	got := typed(t, h, 10, "grants", "list")
	if next := got.next(t); len(next) != 1 || next[0] != "up" {
		t.Errorf("next is %q", next)
	}
	if versions := typed(t, h, 0, "version"); !strings.Contains(versions.out, "none is running") {
		t.Errorf("%s", versions.out)
	}
}

// A supervisor that restarts on exit code 10 must not restart for ever.
func TestAStoreThatCannotBeOpenedIsTold(t *testing.T) {
	h := hosttest.Start(t)
	h.Stop()
	file := filepath.Join(h.Home, "steward.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil      func() error
		code       int
		what, next string
	}{
		"a folder of all": {func() error { return os.Chmod(h.Home, 0o777) }, 3, "belongs to or can be changed by others", "next: chmod 700 " + h.Home},
		"a file of all":   {func() error { return os.Chmod(file, 0o644) }, 3, "mode 0600", "next: chmod 600 " + file + "\n"},
		"a broken file":   {func() error { return os.WriteFile(file, bytes.Repeat([]byte("x"), len(whole)), 0o600) }, 1, "damaged", "put a backup in its place"},
		"half a file":     {func() error { return os.WriteFile(file, whole[:len(whole)/2], 0o600) }, 1, "damaged", "put a backup in its place"},
		"a lost file":     {func() error { return os.WriteFile(file, nil, 0o600) }, 11, "database is missing", "next: put the newest copy of"},
	} {
		for _, left := range []string{"-wal", "-shm", ".fenced"} {
			os.Remove(file + left) // most are not there
		}
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		got := typed(t, h, c.code, "up", "--listen", "127.0.0.1:0")
		if !strings.Contains(got.err, c.what) || !strings.Contains(got.err, c.next) {
			t.Errorf("%s: %s", name, got.err)
		}
		if err := errors.Join(os.Chmod(h.Home, 0o700), os.WriteFile(file, whole, 0o600), os.Chmod(file, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	h.Restart()
}
