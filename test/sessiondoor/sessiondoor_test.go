// Package sessiondoor holds the daemon's door to what it promises: transcripts of
// both directions, deadlines by a fake clock, every code of the table, and a real
// socket. Turns are scripted by their prompts and sessions are kept in memory, so
// that nothing but the daemon is under test.
package sessiondoor

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/faces/unixsocket"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/sessions"
	"github.com/stewardhost/steward/internal/service/sessions/archive"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// rig is a daemon without a listener.
type rig struct {
	t       testing.TB
	log     *memory
	service *sessions.Service
	server  *unixsocket.Server
	files   map[string]string // of the workspace
	names   []string          // that the catalog has
	gate    chan struct{}     // a capture waits for it, if it is there
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, log: &memory{streams: map[string]*stream{}}, files: map[string]string{}}
	r.service = sessions.New(sessions.Ports{Log: r.log, Names: func() []string { return r.names }, Capture: r.capture, RunTurn: r.runTurn})
	about := unixsocket.About{Version: "v1", Workspace: "/w", StateRoot: "/s"}
	r.server = unixsocket.New(r.service, about, slog.Default())
	return r
}

// close ends the daemon as SIGTERM does.
func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.service.Close(ctx); err != nil {
		r.t.Errorf("closing: %v", err)
	}
	r.server.Close()
}

func (r *rig) capture(_ context.Context, path string, limit int) ([]byte, error) {
	if r.gate != nil {
		<-r.gate
	}
	content, ok := r.files[path]
	switch {
	case !ok:
		return nil, fault.New(fault.InvalidPayload, "there is no such file")
	case len(content) > limit:
		return nil, fault.New(fault.LimitExceeded, "the file is too long")
	}
	return []byte(content), nil
}

// runTurn does what the prompt says, a line at a time:
//
//	say TEXT                 say it
//	long N                   say N bytes
//	show KIND NAME SUMMARY   tell of it
//	call ID NAME ARGUMENTS   call, and say what came of it
//	both ID NAME ARGUMENTS   call without waiting; its end is waited for at last
//	pause                    let a millisecond pass
//	instructions             say the skills
//	hold                     wait until it is stopped
//	deaf                     wait until the rig lets go, stopped or not
//	fail CODE                end failed
func (r *rig) runTurn(ctx context.Context, plan turn.Plan, hands *sessions.Hands, record sessions.Record) turn.Outcome {
	var calls sync.WaitGroup
	defer calls.Wait()
	for line := range strings.SplitSeq(plan.Prompt, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "long":
			n := 0
			for _, c := range rest {
				n = n*10 + int(c-'0')
			}
			rest = strings.Repeat("x", n)
			fallthrough
		case "say":
			if err := hands.Say(ctx, rest); err != nil {
				return turn.Outcome{Status: turn.Failed, Code: turn.CodeLimitExceeded}
			}
			if err := record(ctx, transcript.AssistantChunk, transcript.Chunk{Text: rest}); err != nil {
				return turn.Outcome{Status: turn.Failed, Code: turn.CodePersistenceFailed}
			}
		case "show":
			f := strings.SplitN(rest, " ", 3)
			hands.Show(ctx, f[0], f[1], f[2])
		case "instructions":
			_ = hands.Say(ctx, plan.Instructions)
		case "call", "both":
			f := strings.SplitN(rest, " ", 3)
			asked := turn.Call{ProviderCallID: f[0], Name: f[1], Arguments: f[2]}
			if word == "both" {
				calls.Go(func() { hands.Call(ctx, asked) })
				continue
			}
			a := hands.Call(ctx, asked)
			if a.Fatal != "" {
				return turn.Outcome{Status: turn.Failed, Code: a.Fatal}
			}
			_ = hands.Say(ctx, a.Status+" "+a.Code+" "+string(a.Effects)+" "+a.Text)
		case "pause":
			<-time.After(time.Millisecond)
		case "hold":
			<-ctx.Done()
			return turn.Outcome{Status: turn.Cancelled, Code: turn.CodeCancelled}
		case "deaf":
			<-r.gate
		case "fail":
			return turn.Outcome{Status: turn.Failed, Code: rest}
		}
	}
	return turn.Outcome{Status: turn.Completed}
}

// memory keeps sessions as a store does.
type memory struct {
	mu      sync.Mutex
	streams map[string]*stream
	order   []string
	broken  transcript.Kind // a record of this kind cannot be written
	slow    chan struct{}   // an open waits for it, if it is there
	hang    chan struct{}   // a result waits for it, if it is there
	hold    chan struct{}   // what reads or makes sessions waits for it, if it is there
	late    chan struct{}   // a turn's end waits for it, if it is there
	torn    chan struct{}   // what mends a session waits for it, if it is there
	gone    bool            // what is mended is not there
	busy    bool            // another process has every lease
	odd     error           // what opening says
}

type stream struct {
	m       *memory
	records []transcript.Record
	title   string
	broken  bool
	closed  bool
}

