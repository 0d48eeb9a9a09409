package executor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

var pending = []sessionwire.PendingCall{{SessionID: "S", TurnID: "T", CallID: "1", Status: "pending"}}

// daemon is one at the other end of pipes, that answers as a test tells it.
type daemon struct {
	mu     sync.Mutex
	asked  []string            // methods
	told   []string            // outcomes that were taken
	taken  chan string         // the same, for who waits
	refuse map[string][]string // codes of the next answers to a method; "lost" and "bye" end the connection
	open   []sessionwire.PendingCall
	send   []string // call IDs that are sent once the executor is attached
}

func (d *daemon) dial(context.Context, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go d.serve(ours)
	return theirs, nil
}

func (d *daemon) serve(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewScanner(conn); in.Scan(); {
		var r sessionwire.Request
		if json.Unmarshal(in.Bytes(), &r) != nil || !d.answer(conn, r) {
			return
		}
	}
}

func (d *daemon) answer(conn net.Conn, r sessionwire.Request) (goesOn bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r.Method)
	a := sessionwire.Response{ProtocolVersion: sessionwire.Version, Kind: sessionwire.KindResponse, RequestID: &r.RequestID, InstanceID: "I", ConnectionID: "C", Method: &r.Method, OperationID: r.OperationID, SessionID: r.SessionID}
	if codes := d.refuse[r.Method]; len(codes) > 0 {
		d.refuse[r.Method] = codes[1:]
		switch codes[0] {
		case "":
		case "lost":
			return false
		case "bye":
			a.RequestID, a.Error = nil, &sessionwire.Error{Code: "stale_connection", Message: "of the connection"}
			write(conn, a)
			return false
		default:
			a.Error = &sessionwire.Error{Code: codes[0], Message: "now"}
			return write(conn, a)
		}
	}
	a.Payload, _ = json.Marshal(d.payload(r))
	if !write(conn, a) {
		return false
	}
	if r.Method == sessionwire.ExecutorConfirm {
		session := "S"
		for _, id := range d.send {
			call, _ := json.Marshal(sessionwire.CallPayload{CallID: id, TurnID: "T", Name: "act", Arguments: sessionwire.Raw("{}"), TimeoutMS: 1000})
			write(conn, sessionwire.Event{ProtocolVersion: sessionwire.Version, Kind: sessionwire.KindEvent, InstanceID: "I", ConnectionID: "C", SessionID: &session, Event: sessionwire.ToolCall, Payload: call})
		}
	}
	return true
}

func write(conn net.Conn, record any) bool {
	line, err := json.Marshal(record)
	if err == nil {
		_, err = conn.Write(append(line, '\n'))
	}
	return err == nil
}

func (d *daemon) payload(r sessionwire.Request) any {
	switch r.Method {
	case sessionwire.Initialize:
		return sessionwire.CapabilityAnswer{}
	case sessionwire.ExecutorCreate:
		return sessionwire.ExecutorSecretAnswer{ExecutorID: "E", ExecutorGeneration: 1, ResumeSecret: "P"}
	case sessionwire.ExecutorConfirm:
		return sessionwire.ExecutorResumedAnswer{ExecutorID: "E", ExecutorGeneration: 1}
	case sessionwire.ExecutorResume:
		return sessionwire.ExecutorResumedAnswer{ExecutorID: "E", ExecutorGeneration: 2, PendingCalls: d.open}
	case sessionwire.ExecutorRotate:
		return sessionwire.ExecutorRotationAnswer{ExecutorID: "E", ExecutorGeneration: 2, ResumeSecret: "Q"}
	case sessionwire.ToolResult:
		var p sessionwire.ResultPayload
		if json.Unmarshal(r.Payload, &p) == nil {
			d.told = append(d.told, p.CallID+" "+p.Outcome.Status)
			select {
			case d.taken <- d.told[len(d.told)-1]:
			default:
			}
		}
	}
	return struct{}{}
}

func (d *daemon) count(method string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.asked {
		if m == method {
			n++
		}
	}
	return n
}

// Whatever refuses a connection for a time costs neither the proof nor what is
// known of a call; only the answer that there is no such executor does.
func TestAResumeThatIsRefusedForATimeLosesNothing(t *testing.T) {
	for code, made := range map[string]int{"limit_exceeded": 1, "shutting_down": 1, "configuration_busy": 1, "bye": 1, "lost": 1, "stale_connection": 2} {
		for _, method := range []string{sessionwire.ExecutorResume, sessionwire.Initialize} {
			if method == sessionwire.Initialize {
				made = 1
			}
			t.Run(method+" "+code, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { refused(t, method, code, made) })
			})
		}
	}
}

func refused(t *testing.T, method, code string, made int) {
	d := &daemon{send: []string{"1"}, open: pending, refuse: map[string][]string{
		sessionwire.ToolResult: {"lost"}, // the outcome is kept
	}}
	memory := executor.InProcess()
	runs, opened := 0, 0
	err := executor.Keep(t.Context(), executor.Options{Memory: memory, Dial: d.dial, Tools: map[string]executor.Handler{
		"act": func(context.Context, executor.Call) (any, error) { runs++; return map[string]string{}, nil },
	}}, func(_ context.Context, c *executor.Client) error {
		if opened++; opened == 1 {
			<-c.Done()
			d.mu.Lock()
			d.send, d.refuse[method] = nil, []string{code, code, code}
			d.mu.Unlock()
			return errors.New("lost")
		}
		return nil
	})
	memory.Close()
	want := []string{"1 success"}
	if made == 2 {
		want = nil
	}
	if err != nil || runs != 1 || d.count(sessionwire.ExecutorCreate) != made || !slices.Equal(d.told, want) {
		t.Errorf("%v; %d runs; told %v; asked %v", err, runs, d.told, d.asked)
	}
}

// An outcome that the daemon cannot take now is told until it can, by the same
// connection, whether its handler tells it or an attach.
func TestAnOutcomeIsToldUntilItIsTaken(t *testing.T) {
	busy := []string{"limit_exceeded", "persistence_failed", "configuration_busy"}
	for name, codes := range map[string][]string{"by the handler": busy, "by an attach": append([]string{"lost"}, busy...)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &daemon{send: []string{"1"}, open: pending, refuse: map[string][]string{sessionwire.ToolResult: codes}, taken: make(chan string, 1)}
				memory := executor.InProcess()
				o := executor.Options{Memory: memory, Dial: d.dial, Tools: map[string]executor.Handler{
					"act": func(context.Context, executor.Call) (any, error) { return map[string]string{}, nil },
				}}
				c, err := executor.Open(t.Context(), o)
				if codes[0] == "lost" && err == nil {
					<-c.Done()
					c, err = executor.Open(t.Context(), o)
				}
				if err != nil {
					t.Fatal(err)
				}
				if told := <-d.taken; told != "1 success" {
					t.Errorf("told %s", told)
				}
				memory.Close()
				c.Close()
			})
		})
	}
}
