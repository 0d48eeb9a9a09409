// These tests type commands: the test binary is the program, and its host is a
// table of replies on a real socket, each held to the types of the admin wire.
// A script finds what the commands sent in the file requests. Run with -update
// to write what the commands print into the scripts, then read the difference.
package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stewardhost/steward/internal/faces/cli"
	"github.com/stewardhost/steward/internal/faces/cli/copies"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"steward":  func() { os.Exit(run(os.Stdin, os.Stdout, os.Stderr)) },
		"terminal": terminal,
	})
}

func run(stdin io.Reader, stdout, stderr io.Writer) int {
	host := cli.Host{
		Version: "1.2.3",
		Up:      up,
		Demo: func(_ context.Context, out io.Writer) error {
			fmt.Fprintln(out, "the demo ran")
			return nil
		},
		Keeper: copies.Keeper{Backup: keep, Restore: putBack},
		Hidden: map[string]func([]string) int{"hidden-verb": func(args []string) int {
			fmt.Fprintln(stdout, args)
			return 42
		}},
	}
	return cli.Run(context.Background(), host, os.Args[1:], stdin, stdout, stderr)
}

// up is ready at once and ends, or fails as the script says.
func up(_ context.Context, o cli.UpOptions) error {
	switch os.Getenv("UP") {
	case "held":
		return trouble.New(trouble.Later, "another host runs on the folder "+o.Data, "steward status")
	case "busy":
		return &net.OpError{Op: "listen", Err: syscall.EADDRINUSE}
	case "denied":
		return &os.PathError{Op: "mkdir", Path: o.Data, Err: syscall.EACCES}
	case "broken":
		return errors.New("the store is of a newer version")
	case "fault":
		return fault.New(fault.Internal, "the host failed; its log has the reason")
	}
	o.Ready(cli.Doors{Listen: []string{"http://" + o.Listen}})
	return nil
}

// keep copies nothing and tells what it was asked for.
func keep(_ context.Context, o copies.BackupOptions) (copies.Backup, error) {
	for done := range int64(5) {
		o.Progress("copying", done, 4)
	}
	b := copies.Backup{File: o.To, Bytes: 4096, SHA256: "00ff", At: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)}
	if o.WithKey {
		b.Key, b.BusKeys = o.To+".key", true
	}
	return b, nil
}

func putBack(_ context.Context, o copies.RestoreOptions) (copies.Restore, error) {
	if !o.Replace {
		return copies.Restore{}, trouble.New(trouble.Owner, "there is a store in "+o.Data, "steward restore FILE --replace")
	}
	o.Progress("checking the trail", 0, 0)
	return copies.Restore{At: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), Node: "nod_00000000000000000000000001", Tokens: 2, Grants: 1, Servers: 2, SignIns: 1,
		Capsules: []copies.Capsule{{Name: "files", Install: "steward capsule install files /notes", Missing: "/notes"}},
		Methods:  3, Indeterminate: 4, Trail: "row 7 of epoch 1: the row was changed", Replaced: o.Data + "/replaced", BusServers: "tls://a.example:4222"}, nil
}

// terminal is steward with all three streams on the controlling terminal, but
// for one that the script wants left alone.
func terminal() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	stdin := tty
	if os.Getenv("TERMINAL") == "no stdin" {
		stdin = os.Stdin
	}
	code := run(stdin, tty, tty)
	// What is unread when the other side is closed is lost, so it is followed by more
	// than a terminal holds.
	_, _ = tty.Write(make([]byte, 1<<17))
	os.Exit(code)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			home, err := os.MkdirTemp("", "stw") // short enough for a socket
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(home) })
			env.Setenv("STEWARD_HOME", home)
			return os.WriteFile(filepath.Join(env.WorkDir, "requests"), nil, 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"document": document, "exits": exits, "host": startHost, "mode": mode,
		},
	})
}

// exits runs a command and compares its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [WORD...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("the exit code is %d, want %d", got, want)
	}
}

// document holds what was printed to one line of visible characters that is the
// same JSON document as a file.
func document(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: document stdout FILE")
	}
	printed, want := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	line, rest, _ := strings.Cut(printed, "\n")
	if rest != "" || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
		ts.Fatalf("not one line of visible characters: %q", printed)
	}
	var documents [2]any
	for i, text := range []string{printed, want} {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		ts.Check(decoder.Decode(&documents[i]))
	}
	if !reflect.DeepEqual(documents[0], documents[1]) {
		ts.Fatalf("another document than %s: %s", args[1], printed)
	}
}

