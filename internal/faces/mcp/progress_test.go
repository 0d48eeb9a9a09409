package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// A client that gives a token is told under that token how far its call is, as it
// was said, in both eras; what comes too fast is told as the newest of it, a long
// silence holds a comment, and nothing comes behind the answer. A client without a
// token, or with nothing to be told, gets a plain answer.
func TestProgressIsToldUnderTheCallersToken(t *testing.T) {
	at := func(done string, more ...string) invocation.Progress {
		p := invocation.Progress{Done: []byte(done)}
		if len(more) > 0 {
			p.Total = []byte(more[0])
		}
		if len(more) > 1 {
			p.Message = []byte(more[1])
		}
		return p
	}
	told := func(token, rest string) string {
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,` + rest + `}}`
	}
	for _, c := range []struct {
		name, token string
		call        func(tell func(invocation.Progress))
		events      []string // before the answer
		comments    int
		plain       bool
	}{
		{"as it was said", `"a\u0062"`, func(tell func(invocation.Progress)) {
			tell(at("0.10", "9007199254740993", `"on it"`))
			<-time.After(time.Second)
			tell(at("1e0"))
		}, []string{told(`"a\u0062"`, `"progress":0.10,"total":9007199254740993,"message":"on it"`), told(`"a\u0062"`, `"progress":1e0`)}, 0, false},
		{"too fast", `7`, func(tell func(invocation.Progress)) {
			tell(at("0"))
			<-time.After(time.Millisecond)
			for i := range 1000 {
				tell(at(fmt.Sprint(i + 1)))
			}
			<-time.After(bound.ProgressPause.Duration())
			tell(at("1001"))
			tell(at("1002"))
		}, []string{told("7", `"progress":0`), told("7", `"progress":1000`), told("7", `"progress":1002`)}, 0, false},
		{"a long silence", `7`, func(tell func(invocation.Progress)) { <-time.After(29 * time.Second) }, nil, 2, false},
		{"nothing to tell", `7`, func(func(invocation.Progress)) {}, nil, 0, true},
		{"nobody asks", ``, func(tell func(invocation.Progress)) {
			if tell != nil {
				panic("somebody listens")
			}
			<-time.After(29 * time.Second)
		}, nil, 0, true},
	} {
		for _, era := range []frame.Era{frame.Legacy, frame.Modern} {
			t.Run(fmt.Sprint(c.name, " ", era), func(t *testing.T) {
				slowly(t, func(t *testing.T, h *host, door *Door, client *http.Client) {
					caller, token := h.app(id.New[id.Owner](), authority.ForMCP)
					m := imported(caller, "slow")
					h.grant(caller, m)
					h.setCall(func(_ context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
						c.call(r.Progress)
						if r.Progress != nil {
							defer time.AfterFunc(time.Second, func() { r.Progress(at("9")) }) // too late
						}
						return invocation.Answer{Tx: r.Tx, Status: invocation.OK, Effects: effect.Reported,
							Result: []byte(`{"content":[{"type":"text",` + "\n" + `"text":"done"}]}`)}
					})
					p := legacyCall(token, initialize(t, door, token), m.Tool, "{}")
					if era == frame.Modern {
						p = modernCall(token, m.Tool, "{}")
					}
					if c.token != "" {
						if strings.Contains(p.body, `"_meta":{`) {
							p.body = strings.Replace(p.body, `"_meta":{`, `"_meta":{"progressToken":`+c.token+`,`, 1)
						} else {
							p.body = strings.Replace(p.body, `"params":{`, `"params":{"_meta":{"progressToken":`+c.token+`},`, 1)
						}
					}
					resp, err := client.Do(p.request("http://localhost"))
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					events, comments, answer := readEvents(t, resp)
					if diff := cmp.Diff(c.events, events); diff != "" {
						t.Errorf("events (-want +got):\n%s", diff)
					}
					if comments != c.comments || !strings.Contains(answer, `"reported"`) || !strings.Contains(answer, `"done"`) || c.plain != (resp.ContentLength > 0) {
						t.Errorf("%d comments, %d bytes, %s", comments, resp.ContentLength, answer)
					}
				})
			})
		}
	}
}

// readEvents reads a response to its end: the messages before the last one, the
// comments, and the last one.
func readEvents(t *testing.T, resp *http.Response) (before []string, comments int, last string) {
	t.Helper()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return nil, 0, string(body)
	}
	in := bufio.NewScanner(resp.Body)
	var all []string
	for in.Scan() {
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
			all = append(all, data)
		}
		if strings.HasPrefix(in.Text(), ":") {
			comments++
		}
	}
	if in.Err() != nil || len(all) == 0 {
		t.Fatal(in.Err(), all)
	}
	before, last = all[:len(all)-1], all[len(all)-1]
	if len(before) == 0 {
		before = nil
	}
	return before, comments, last
}

// Whoever does not read what it asked to be told loses that, and its call is
// settled all the same.
func TestNobodyWaitsForAClientThatDoesNotRead(t *testing.T) {
	slowly(t, func(t *testing.T, h *host, door *Door, client *http.Client) {
		caller, token := h.app(id.New[id.Owner](), authority.ForMCP)
		m := imported(caller, "slow")
		h.grant(caller, m)
		began, settled := time.Now(), make(chan time.Duration, 1)
		h.setCall(func(_ context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
			for i := range 20 {
				r.Progress(invocation.Progress{Done: fmt.Append(nil, i), Message: []byte(`"` + strings.Repeat("x", 1000) + `"`)})
				<-time.After(time.Second)
			}
			settled <- time.Since(began)
			return invocation.Answer{Tx: r.Tx, Status: invocation.OK, Effects: effect.Reported}
		})
		p := modernCall(token, m.Tool, "{}")
		p.body = strings.Replace(p.body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
		resp, err := client.Do(p.request("http://localhost"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if took := <-settled; took != 20*time.Second {
			t.Errorf("the call took %v", took)
		}
		<-time.After(2 * bound.MCPWrite.Duration())
		if got := door.Stats(); got.Calls != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// An open stream is never silent for longer than fifteen seconds (field faults,
// FF48).
func TestAnOpenStreamIsKeptAlive(t *testing.T) {
	slowly(t, func(t *testing.T, h *host, door *Door, client *http.Client) {
		_, token := h.app(id.New[id.Owner](), authority.ForMCP)
		for _, p := range []post{
			{token: token, version: frame.FirstModern, method: frame.Listen, body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{` + modernMeta + `}}}`},
			{token: token, version: "2025-11-25", session: initialize(t, door, token)},
		} {
			r := p.request("http://localhost")
			if p.body == "" {
				r.Method, r.Body = http.MethodGet, nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			resp, err := client.Do(r.WithContext(ctx))
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp, err)
			}
			in, heard := bufio.NewScanner(resp.Body), time.Now()
			for beats := 0; beats < 50 && in.Scan(); {
				if quiet := time.Since(heard); quiet > 15*time.Second {
					t.Fatalf("silent for %v", quiet)
				}
				heard = time.Now()
				if strings.HasPrefix(in.Text(), ": alive") {
					beats++
				}
			}
			if in.Err() != nil {
				t.Error(in.Err())
			}
			cancel()
			resp.Body.Close()
		}
	})
}
