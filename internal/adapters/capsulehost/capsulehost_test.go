package capsulehost_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/stewardhost/steward/capsule"
	"github.com/stewardhost/steward/internal/adapters/capsulehost"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/childprocess"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

const limit = time.Minute

// The test binary is the supervisor and the capsules.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if os.Args[1] == childprocess.Verb {
			os.Exit(childprocess.Supervise(os.Args[2:]))
		}
		if run, ok := programs[os.Args[1]]; ok {
			run()
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

var programs = map[string]func(){
	// notes serves who asked, and waits for ever where told to.
	"notes": func() {
		err := capsule.Serve(context.Background(), capsule.Capsule{
			Describe: func(_ context.Context, who capsule.Caller) ([]capsule.Resource, error) {
				return []capsule.Resource{{URI: "notes:who", Name: who.Principal() + " " + who.Capsule()}}, nil
			},
			Read: func(ctx context.Context, _ capsule.Caller, uri string) ([]capsule.Content, error) {
				switch uri {
				case "notes:who":
					return []capsule.Content{capsule.Text(uri, "text/plain", "x"), capsule.Blob(uri, "", []byte{0})}, nil
				case "notes:broken":
					return nil, errors.New("the disk is full")
				case "notes:wait":
					<-ctx.Done()
					fmt.Fprintln(os.Stderr, "called off")
					return nil, ctx.Err()
				case "notes:die":
					syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
				return nil, capsule.ErrNotMine
			},
			Tools: []capsule.Tool{{Name: "slow", Input: `{"type":"object"}`, Call: func(ctx context.Context, _ capsule.Caller, _ json.RawMessage) (capsule.Result, error) {
				fmt.Fprintln(os.Stderr, "begun")
				<-ctx.Done()
				return capsule.Result{Contents: []capsule.ToolContent{capsule.Say("done all the same")}}, nil
			}}},
		})
		fmt.Fprintln(os.Stderr, "ended", err)
	},
	// keeper answers every call when it is asked what it serves.
	"keeper": func() {
		greet()
		fmt.Println(`{"type":"ready"}`)
		var ids []string
		for in.Scan() {
			f, _ := capsulewire.DecodeHostFrame(in.Bytes())
			if f.Type == capsulewire.Request {
				ids = append(ids, f.ID)
				fmt.Fprintln(os.Stderr, "heard")
			}
			for f.Topic == topic.DescribeRequest && len(ids) > 0 {
				line, _ := capsulewire.EncodeFrame(capsulewire.CapsuleFrame{Type: capsulewire.Reply, ID: ids[0], Payload: capsulewire.Raw(`{}`)})
				os.Stdout.Write(line)
				ids = ids[1:]
			}
		}
	},
	// server is an MCP server, which the host knows nothing else of.
	"server": func() {
		s := mcp.NewServer(&mcp.Implementation{Name: "docs", Version: "1"}, nil)
		s.AddResource(&mcp.Resource{URI: "docs:a", Name: "a"}, func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "x"}}}, nil
		})
		s.AddResource(&mcp.Resource{URI: "docs:wait", Name: "wait"}, func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			fmt.Fprintln(os.Stderr, "waits")
			<-ctx.Done()
			fmt.Fprintln(os.Stderr, "called off")
			return nil, ctx.Err()
		})
		_ = s.Run(context.Background(), &mcp.StdioTransport{})
	},
	"garbage": func() { greet(); fmt.Println(`{"type":"ready"}`); fmt.Println("hello"); forever() },
	"twice":   func() { greet(); fmt.Println(`{"type":"ready"}`); fmt.Println(`{"type":"ready"}`); forever() },
	"long":    func() { greet(); fmt.Println(`{"type":"ready"}`); fmt.Println(strings.Repeat("x", 2<<20)); forever() },
	"flood": func() {
		greet()
		fmt.Println(`{"type":"ready"}`)
		for {
			fmt.Println(`{"type":"reply","id":"guessed","payload":{}}`)
		}
	},
	// mute has nothing to say to anything.
	"mute": func() {
		greet()
		fmt.Println(`{"type":"ready"}`)
		for in.Scan() {
			f, _ := capsulewire.DecodeHostFrame(in.Bytes())
			line, _ := capsulewire.EncodeFrame(capsulewire.CapsuleFrame{Type: capsulewire.Silent, ID: f.ID})
			os.Stdout.Write(line)
		}
	},
	"deaf": func() { greet(); fmt.Println(`{"type":"ready"}`); forever() },
	// twofold answers each request twice, and once more what it was never asked.
	"twofold": func() {
		greet()
		fmt.Println(`{"type":"ready"}`)
		for in.Scan() {
			f, _ := capsulewire.DecodeHostFrame(in.Bytes())
			for _, id := range []string{f.ID, f.ID, "guessed"} {
				line, _ := capsulewire.EncodeFrame(capsulewire.CapsuleFrame{Type: capsulewire.Reply, ID: id, Payload: capsulewire.Raw(`{"resources":[]}`)})
				os.Stdout.Write(line)
			}
		}
	},
}

