package remote_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/test/figure"
)

// behaviour is what an upstream does with the one message of a call, and what the
// journal must say of it (pool page, section 7; mcp, section 7; proof page, R10).
type behaviour struct {
	name string
	call func(conn net.Conn, g got)
	want invocation.EventKind
}

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

func write(conn net.Conn, text string) { _, _ = io.WriteString(conn, text) }

// wrote makes a behaviour that writes one text.
func wrote(text string) func(net.Conn, got) { return func(conn net.Conn, _ got) { write(conn, text) } }

func status(code int) func(net.Conn, got) {
	return func(conn net.Conn, _ got) { reply(conn, code, "text/plain", "no") }
}

func statusWith(code int, more string) func(net.Conn, got) {
	return func(conn net.Conn, _ got) { replyWith(conn, code, more, "", "") }
}

func results(text string) func(net.Conn, got) {
	return func(conn net.Conn, g got) { result(conn, g, text) }
}

// whole answers with a body that has the request's id in it.
func whole(frame string) func(net.Conn, got) {
	return func(conn net.Conn, g got) {
		reply(conn, 200, "application/json", strings.ReplaceAll(frame, "$ID", string(g.ID)))
	}
}

// streamed answers with a stream of events.
func streamed(frame string) func(net.Conn, got) {
	return func(conn net.Conn, g got) { write(conn, head+strings.ReplaceAll(frame, "$ID", string(g.ID))) }
}

func hold(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) }

