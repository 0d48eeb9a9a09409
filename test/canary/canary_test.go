// Package canary_test plants secrets and hostile texts in a host and looks for them in
// everything that the run wrote (proof, R26; threats, A18, A44, A76, A77; field
// faults, FF94).
package canary_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// The places where something may be found.
const (
	inLog     = "log"
	inFiles   = "files"   // of the data folder and its backup
	inMetrics = "metrics" // and profiles
	inReplies = "replies" // to whoever is not the secret's own
	inJSON    = "json"    // what the owner's commands print
)

// canary is a secret and where it belongs.
type canary struct {
	what, text string
	belongs    []string
}

// found collects what was written, by place.
type found struct {
	mu  sync.Mutex
	all map[string]map[string][]byte
}

func (f *found) add(place, name string, raw []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all[place] == nil {
		f.all[place] = map[string][]byte{}
	}
	f.all[place][name] = append(f.all[place][name], raw...)
}

// judge looks for each canary in all that was found, also in the forms that a text
// gets on its way.
func (f *found) judge(t *testing.T, list []canary) (looked int) {
	t.Helper()
	for _, c := range list {
		forms := []string{c.text, base64.StdEncoding.EncodeToString([]byte(c.text))[:12], base64.RawURLEncoding.EncodeToString([]byte(c.text))[:12],
			hex.EncodeToString([]byte(c.text)), strings.ToUpper(hex.EncodeToString([]byte(c.text)))}
		hits := map[string]int{}
		for place, names := range f.all {
			for name, raw := range names {
				looked += len(raw)
				for _, form := range forms {
					if n := bytes.Count(raw, []byte(form)); n > 0 {
						hits[place] += n
						if !contains(c.belongs, place) {
							at := bytes.Index(raw, []byte(form))
							t.Errorf("%s is in the %s, %s: …%q…", c.what, place, name, raw[max(0, at-80):min(len(raw), at+len(form)+40)])
						}
					}
				}
			}
		}
		for _, place := range c.belongs {
			if hits[place] == 0 {
				t.Errorf("%s is not in the %s, where it belongs: the search finds nothing", c.what, place)
			}
		}
	}
	return looked
}

func contains(list []string, one string) bool {
	for _, s := range list {
		if s == one {
			return true
		}
	}
	return false
}

// rig is a host with canaries in it.
type rig struct {
	*hosttest.Host
	t       *testing.T
	sly     adminwire.Review
	items   adminwire.Review
	app     *hosttest.App
	other   *hosttest.App
	found   *found
	log     *bytes.Buffer
	logMu   sync.Mutex
	home    string
	args    []string // of up
	arm     string   // the file that arms a failpoint
	paths   int      // failure paths that were walked
	secrets map[string]string
}

func (r *rig) Write(p []byte) (int, error) {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	return r.log.Write(p)
}

// fresh makes a text that nothing else has.
func fresh(what string) string { return fmt.Sprintf("cnry%s%016x", what, rand.Uint64()) }

func newRig(t *testing.T, says string, args ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, found: &found{all: map[string]map[string][]byte{}}, log: &bytes.Buffer{}, arm: filepath.Join(dir, "arm"), home: filepath.Join(dir, "home"), args: args, secrets: map[string]string{}}
	for _, what := range []string{"env", "word", "hostenv", "args", "asked", "member", "header", "query", "body", "item", "planned", "session", "method"} {
		r.secrets[what] = fresh(what)
	}
	r.secrets["says"] = says
	r.start("")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.Import(r.Config(map[string]hosttest.Server{"sly": {Command: self, Args: []string{"-" + r.secrets["word"]},
		Env: map[string]string{"CANARY_SAYS": says, "CANARY_ENV": r.secrets["env"]}}}))
	r.sly, r.items = r.Review("sly"), r.Review("@items")
	effects := map[string]string{}
	for _, way := range ways {
		effects[way] = "read"
	}
	effects["ask_first"] = "communicate"
	r.Approve("sly", effects)
	r.app, r.other = r.AddApp("canary"), r.AddApp("other")
	r.app.Grant("sly", ways...)
	r.app.Grant("@items", "put", "get")
	r.secrets["rpctoken"], r.secrets["mcptoken"], r.secrets["othertoken"] = r.app.RPC, r.app.MCP, r.other.RPC
	return r
}

// post sends a body to a path and keeps the reply as one that must not tell.
func (r *rig) post(name, path, token, body string, headers map[string]string) int {
	r.t.Helper()
	status, raw := r.Post(path, token, []byte(body), headers)
	r.found.add(inReplies, name, raw)
	r.paths++
	return status
}