// mode compares a file's permissions.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); neg || got != args[0] {
		ts.Fatalf("the mode is %s, want %s", got, args[0])
	}
}

// table answers with the files of a folder: METHOD.json, or
// METHOD~WORD.json where the request contains the word. A file that holds an
// "error" is a failure; one that is the word hangup ends the connection.
type table struct {
	ts     *testscript.TestScript
	folder string
	mu     sync.Mutex // guards log
	log    string     // path
}

// startHost serves the replies of a folder at the data folder's socket.
func startHost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: host FOLDER")
	}
	tab := &table{ts: ts, folder: ts.MkAbs(args[0]), log: ts.MkAbs("requests")}
	tab.check()
	socket := desk.Socket(ts.Getenv("STEWARD_HOME"))
	ts.Check(os.MkdirAll(filepath.Dir(socket), 0o700))
	listener, err := net.Listen("unix", socket)
	ts.Check(err)
	server := &http.Server{Handler: tab}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener)
	}()
	ts.Defer(func() {
		server.Close()
		<-done
	})
}

func rowOf(method string) (adminwire.Row, bool) {
	for _, row := range adminwire.Rows() {
		if row.Name == method {
			return row, true
		}
	}
	return adminwire.Row{}, false
}

// check holds every file to the type of its method's reply.
func (tab *table) check() {
	files, err := os.ReadDir(tab.folder)
	tab.ts.Check(err)
	for _, f := range files {
		method, _, _ := strings.Cut(strings.TrimSuffix(f.Name(), ".json"), "~")
		row, ok := rowOf(method)
		if !ok {
			tab.ts.Fatalf("%s: there is no such method", f.Name())
		}
		text := tab.ts.ReadFile(filepath.Join(tab.folder, f.Name()))
		if strings.TrimSpace(text) == "hangup" {
			continue
		}
		into := reflect.New(reflect.TypeOf(row.Reply)).Interface()
		if isFailure(text) {
			into = new(adminwire.Failure)
		}
		if err := strictjson.Decode([]byte(text), strictjson.Limits{}, into); err != nil {
			tab.ts.Fatalf("%s is no reply of its method: %v", f.Name(), err)
		}
	}
}

func isFailure(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), `{"error"`) }

func (tab *table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, adminwire.Prefix)
	body, err := io.ReadAll(r.Body)
	row, ok := rowOf(method)
	if err != nil || !ok {
		http.Error(w, "no such method: "+method, http.StatusTeapot)
		return
	}
	into := reflect.New(reflect.TypeOf(row.Request)).Interface()
	if err := strictjson.Decode(body, strictjson.Limits{}, into); err != nil {
		http.Error(w, "no request of its method: "+err.Error(), http.StatusTeapot)
		return
	}
	tab.record(method, body)
	text, ok := tab.reply(method, body)
	switch {
	case !ok:
		http.Error(w, "no reply for "+method, http.StatusTeapot)
	case strings.TrimSpace(text) == "hangup":
		panic(http.ErrAbortHandler)
	case isFailure(text):
		var f adminwire.Failure
		strictjson.Decode([]byte(text), strictjson.Limits{}, &f) // checked at the start
		found, _ := fault.Lookup(fault.Code(f.Error.Code))
		w.WriteHeader(found.HTTP)
		fallthrough
	default:
		io.WriteString(w, text)
	}
}

// reply prefers the file whose word the request contains.
func (tab *table) reply(method string, body []byte) (string, bool) {
	files, _ := os.ReadDir(tab.folder)
	for _, f := range files {
		name, word, special := strings.Cut(strings.TrimSuffix(f.Name(), ".json"), "~")
		if special && name == method && bytes.Contains(body, []byte(word)) {
			text, err := os.ReadFile(filepath.Join(tab.folder, f.Name()))
			return string(text), err == nil
		}
	}
	text, err := os.ReadFile(filepath.Join(tab.folder, method+".json"))
	return string(text), err == nil
}

func (tab *table) record(method string, body []byte) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	file, err := os.OpenFile(tab.log, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		fmt.Fprintf(file, "%s %s\n", method, body)
		file.Close()
	}
}