func (m *memory) Create(_ context.Context, session, title string) error {
	if m.hold != nil {
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken == transcript.SessionTitle {
		return fault.New(fault.PersistenceFailed, "the disk is full")
	}
	m.streams[session] = &stream{m: m, title: title}
	m.order = append(m.order, session)
	return m.streams[session].add("", transcript.SessionTitle, transcript.Title{SessionID: session, Title: &title})
}

func (m *memory) Known(session string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.streams[session] != nil
}

func (m *memory) List(_ context.Context, after string, limit int) ([]archive.Listed, error) {
	if m.hold != nil {
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from := slices.Index(m.order, after) + 1
	var out []archive.Listed
	for _, id := range m.order[from:min(len(m.order), from+limit)] {
		s := m.streams[id]
		out = append(out, archive.Listed{Session: id, Title: s.title, Updated: time.UnixMilli(s.records[len(s.records)-1].At)})
	}
	return out, nil
}

func (m *memory) Read(_ context.Context, session string, after int64, limit int) ([]transcript.Record, error) {
	if m.hold != nil {
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.streams[session].records
	from := min(int(after), len(all))
	return slices.Clone(all[from:min(len(all), from+limit)]), nil
}

// Mend finds every session whole, or gone.
func (m *memory) Mend(context.Context, string) error {
	if m.torn != nil {
		<-m.torn
	}
	if m.gone {
		return fault.New(fault.UnknownSession, "somebody has removed it")
	}
	return nil
}

func (m *memory) Open(_ context.Context, session string) (archive.Stream, []conversation.Message, error) {
	if m.slow != nil {
		<-m.slow
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.odd != nil {
		return nil, nil, m.odd
	}
	if m.busy {
		return nil, nil, fault.New(fault.SessionBusy, "another process writes")
	}
	s := m.streams[session]
	s.closed = false
	return s, nil, nil
}

func (s *stream) Append(_ context.Context, turn string, kind transcript.Kind, data any) error {
	if kind == transcript.ToolResult && s.m.hang != nil {
		<-s.m.hang
	}
	if kind == transcript.TurnStatus && s.m.late != nil {
		<-s.m.late
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.closed {
		return fault.New(fault.PersistenceFailed, "the stream is closed")
	}
	if s.broken = s.broken || s.m.broken == kind; s.broken {
		return fault.New(fault.PersistenceFailed, "the disk is full")
	}
	return s.add(turn, kind, data)
}

func (s *stream) add(turn string, kind transcript.Kind, data any) error {
	r, err := transcript.New(int64(len(s.records)+1), time.Now().UnixMilli(), turn, kind, data)
	s.records = append(s.records, r)
	return err
}

func (s *stream) Close() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.closed = true
	return nil
}

// peer is one client of the daemon.
type peer struct {
	r    *rig
	conn net.Conn
	mu   sync.Mutex
	got  []string // lines that nobody has looked at
	end  bool
	next int         // request number
	deaf atomic.Bool // reads no more, after what it reads now

	instance, connection string
	session, grant       string
	generation           int64

	registry, executor, proof string // as last told
	held                      int64  // the executor's generation
	tools                     []sessionwire.Descriptor
}

// dial connects a client over a pipe.
func (r *rig) dial() *peer {
	mine, its := net.Pipe()
	r.server.Take(its)
	p := &peer{r: r, conn: mine}
	go p.read()
	return p
}

func (p *peer) read() {
	lines := bufio.NewReader(p.conn)
	for !p.deaf.Load() {
		line, err := lines.ReadString('\n')
		p.mu.Lock()
		if err != nil {
			p.end = true
			p.mu.Unlock()
			return
		}
		p.got = append(p.got, strings.TrimSuffix(line, "\n"))
		p.mu.Unlock()
	}
}

// take gives the lines that came since the last take, and whether the daemon has
// closed.
func (p *peer) take() ([]string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.got
	p.got = nil
	return out, p.end
}

// send writes raw bytes; the daemon may have closed.
func (p *peer) send(raw []byte) { _, _ = p.conn.Write(raw) }

// request makes a record of what is set.
func (p *peer) request(id, method string, session, operation *string, control *sessionwire.Control, payload string) []byte {
	r := sessionwire.Request{
		ProtocolVersion: 2, Kind: "request", RequestID: id, SessionID: session, OperationID: operation, Control: control,
		Method: method, Payload: sessionwire.Raw(payload),
	}
	if p.instance != "" && method != "initialize" {
		r.InstanceID, r.ConnectionID = &p.instance, &p.connection
	}
	raw, err := strictjson.Encode(r)
	if err != nil {
		p.r.t.Fatal(err)
	}
	return append(raw, '\n')
}

// decodeInto reads a record of the daemon strictly.
func decodeInto[T any](t testing.TB, line string) T {
	t.Helper()
	var v T
	if err := strictjson.Decode([]byte(line), strictjson.Limits{}, &v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return v
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(raw)
}