func (r *rig) rpc(method, args, more string) string {
	return r.request(r.sly, method, args, more)
}

func (r *rig) request(review adminwire.Review, method, args, more string) string {
	return fmt.Sprintf(`{"v":1,"tx":%q,"resource":%q,"contract":%q,"method":%q,"args":%s%s}`,
		id.NewTx(time.Now()), review.Resource.ID, review.Methods[0].Contract, method, args, more)
}

// told is the status that each way to fail has at /rpc/v1.
var told = map[string]int{"is_error": 502, "rpc_error": 502, "no_json": 504, "two_ids": 504, "exits": 504, "deaf": 504, "asks_back": 502, "large": 504, "strays": 200}

// walk goes through success and failure at every door.
func (r *rig) walk() {
	s := r.secrets
	args := fmt.Sprintf(`{"text":%q}`, s["args"])
	leaking := map[string]string{"X-Api-Key": s["header"], "Cookie": "session=" + s["header"], "Proxy-Authorization": "Bearer " + s["header"], "User-Agent": s["header"]}

	// What succeeds tells its own caller, and is no reply to search.
	if status, raw := r.Post("/rpc/v1?key="+s["query"], r.app.RPC, []byte(r.rpc("answers", args, "")), leaking); status != http.StatusOK || !bytes.Contains(raw, []byte("ok")) {
		r.t.Errorf("HTTP %d %s", status, raw)
	}
	for _, way := range ways[2:] {
		more := ""
		if way == "deaf" || way == "no_json" || way == "two_ids" { // no answer to this call
			more = `,"deadline_ms":1000`
		}
		status, raw := r.Post("/rpc/v1", r.app.RPC, []byte(r.rpc(way, args, more)), leaking)
		r.paths++
		if status != told[way] {
			r.t.Errorf("%s: HTTP %d %s", way, status, raw)
		}
		// An error of the upstream's is told to its caller, and so is a result that
		// says so; the arguments never are.
		r.found.add(inReplies, way, bytes.ReplaceAll(raw, []byte(s["says"]), nil))
	}
	r.asks()
	r.bad(args, leaking)
	r.mcp()
	r.owner()
	r.breaks()
}

// asks has the owner asked about exact arguments, which are the owner's to see.
func (r *rig) asks() {
	body := r.rpc("ask_first", fmt.Sprintf(`{"text":%q}`, r.secrets["asked"]), "")
	if status := r.post("a question", "/rpc/v1", r.app.RPC, body, nil); status != http.StatusForbidden {
		r.t.Errorf("HTTP %d", status)
	}
	put := r.request(r.items, "put", fmt.Sprintf(`{"key":"k","value":%q}`, r.secrets["item"]), `,"if":{"absent":true}`)
	if status := r.post("an item", "/rpc/v1", r.app.RPC, put, nil); status != http.StatusOK {
		r.t.Errorf("HTTP %d", status)
	}
}