var in = bufio.NewScanner(os.Stdin)

func greet() { in.Scan() }

func forever() { <-time.After(limit) }

// bench is a host over a bus that is two channels.
type bench struct {
	*capsulehost.Host
	principal topic.Principal
	seats     chan *seat
	joined    chan struct{}
	left      chan topic.Source
	compiled  string // the folder of what was compiled
}

type seat struct {
	place   capsulehost.Place
	take    func(capsulehost.Request)
	lost    func()
	answers chan string
	unheard chan string
	closed  chan struct{}
}

func newBench(t *testing.T, inside map[string]capsulehost.Handler) *bench {
	t.Helper()
	b := &bench{principal: topic.PrincipalOf(id.New[id.Owner]()), seats: make(chan *seat, 100), joined: make(chan struct{}, 100), left: make(chan topic.Source, 100), compiled: t.TempDir()}
	b.Host = capsulehost.New(capsulehost.Ports{
		Admit: func(p capsulehost.Place, take func(capsulehost.Request), lost func()) (capsulehost.Seat, error) {
			s := &seat{p, take, lost, make(chan string, 100), make(chan string, 100), make(chan struct{})}
			b.seats <- s
			return capsulehost.Seat{
				Answer: func(q capsulehost.Request, payload []byte) error {
					s.answers <- q.Round + " " + string(payload)
					return nil
				},
				Lose: func(q capsulehost.Request, sent bool) error {
					s.unheard <- fmt.Sprint(q.Round, " ", sent)
					return nil
				},
				Decline: func(q capsulehost.Request) error {
					s.answers <- q.Round + " declined"
					return nil
				},
				Close: func() { close(s.closed) },
			}, nil
		},
		Joined: func(topic.Principal) { b.joined <- struct{}{} },
		Left:   func(_ topic.Principal, s topic.Source) { b.left <- s },
	}, b.principal, capsulehost.Options{Tenant: "t", Version: "1", Inside: inside, Compiled: b.compiled, Shipped: map[string]int{"files": 1}})
	t.Cleanup(b.Close)
	return b
}