// endless writes a text for as long as it is taken.
func endless(before, text string) func(net.Conn, got) {
	return func(conn net.Conn, _ got) {
		write(conn, before)
		for {
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

// dripping writes a byte at a time, with what seems a sleep between them: a read
// that ends at its deadline.
func dripping(text string) func(net.Conn, got) {
	return func(conn net.Conn, _ got) {
		for i := 0; ; i = (i + 1) % len(text) {
			if _, err := conn.Write([]byte{text[i]}); err != nil {
				return
			}
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if _, err := conn.Read(make([]byte, 1)); err == io.EOF {
				return
			}
		}
	}
}

func reset(conn net.Conn, _ got) { _ = conn.(*net.TCPConn).SetLinger(0) }

var message = `{"jsonrpc":"2.0","id":$ID,"result":` + clean + `}`

func behaviours() []behaviour {
	k := strings.Repeat
	big := `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"` + k("x", bound.ResultBytes.Int()) + `"}]}}`
	return []behaviour{
		// what an upstream may do
		{"a result", results(clean), invocation.Answered},
		{"a result on a stream", streamed("event: message\nid: 1\ndata: " + message + "\n\n"), invocation.Answered},
		{"a result after notices", streamed(": hi\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\ndata: " + message + "\n\n"), invocation.Answered},
		{"a result after a question", streamed(`data: {"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}` + "\n\ndata: " + message + "\n\n"), invocation.Answered},
		{"a result after hints", func(conn net.Conn, g got) {
			write(conn, "HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n")
			result(conn, g, clean)
		}, invocation.Answered},
		{"an error of the tool", results(`{"content":[],"isError":true}`), invocation.ToolError},
		{"an error", whole(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no"}}`), invocation.Rejected},
		{"400", status(400), invocation.Rejected},
		{"401", statusWith(401, "WWW-Authenticate: Bearer\r\n"), invocation.Rejected},
		{"403", status(403), invocation.Rejected},
		{"404", status(404), invocation.Rejected},
		{"408", status(408), invocation.Rejected},
		{"421", status(421), invocation.Rejected},
		{"425", status(425), invocation.Rejected},
		{"429", statusWith(429, "Retry-After: 0\r\n"), invocation.Rejected},
		{"400 with an error", func(conn net.Conn, g got) {
			reply(conn, 400, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"no"}}`, g.ID))
		}, invocation.Rejected},
		{"input required", results(`{"resultType":"input_required","inputRequests":{}}`), invocation.Unanswerable},
		{"another result type", results(`{"resultType":"strange","content":[]}`), invocation.Unanswerable},
		{"a task", results(`{"task":{"taskId":"1"}}`), invocation.Unanswerable},
		// what breaks
		{"500", status(500), invocation.Broken},
		{"502", status(502), invocation.Broken},
		{"503", statusWith(503, "Retry-After: 0\r\n"), invocation.Broken},
		{"301", statusWith(301, "Location: /other\r\n"), invocation.Broken},
		{"302", statusWith(302, "Location: /other\r\n"), invocation.Broken},
		{"307", statusWith(307, "Location: /other\r\n"), invocation.Broken},
		{"308", statusWith(308, "Location: /other\r\n"), invocation.Broken},
		{"read, then closed", func(net.Conn, got) {}, invocation.Broken},
		{"read, then reset", reset, invocation.Broken},
		{"half a head", wrote("HTTP/1.1 200 OK\r\nContent-Ty"), invocation.Broken},
		{"half a body", wrote("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\""), invocation.Broken},
		{"half a chunk", wrote("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"), invocation.Broken},
		{"a chunk of no size", wrote("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"), invocation.Broken},
		{"a stream without an answer", streamed("id: 1\ndata:\n\n"), invocation.Broken},
		{"a frame of another protocol", wrote("\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), invocation.Broken},
		{"a switch of protocols", wrote("HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"), invocation.Broken},
		{"two lengths", wrote("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), invocation.Broken},
		{"no status", wrote("hello\r\n\r\n"), invocation.Broken},
		{"10,000 headers", wrote("HTTP/1.1 200 OK\r\n" + k("X-Fill: y\r\n", 10_000) + "\r\n{}"), invocation.Broken},
		{"one long header", endless("HTTP/1.1 200 OK\r\nX: ", k("y", 4096)), invocation.Broken},
		{"hints without end", endless("", "HTTP/1.1 103 Hints\r\nX: y\r\n\r\n"), invocation.Broken},
		// what is too large
		{"a result over its bound", whole(big), invocation.TooLarge},
		{"a result over its bound on a stream", streamed("data: " + big + "\n\n"), invocation.TooLarge},
		{"a body without end", endless("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", k("x", 64<<10)), invocation.TooLarge},
		{"1 GiB that is announced", endless("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n", k(" ", 64<<10)), invocation.TooLarge},
		{"chunks without end", endless("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", "1000\r\n"+k("x", 4096)+"\r\n"), invocation.TooLarge},
		{"an event without end", endless(head+"data: ", k("x", 64<<10)), invocation.TooLarge},
		{"events without end", endless(head, k("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n", 100)), invocation.TooLarge},
		{"comments without end", endless(head, k(": x\n\n", 1000)), invocation.TooLarge},
		// what is no answer
		{"a gzip", func(conn net.Conn, _ got) {
			replyWith(conn, 200, "Content-Encoding: gzip\r\n", "application/json", "\x1f\x8b\x08")
		}, invocation.InvalidAnswer},
		{"a brotli bomb", func(conn net.Conn, _ got) {
			replyWith(conn, 200, "Content-Encoding: br\r\n", "application/json", "\xce\xff")
		}, invocation.InvalidAnswer},
		{"a coding that is none", func(conn net.Conn, g got) {
			replyWith(conn, 200, "Content-Encoding: identity\r\n", "application/json", strings.ReplaceAll(message, "$ID", string(g.ID)))
		}, invocation.InvalidAnswer},
		{"202", status(202), invocation.InvalidAnswer},
		{"204", statusWith(204, ""), invocation.InvalidAnswer},
		{"206", func(conn net.Conn, g got) { reply(conn, 206, "application/json", "{}") }, invocation.InvalidAnswer},
		{"nothing", func(conn net.Conn, _ got) { reply(conn, 200, "application/json", "") }, invocation.InvalidAnswer},
		{"no JSON", whole(`{"jsonrpc":"2.0","id":$ID,"result":{"content":[}}`), invocation.InvalidAnswer},
		{"two answers in one", whole(message + message), invocation.InvalidAnswer},
		{"a name twice", whole(`{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"content":[]}}`), invocation.InvalidAnswer},
		{"deep JSON", whole(`{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"x":` + k("[", 20_000) + k("]", 20_000) + `}}`), invocation.TooLarge},
		{"an answer to something else", whole(`{"jsonrpc":"2.0","id":999,"result":{"content":[]}}`), invocation.InvalidAnswer},
		{"an answer as a text", whole(`{"jsonrpc":"2.0","id":"$ID","result":{"content":[]}}`), invocation.InvalidAnswer},
		{"a page", func(conn net.Conn, _ got) { reply(conn, 200, "text/html", "<html>") }, invocation.InvalidAnswer},
		{"no kind of content", func(conn net.Conn, _ got) { reply(conn, 200, "", "{}") }, invocation.InvalidAnswer},
		{"no content", results(`{}`), invocation.InvalidAnswer},
		// what never comes
		{"silence", func(conn net.Conn, _ got) { hold(conn) }, invocation.TimedOut},
		{"half closed", func(conn net.Conn, _ got) { _ = conn.(*net.TCPConn).CloseWrite(); hold(conn) }, invocation.Broken},
		{"continue, and silence", func(conn net.Conn, _ got) { write(conn, "HTTP/1.1 100 Continue\r\n\r\n"); hold(conn) }, invocation.TimedOut},
		{"a head that drips", dripping("HTTP/1.1 200 OK\r\nX-Y: z\r\nX-Y: z\r\nX-Y: z\r\nX-Y: z\r\nX-Y: z\r\nX-Y: z\r\n"), invocation.TimedOut},
		{"a body that drips", func(conn net.Conn, g got) {
			write(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
			dripping(" ")(conn, g)
		}, invocation.TimedOut},
		{"a stream that drips", func(conn net.Conn, g got) { write(conn, head); dripping(": x\n\n")(conn, g) }, invocation.TimedOut},
		{"a head, and silence", func(conn net.Conn, _ got) { write(conn, head); hold(conn) }, invocation.TimedOut},
		{"trailers without end", endless("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\n", "X: "+k("y", 1000)+"\r\n"), invocation.Broken},
	}
}

// idle is how long somebody who does nothing but wait for ctx waits from now on, once it
// has ended: what the machine itself is late by.
func idle(ctx context.Context) <-chan time.Duration {
	began, took := time.Now(), make(chan time.Duration, 1)
	go func() { <-ctx.Done(); took <- time.Since(began) }()
	return took
}

// grace is how long after its deadline a call may end (proof, R10).
const grace = 500 * time.Millisecond

// Each behaviour, in both eras: what the journal will say, the effect at most once
// and exactly one message, an end in time, and no memory (A27, A37, A52, R10). A wait
// beside the call tells what of a late end is the machine's.
func TestUpstreamsOfAllKinds(t *testing.T) {
	rounds := figure.Of(t, 1, 1, 50)
	var latest time.Duration
	ended := 0
	for range rounds {
		ofAllKinds(t, func(late time.Duration) { latest, ended = max(latest, late), ended+1 })
	}
	figure.Tell(t, "R10", "kinds=%d rounds=%d deadlines=%d latest=%v after the deadline", 2*len(behaviours()), rounds, ended, latest.Round(10*time.Microsecond))
}

// ofAllKinds tells how much later than an idle wait each call ended that met its
// deadline.
func ofAllKinds(t *testing.T, ended func(late time.Duration)) {
	all := behaviours()
	if len(all) < 40 {
		t.Errorf("%d behaviours", len(all))
	}
	for _, modern := range []bool{false, true} {
		for _, b := range all {
			t.Run(fmt.Sprintf("modern %v/%s", modern, b.name), func(t *testing.T) {
				s := start(t, &server{modern: modern, call: b.call, session: map[bool]string{false: "s1"}[modern]})
				c := opened(t, s.url())
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				deadline := 30 * time.Second
				if b.want == invocation.TimedOut {
					deadline = 300 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				idled, began := idle(ctx), time.Now()
				e := c.Call(ctx, "tool", []byte(`{"a":1}`), nil)
				took := time.Since(began)
				runtime.GC() // what the server of the test has thrown away is not the client's
				runtime.ReadMemStats(&after)
				if e.Kind != b.want {
					t.Errorf("%s (%s), want %s", e.Kind, e.Detail, b.want)
				}
				v := invocation.Classify(e)
				if certain := e.Kind == invocation.Answered || e.Kind == invocation.ToolError || e.Kind == invocation.Rejected; certain != (v.Effects == effect.Reported) ||
					v.State == invocation.NotDispatched || (v.State == invocation.Succeeded) != (e.Kind == invocation.Answered) {
					t.Errorf("the journal would say %+v", v)
				}
				if n := len(s.requests("tools/call")); n != 1 || s.count() != 1 {
					t.Errorf("%d messages, %d effects", n, s.count())
				}
				if ctx.Err() != nil {
					late := took - <-idled
					ended(late)
					if late > grace {
						t.Errorf("it took %v, %v longer than an idle wait", took, late)
					}
				}
				if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
					t.Errorf("%d bytes more", grown)
				}
			})
		}
	}
}