// bad are requests that no call comes of.
func (r *rig) bad(args string, leaking map[string]string) {
	s := r.secrets
	good := r.rpc("answers", args, "")
	for name, c := range map[string]struct{ path, token, body string }{
		"no token":         {"/rpc/v1", "", good},
		"a wrong token":    {"/rpc/v1", "stw_at_" + s["header"], good},
		"another's token":  {"/rpc/v1", r.other.RPC, good},
		"another door's":   {"/rpc/v1", r.app.MCP, good},
		"no JSON":          {"/rpc/v1", r.app.RPC, "{" + s["body"]},
		"twice":            {"/rpc/v1", r.app.RPC, `{"v":1,"` + s["member"] + `":1,"` + s["member"] + `":2,"x":"` + s["body"] + `"}`},
		"unknown member":   {"/rpc/v1", r.app.RPC, `{"v":1,"` + s["member"] + `":"` + s["body"] + `"}`},
		"deep":             {"/rpc/v1", r.app.RPC, strings.Repeat(`{"a":"`+s["body"]+`","b":`, 200)},
		"large":            {"/rpc/v1", r.app.RPC, `{"v":"` + strings.Repeat(s["body"], 20_000) + `"}`},
		"a token as tx":    {"/rpc/v1", r.app.RPC, strings.Replace(good, `"tx":"`, `"tx":"`+r.app.RPC, 1)},
		"no such method":   {"/rpc/v1", r.app.RPC, r.rpc(s["method"], args, "")},
		"no such resource": {"/rpc/v1", r.app.RPC, strings.Replace(good, r.sly.Resource.ID, s["body"], 1)},
		"bad arguments":    {"/rpc/v1", r.app.RPC, r.rpc("answers", `{"`+s["member"]+`":"`+s["args"]+`"}`, "")},
		"long arguments":   {"/rpc/v1", r.app.RPC, r.rpc("answers", `{"text":"`+strings.Repeat(s["args"], 40)+`"}`, "")},
		"a bad condition":  {"/rpc/v1", r.app.RPC, r.rpc("answers", args, `,"if":"`+s["args"]+`"`)},
		"a bad ack":        {"/rpc/v1", r.app.RPC, r.rpc("answers", args, `,"ack":"`+s["args"]+`"`)},
		"a look-up":        {"/rpc/v1/tx", r.app.RPC, `{"v":1,"tx":"` + s["body"] + `"}`},
		"a token's path":   {"/rpc/" + r.app.RPC, r.app.RPC, good},
		"a path":           {"/console?code=" + s["query"], r.app.RPC, good},
		"mcp, no JSON":     {"/mcp", r.app.MCP, "[" + s["body"]},
		"mcp, a method":    {"/mcp", r.app.MCP, `{"jsonrpc":"2.0","id":1,"method":"` + s["body"] + `"}`},
		"mcp, other token": {"/mcp", r.app.RPC, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	} {
		if status := r.post(name, c.path, c.token, c.body, leaking); status < 400 {
			r.t.Errorf("%s: HTTP %d", name, status)
		}
	}
	for header, value := range map[string]string{"Origin": "https://" + s["header"] + ".example", "Mcp-Session-Id": s["session"], "Mcp-Protocol-Version": s["header"]} {
		r.post(header, "/mcp", r.app.MCP, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{header: value, "Accept": "application/json, text/event-stream"})
	}
}

// mcp calls in the stateless revision.
func (r *rig) mcp() {
	tools := r.app.Tools()
	for _, way := range []string{"rpc_error", "is_error", "no_json", "exits"} {
		reply, err := r.app.Call(tools[way], map[string]any{"text": r.secrets["args"]})
		if err != nil {
			r.t.Errorf("%s: %v", way, err)
		}
		r.paths++
		r.found.add(inReplies, "mcp "+way, []byte(strings.ReplaceAll(reply.Raw, r.secrets["says"], "")))
	}
	for name, args := range map[string]map[string]any{"guess_" + r.secrets["body"]: {}, tools["answers"]: {r.secrets["member"]: r.secrets["args"]}} {
		reply, err := r.app.Call(name, args)
		if err != nil {
			r.t.Errorf("%s: %v", name, err)
		}
		r.paths++
		r.found.add(inReplies, "mcp tool", []byte(reply.Raw))
	}
}

// owner types commands that fail.
func (r *rig) owner() {
	s := r.secrets
	for _, server := range []hosttest.Server{
		{Command: "/nowhere/at-all", Args: []string{s["planned"]}, Env: map[string]string{"A": s["planned"]}},
		{Command: "/bin/false", Args: []string{s["planned"]}, Env: map[string]string{"A": s["planned"]}},
	} {
		for _, words := range [][]string{{"import", r.Config(map[string]hosttest.Server{"bad": server}), "--dry-run", "--json"}, {"import", r.Config(map[string]hosttest.Server{"bad": server})}} {
			stdout, stderr, code := r.Run("", words...)
			if code == 0 {
				r.t.Errorf("%v ended with 0", words)
			}
			r.paths++
			r.found.add(inReplies, "import", []byte(stdout+stderr))
		}
	}
	broken := filepath.Join(r.t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"mcpServers":{"x":{"env":{"A":"`+s["planned"]+`"},`+s["planned"]+`}}}`), 0o600); err != nil {
		r.t.Fatal(err)
	}
	for _, words := range [][]string{{"import", broken}, {"call", "sly", "answers", `{"` + s["member"] + `":"` + s["args"] + `"}`}, {"grants", "add", "canary", "sly", "none"},
		{"journal", "show", "inv_none"}, {"review", "--approve", "sly", "--shown", "sha256:00", "--methods", "answers"}} {
		stdout, stderr, code := r.Run("", words...)
		if code == 0 {
			r.t.Errorf("%v ended with 0", words)
		}
		r.paths++
		r.found.add(inReplies, strings.Join(words[:1], " "), []byte(stdout+stderr))
	}
}

// breaks has our own code panic and fail in the middle of calls, and the process
// killed with one under way; each host comes up on what the one before has left.
func (r *rig) breaks() {
	for _, point := range []string{"FP1=panic", "FP6=error", "FP6=panic", "FP7=panic", "FP4=kill"} {
		r.Kill()
		r.start(point)
		if err := os.WriteFile(r.arm, nil, 0o600); err != nil {
			r.t.Fatal(err)
		}
		r.post(point, "/rpc/v1", r.app.RPC, r.rpc("strays", fmt.Sprintf(`{"text":%q}`, r.secrets["args"]+point), ""), map[string]string{"X-Api-Key": r.secrets["header"]})
		name, action, _ := strings.Cut(point, "=")
		hosttest.WaitFor(r.t, "the word of "+point, func() error { // it may come after the connection's end
			if log := r.text(); !strings.Contains(log, "failpoint "+name+": "+action) || action == "panic" && !strings.Contains(log, "panic") {
				return errors.New("not told")
			}
			return nil
		})
	}
	r.Kill()
	r.start("")
}

// start starts a host on the rig's folder.
func (r *rig) start(points string) {
	r.Host = hosttest.StartWith(r.t, hosttest.Options{Home: r.home, Tags: "failpoints", Log: r,
		Env:  []string{"STEWARD_FAILPOINTS=" + points, "STEWARD_FAILPOINT_ARM=" + r.arm, "SECRET_OF_THE_HOST=" + r.secrets["hostenv"]},
		Args: append([]string{"--debug", "--metrics", "socket"}, r.args...)})
}

func (r *rig) text() string {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	return r.log.String()
}

// scrape reads the metrics' socket.
func (r *rig) scrape(path string) string {
	r.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(r.Home, "run", "metrics.sock"))
	}}}
	resp, err := client.Get("http://localhost" + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: HTTP %d, %v", path, resp.StatusCode, err)
	}
	return string(raw)
}

// gather takes everything that the run wrote.
func (r *rig) gather() {
	r.t.Helper()
	for _, path := range []string{"/metrics", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/allocs?debug=1"} {
		r.found.add(inMetrics, path, []byte(r.scrape(path)))
	}
	for _, words := range [][]string{{"status"}, {"version"}, {"apps", "list"}, {"resources", "list"}, {"resources", "show", "sly"}, {"grants", "list"},
		{"confirm", "list"}, {"journal", "list"}, {"journal", "verify"}, {"backup", filepath.Join(r.Home, "backup")}} {
		r.found.add(inJSON, strings.Join(words, " "), []byte(r.Do(append(words, "--json")...)))
		if words[0] != "backup" {
			r.found.add(inJSON, strings.Join(words, " "), []byte(r.Do(words...)))
		}
	}
	var page adminwire.Journal
	r.JSON(&page, "journal", "list")
	for _, call := range page.Invocations {
		r.found.add(inJSON, "journal show", []byte(r.Do("journal", "show", call.ID, "--json")))
	}
	r.Kill() // with its log as it is
	err := filepath.WalkDir(r.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		r.found.add(inFiles, path, raw)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.found.add(inLog, "log", []byte(r.text()))
}

// R26, FF94. After success and more than thirty failures at debug level, no secret is
// where it does not belong.
func TestCanariesStayWhereTheyBelong(t *testing.T) {
	says := fresh("says")
	r := newRig(t, says)
	r.walk()
	r.gather()
	s := r.secrets
	list := []canary{
		{"an environment variable of an upstream", s["env"], nil},
		{"a word of an upstream's command", s["word"], nil},
		{"the host's own environment", s["hostenv"], nil},
		{"arguments", s["args"], []string{inJSON}}, // of a call in doubt, for the owner
		{"arguments that the owner is asked about", s["asked"], []string{inJSON}},
		{"the name of a member, which its sender is told", s["member"], []string{inReplies}},
		{"a header", s["header"], nil},
		{"a query", s["query"], nil},
		{"a body that is none", s["body"], nil},
		{"a method that is none, whose grant its sender is told to ask for", s["method"], []string{inReplies}},
		{"a session", s["session"], nil},
		{"an item", s["item"], []string{inFiles}},
		{"a configuration that failed", s["planned"], nil},
		{"what an upstream says", s["says"], []string{inFiles, inJSON}},
		{"a token of /rpc/v1", s["rpctoken"], nil},
		{"a token of /mcp", s["mcptoken"], nil},
		{"another app's token", s["othertoken"], nil},
	}
	looked := r.found.judge(t, list)
	if r.paths < 30 {
		t.Errorf("only %d failure paths", r.paths)
	}
	figure.Tell(t, "R26", "canaries=%d failure_paths=%d searched_bytes=%d", len(list), r.paths, looked)
}