// install writes a manifest for a program of this binary and starts it.
func (b *bench) install(t *testing.T, program string, more ...string) (capsulehost.Installed, *seat) {
	t.Helper()
	folder := t.TempDir()
	manifest := fmt.Sprintf("name = %q\nversion = \"1\"\nruntime = \"process\"\ncommand = [%q, %q]\n[publish]\n%q = {}\n%q = {}\n%q = {}\n%q = {}\n[subscribe]\n%q = { handler = \"tools\" }\n%q = { handler = \"execute\" }\n%q = { handler = \"describe\" }\n%q = { handler = \"read\" }\n",
		program, os.Args[0], program, "resource.v1.response.describe.*", "resource.v1.response.read.*", topic.ToolsResponse+".*", topic.Executed+".*",
		topic.ToolsRequest, topic.Execute+".*", topic.DescribeRequest, topic.ReadRequest)
	if err := os.WriteFile(filepath.Join(folder, "Capsule.toml"), []byte(manifest+strings.Join(more, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.started(t, folder)
}

// started starts the capsule of a folder.
func (b *bench) started(t *testing.T, folder string) (capsulehost.Installed, *seat) {
	t.Helper()
	c, err := b.Inspect(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(c); err != nil {
		t.Fatal(err)
	}
	return c, next(t, b.seats)
}

// installServer starts the MCP server as a capsule.
func (b *bench) installServer(t *testing.T, more string) *seat {
	t.Helper()
	folder := t.TempDir()
	manifest := fmt.Sprintf("name = \"docs\"\nversion = \"1\"\nruntime = \"mcp\"\ncommand = [%q, \"server\"]\n", os.Args[0])
	if err := os.WriteFile(filepath.Join(folder, "Capsule.toml"), []byte(manifest+more), 0o600); err != nil {
		t.Fatal(err)
	}
	_, seat := b.started(t, folder)
	return seat
}

func next[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(limit):
		t.Fatal("nothing came")
	}
	return v
}

func ask(t *testing.T, name, round, payload string) capsulehost.Request {
	t.Helper()
	parsed, err := topic.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return capsulehost.Request{Topic: parsed, Round: round, Deadline: time.Now().Add(limit), Payload: []byte(payload)}
}

func readOf(t *testing.T, round, uri string) capsulehost.Request {
	t.Helper()
	return ask(t, topic.ReadRequest, round, fmt.Sprintf(`{"uri":%q,"correlation-id":%q}`, uri, round))
}

func TestACapsuleAnswersForTheOneItRunsFor(t *testing.T) {
	b := newBench(t, nil)
	c, s := b.install(t, "notes")
	if members := b.Members(b.principal); len(members) != 1 || members[0].Source != b.SourceOf(c) || s.place.Source != members[0].Source || s.place.Principal != b.principal {
		t.Errorf("members while it starts: %+v", members)
	}
	if others := b.Members(topic.PrincipalOf(id.New[id.Owner]())); len(others) != 0 {
		t.Error("it is a member for another principal")
	}
	s.take(ask(t, topic.DescribeRequest, "early", "{}")) // waits until the program is ready
	want := fmt.Sprintf(`early {"resources":[{"uri":"notes:who","name":"%s notes"}]}`, b.principal)
	if got := next(t, s.answers); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	next(t, b.joined)
	s.take(readOf(t, "r1", "notes:who"))
	if got := next(t, s.answers); got != `r1 {"uri":"notes:who","contents":[{"text":{"uri":"notes:who","mime-type":"text/plain","text":"x"}},{"blob":{"uri":"notes:who","blob":"AA=="}}]}` {
		t.Error(got)
	}
	s.take(readOf(t, "r2", "notes:other")) // silent
	s.take(readOf(t, "r3", "notes:broken"))
	if got := next(t, s.answers); got != `r3 {"uri":"notes:broken","error":"the disk is full"}` {
		t.Error(got)
	}
	if len(s.answers) != 0 {
		t.Errorf("a read of somebody else's URI was answered: %s", <-s.answers)
	}
	if err := b.Stop("notes"); err != nil {
		t.Fatal(err)
	}
	next(t, s.closed)
	if got := next(t, b.left); got != s.place.Source || len(b.Members(b.principal)) != 0 || len(b.Statuses()) != 0 {
		t.Errorf("after the end: %v", got)
	}
}

// nothing is a module that ends at once.
const nothing = "\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x03\x01\x00\x01" +
	"\x07\x13\x02\x06_start\x00\x00\x06memory\x02\x00" + "\x0a\x04\x01\x02\x00\x0b"

// BF1: a module that is compiled is a member that warms up, and shows it.
func TestAModuleThatIsCompiledWarmsUp(t *testing.T) {
	b := newBench(t, nil)
	dir := t.TempDir()
	manifest := fmt.Sprintf("name = \"notes\"\nversion = \"1\"\nruntime = \"wasm\"\nmodule = \"./notes.wasm\"\n[publish]\n%q = {}\n%q = {}\n[subscribe]\n%q = { handler = \"describe\" }\n%q = { handler = \"read\" }\n",
		"resource.v1.response.describe.*", "resource.v1.response.read.*", topic.DescribeRequest, topic.ReadRequest)
	for name, content := range map[string]string{"Capsule.toml": manifest, "notes.wasm": nothing} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := b.Inspect(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Compiling takes until somebody writes to the file that says what is kept.
	kept := filepath.Join(b.compiled, fmt.Sprintf("%x", sha256.Sum256([]byte(nothing))))
	if err := errors.Join(os.MkdirAll(kept, 0o700), syscall.Mkfifo(filepath.Join(kept, "sum"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(c); err != nil {
		t.Fatal(err)
	}
	if err := waitFor(func() bool { return b.Statuses()[0].State == capsulehost.Compiling }); err != nil {
		t.Error(err)
	}
	if st, members := b.Statuses()[0], b.Members(b.principal); st.Reason == "" || len(members) != 1 || !members[0].Warming {
		t.Errorf("while it is compiled: %+v, %+v", st, members)
	}
	writer, err := os.OpenFile(filepath.Join(kept, "sum"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	writer.Close()
	next(t, b.joined)
	if st, members := b.Statuses()[0], b.Members(b.principal); st.State != capsulehost.Ready || st.Reason != "" || len(members) != 1 || members[0].Warming {
		t.Errorf("once it is: %+v, %+v", st, members)
	}
}

// A capsule that is taken for the owner of a URI, by its list or by a family, says
// that it has no such one; of others nobody hears.
func TestOnlyWhoMayBeAskedDeclines(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "notes", "[resources]", `families = ["family:"]`)
	for _, one := range []struct {
		q    capsulehost.Request
		want string
	}{
		{readOf(t, "r1", "notes:gone"), ""}, {readOf(t, "r2", "family:gone"), "r2 declined"}, {readOf(t, "r3", "notes:left"), ""},
		{ask(t, topic.DescribeRequest, "d", "{}"), fmt.Sprintf(`d {"resources":[{"uri":"notes:who","name":"%s notes"}]}`, b.principal)},
		{readOf(t, "r4", b.principal.String()+" notes"), "r4 declined"}, {readOf(t, "r5", "notes:elsewhere"), ""}, {readOf(t, "r6", "family:gone"), "r6 declined"},
	} {
		s.take(one.q)
		if one.want == "" {
			continue
		}
		if got := next(t, s.answers); got != one.want {
			t.Errorf("got %s, want %s", got, one.want)
		}
	}
}

func TestACancelledReadEndsAtTheCapsule(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "notes")
	s.take(readOf(t, "r1", "notes:wait"))
	s.take(readOf(t, "r2", "notes:who")) // answered while the other one is open
	next(t, s.answers)
	s.take(ask(t, topic.Cancel+".r1", "r1", "{}"))
	if err := waitFor(func() bool { return strings.Contains(b.Statuses()[0].Log, "called off") }); err != nil {
		t.Fatal(err)
	}
	if len(s.answers) != 0 {
		t.Errorf("answered all the same: %s", <-s.answers)
	}
}

func callOf(t *testing.T, round, tool string) capsulehost.Request {
	t.Helper()
	return ask(t, topic.Execute+"."+tool, round, fmt.Sprintf(`{"call-id":%q,"arguments":{}}`, round))
}

// What a tool did is said even if nobody waits any more (pool page, section 6).
func TestACallThatIsOverMayStillBeAnswered(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "notes")
	s.take(callOf(t, "c1", "slow"))
	s.take(ask(t, topic.Cancel+".c1", "c1", "{}"))
	if got := next(t, s.answers); !strings.HasPrefix(got, "c1 ") || !strings.Contains(got, "all the same") {
		t.Error(got)
	}
}

// A call is for what was looked at when it went out: what has taken its place on the
// bus meanwhile is not told of it.
func TestACallIsForOneLifeOfACapsule(t *testing.T) {
	b := newBench(t, nil)
	c, s := b.install(t, "keeper")
	next(t, b.joined)
	looked, _ := b.Life(b.principal, s.place.Source)
	call := callOf(t, "c1", "slow")
	call.Life = looked
	if err := b.Start(c); err != nil {
		t.Fatal(err)
	}
	now := next(t, b.seats)
	next(t, b.joined)
	now.take(call)
	if got := next(t, now.unheard); got != "c1 false" {
		t.Error(got)
	}
	call = callOf(t, "c2", "slow")
	call.Life, _ = b.Life(b.principal, s.place.Source)
	now.take(call)
	now.take(ask(t, topic.DescribeRequest, "last", "{}"))
	if got := next(t, now.answers); got != "c2 {}" {
		t.Error(got)
	}
}

// Those that are over take no room from others, and only the last of them count.
func TestOnlySoManyCallsThatAreOverMayBeAnswered(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "keeper")
	next(t, b.joined)
	const most = 70
	var want []string
	for i := range most {
		round := fmt.Sprint("c", i)
		s.take(callOf(t, round, "slow"))
		s.take(ask(t, topic.Cancel+"."+round, round, "{}"))
		if i >= most-bound.CapsuleLate.Int() {
			want = append(want, round+" {}")
		}
		if err := waitFor(func() bool { return strings.Count(b.Statuses()[0].Log, "heard") > i }); err != nil {
			t.Fatal(err)
		}
	}
	s.take(ask(t, topic.DescribeRequest, "last", "{}"))
	for _, w := range append(want, "last {}") {
		if got := next(t, s.answers); got != w {
			t.Fatalf("got %s, want %s", got, w)
		}
	}
}

func TestADeadCapsuleIsStartedAgainWithANewSeat(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "notes")
	next(t, b.joined)
	s.take(readOf(t, "r1", "notes:die"))
	next(t, s.closed)
	next(t, b.left)
	again := next(t, b.seats)
	next(t, b.joined)
	again.take(ask(t, topic.DescribeRequest, "d", "{}"))
	if got := next(t, again.answers); !strings.HasPrefix(got, "d ") {
		t.Error(got)
	}
	if st := b.Statuses()[0]; st.State != capsulehost.Ready || st.Restarts != 1 || st.PID == 0 {
		t.Errorf("%+v", st)
	}
	again.lost() // the server ends the connection
	next(t, again.closed)
	next(t, b.seats)
}

// The bounds of a manifest hold: a read has no more time than they say, and an
// answer that is longer is not given.
func TestAManifestNarrowsTheBounds(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "notes", "[bounds]", "time_ms = 50", "payload_bytes = 60")
	next(t, b.joined)
	s.take(readOf(t, "r1", "notes:wait")) // whose deadline is far away
	if err := waitFor(func() bool { return strings.Contains(b.Statuses()[0].Log, "called off") }); err != nil {
		t.Fatal(err)
	}
	s.take(ask(t, topic.DescribeRequest, "d", "{}")) // is answered in more than 60 bytes
	s.take(readOf(t, "r2", "notes:broken"))
	for {
		got := next(t, s.answers)
		if strings.HasPrefix(got, "d ") {
			t.Errorf("answered %s", got)
		}
		if strings.HasPrefix(got, "r2 ") {
			break
		}
	}
}

// No more calls run at once than the manifest says; of the next one it is known that
// the capsule never heard of it.
func TestNoMoreCallsRunThanTheManifestSays(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "notes", "[bounds]", "calls = 2")
	next(t, b.joined)
	for round := range 4 {
		s.take(callOf(t, fmt.Sprint("c", round), "slow"))
		if round > 1 {
			if got, want := next(t, s.unheard), fmt.Sprint("c", round, " false"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
	if err := waitFor(func() bool { return strings.Count(b.Statuses()[0].Log, "begun") == 2 }); err != nil {
		t.Fatal(err)
	}
	s.take(ask(t, topic.Cancel+".c0", "c0", "{}"))
	if got := next(t, s.answers); !strings.HasPrefix(got, "c0 ") {
		t.Error(got)
	}
	s.take(callOf(t, "c4", "slow")) // there is room again
	s.take(ask(t, topic.Cancel+".c4", "c4", "{}"))
	if got := next(t, s.answers); !strings.HasPrefix(got, "c4 ") || len(s.unheard) != 0 {
		t.Error(got)
	}
}

// What the host answers itself, and what a module does, is held to it as well.
func TestAHandlerHasOneRequestWhereTheManifestSaysSo(t *testing.T) {
	b := newBench(t, nil)
	s := b.installServer(t, "[bounds]\ncalls = 1\n")
	next(t, b.joined)
	long := readOf(t, "long", "docs:wait")
	long.Deadline = time.Now().Add(time.Second)
	s.take(long)
	if err := waitFor(func() bool { return strings.Contains(b.Statuses()[0].Log, "waits") }); err != nil {
		t.Fatal(err)
	}
	s.take(readOf(t, "next", "docs:a"))
	for got := ""; !strings.HasPrefix(got, "next "); {
		got = next(t, s.answers)
	}
	if time.Now().Before(long.Deadline) {
		t.Error("two were worked on at once")
	}
}

// BF35: a change is one end and one start, however it is made.
func TestAChangeStartsACapsuleOnce(t *testing.T) {
	b := newBench(t, nil)
	c, first := b.install(t, "notes")
	next(t, b.joined)
	if err := b.Start(c); err != nil {
		t.Fatal(err)
	}
	next(t, first.closed)
	next(t, b.seats)
	next(t, b.joined)
	if st := b.Statuses(); len(st) != 1 || st[0].Restarts != 0 || len(b.seats)+len(b.joined) != 0 || len(b.left) != 1 {
		t.Errorf("%+v; %d seats and %d joins more, %d left", st, len(b.seats), len(b.joined), len(b.left))
	}
}

// A74 and the list of the bus page, section 8: a capsule that misbehaves is
// ended, says why, and is no member while it rests.
func TestACapsuleThatMisbehavesIsEnded(t *testing.T) {
	for program, want := range map[string]string{
		"garbage": "no frame", "twice": "twice", "long": "capsule_frame_bytes", "flood": "floods",
	} {
		t.Run(program, func(t *testing.T) {
			b := newBench(t, nil)
			_, s := b.install(t, program)
			next(t, s.closed)
			next(t, b.left)
			if err := waitFor(func() bool { return strings.Contains(b.Statuses()[0].Reason, want) || len(b.seats) > 0 }); err != nil {
				t.Fatal(err, b.Statuses()[0].Reason)
			}
			if len(s.answers) != 0 {
				t.Errorf("published %s", <-s.answers)
			}
		})
	}
}

// BF10: a capsule that does not read holds nobody up and is ended.
func TestACapsuleThatStopsReadingIsEnded(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "deaf")
	next(t, b.joined)
	big := fmt.Sprintf(`{"uri":"n:%s","correlation-id":"r"}`, strings.Repeat("x", 512<<10))
	for range 4 {
		s.take(ask(t, topic.ReadRequest, "r", big))
	}
	next(t, s.closed)
}

func TestAnAnswerCountsOnceForTheRequestThatItNames(t *testing.T) {
	b := newBench(t, nil)
	_, s := b.install(t, "twofold")
	for _, round := range []string{"a", "b", "c"} {
		s.take(ask(t, topic.DescribeRequest, round, "{}"))
		if got := next(t, s.answers); got != round+` {"resources":[]}` {
			t.Error(got)
		}
	}
	if len(s.answers) != 0 {
		t.Errorf("published %s", <-s.answers)
	}
}

func TestWhatWasNotInstalledIsNotStarted(t *testing.T) {
	b := newBench(t, nil)
	c, s := b.install(t, "notes")
	next(t, b.joined)
	manifest := filepath.Join(c.Folder, "Capsule.toml")
	raw, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, append(raw, "# changed\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.take(readOf(t, "r1", "notes:die"))
	next(t, b.left)
	if err := waitFor(func() bool { return b.Statuses()[0].State == capsulehost.Changed }); err != nil {
		t.Fatal(err)
	}
	if len(b.seats) != 0 || len(b.Members(b.principal)) != 0 {
		t.Error("a changed capsule has a seat")
	}
	if err := b.Start(c); !fault.Is(err, fault.PreconditionFailed) {
		t.Errorf("started all the same: %v", err)
	}
	now, err := b.Inspect(c.Folder, nil)
	if err != nil || now.Build == c.Build {
		t.Fatalf("%v, %v", now.Build, err)
	}
	if err := b.Start(now); err != nil {
		t.Fatal(err)
	}
	if again := next(t, b.seats); again.place.Source != s.place.Source {
		t.Error("an upgrade changed the source")
	}
}

func TestAnMCPServerIsACapsule(t *testing.T) {
	b := newBench(t, nil)
	s := b.installServer(t, "")
	for _, one := range []struct {
		q    capsulehost.Request
		want string
	}{
		{ask(t, topic.DescribeRequest, "d", "{}"), `d {"resources":[{"uri":"docs:a","name":"a"},{"uri":"docs:wait","name":"wait"}]}`},
		{readOf(t, "r", "docs:a"), `r {"uri":"docs:a","contents":[{"text":{"uri":"docs:a","text":"x"}}]}`},
	} {
		s.take(one.q)
		if got := next(t, s.answers); got != one.want {
			t.Errorf("got %s, want %s", got, one.want)
		}
	}
	for i := range 5 { // more than work at once
		s.take(readOf(t, fmt.Sprint("w", i), "docs:wait"))
	}
	for i := range 5 {
		s.take(ask(t, fmt.Sprint(topic.Cancel, ".w", i), fmt.Sprint("w", i), "{}"))
	}
	s.take(readOf(t, "s", "docs:a")) // which waits for none of them
	for got := ""; !strings.HasPrefix(got, "s "); {
		got = next(t, s.answers)
	}
	s.take(readOf(t, "other", "other:a"))
	if err := syscall.Kill(b.Statuses()[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	next(t, s.closed)
	next(t, b.seats)
	for len(s.answers) > 0 {
		if got := <-s.answers; strings.HasPrefix(got, "other ") {
			t.Errorf("a read of somebody else's URI was answered: %s", got)
		}
	}
}

func TestACapsuleInsideTheHost(t *testing.T) {
	b := newBench(t, map[string]capsulehost.Handler{"own": {
		Describe: func(_ context.Context, p topic.Principal) ([]capsulewire.ResourceDefinition, error) {
			return []capsulewire.ResourceDefinition{{URI: "own:x", Name: p.String()}}, nil
		},
		Read: func(_ context.Context, _ topic.Principal, uri string) ([]capsulewire.ResourceContents, bool, error) {
			if uri == "own:broken" {
				return nil, true, errors.New("a secret reason")
			}
			return []capsulewire.ResourceContents{capsule.Text(uri, "", "x")}, uri == "own:x", nil
		},
	}})
	c, err := b.Inspect("own", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(c); err != nil {
		t.Fatal(err)
	}
	s := next(t, b.seats)
	for _, one := range []struct {
		q    capsulehost.Request
		want string
	}{
		{ask(t, topic.DescribeRequest, "d", "{}"), `d {"resources":[{"uri":"own:x","name":"` + b.principal.String() + `"}]}`},
		{readOf(t, "r", "own:x"), `r {"uri":"own:x","contents":[{"text":{"uri":"own:x","text":"x"}}]}`},
		{readOf(t, "b", "own:broken"), `b {"uri":"own:broken","error":"it cannot be read now"}`},
	} {
		s.take(one.q)
		if got := next(t, s.answers); got != one.want {
			t.Errorf("got %s, want %s", got, one.want)
		}
	}
}

// waitFor waits for what a child process does, which has no event here.
func waitFor(condition func() bool) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(limit); !condition(); <-ticker.C {
		if time.Now().After(end) {
			return errors.New("it did not come to that")
		}
	}
	return nil
}

// What a capsule of the host is given is looked at before it takes the place of one
// that works.
func TestAShippedCapsuleIsGivenWhatItTakes(t *testing.T) {
	b := newBench(t, map[string]capsulehost.Handler{"own": {}})
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		folders []string
		ok      bool
	}{
		{"files", []string{folder}, true}, {"own", nil, true}, {"files", nil, false}, {"files", []string{folder, folder}, false},
		{"files", []string{file}, false}, {"files", []string{filepath.Join(folder, "none")}, false}, {"own", []string{folder}, false},
		{"files", []string{"."}, false},
	} {
		if _, err := b.Inspect(c.name, c.folders); (err == nil) != c.ok {
			t.Errorf("%s with %d folders: %v", c.name, len(c.folders), err)
		}
	}
	manifest := "name = \"docs\"\nversion = \"1\"\nruntime = \"mcp\"\ncommand = [\"true\"]\n"
	if err := os.WriteFile(filepath.Join(folder, "Capsule.toml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder) // where the host stands is nothing to whoever asks
	if _, err := b.Inspect(".", nil); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("a folder beside the host: %v", err)
	}
	if _, err := b.Inspect(folder, nil); err != nil {
		t.Error(err)
	}
}
