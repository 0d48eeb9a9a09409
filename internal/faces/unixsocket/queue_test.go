package unixsocket

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// A queue that is closed takes nothing more, and gives what it holds the time of
// one write together: neither a peer that keeps asking nor one that reads slowly
// holds the daemon's end up.
func TestAClosedQueueEndsInTime(t *testing.T) {
	for _, pause := range []time.Duration{0, bound.WriteTime.Duration() - 1} {
		synctest.Test(t, func(t *testing.T) {
			mine, its := net.Pipe()
			q := newQueue(its, func(string) {})
			for i := range 3 {
				q.put(outgoing{record: fmt.Appendln(nil, i)})
			}
			q.close(true)
			q.put(outgoing{record: []byte("late\n")})
			got := make(chan string, 1)
			go func() {
				all := ""
				for in := bufio.NewReader(mine); ; {
					<-time.After(pause)
					line, err := in.ReadString('\n')
					if all += line; err != nil {
						got <- all
						return
					}
				}
			}()
			begin := time.Now()
			q.run()
			if d := time.Since(begin); d > bound.WriteTime.Duration() {
				t.Errorf("it took %v", d)
			}
			want := map[bool]string{true: "0\n1\n2\n", false: "0\n"}[pause == 0]
			if all := <-got; all != want {
				t.Errorf("sent %q, want %q", all, want)
			}
		})
	}
}

// The order of the sessions page is envelope, then version: whoever speaks another
// version has an envelope.
func TestTheEnvelopeComesBeforeTheVersion(t *testing.T) {
	const record = `{"protocol_version":%d,"kind":%q,"request_id":%q,"instance_id":null,"connection_id":null,"session_id":null,"operation_id":null,"control":null,"method":"status","payload":{}}`
	for _, c := range []struct {
		version  int
		kind, id string
		want     fault.Code
	}{
		{3, "request", "r", fault.UnsupportedVersion},
		{3, "answer", "r", fault.InvalidEnvelope},
		{3, "request", "a b", fault.InvalidEnvelope},
		{2, "answer", "r", fault.InvalidEnvelope},
	} {
		if p := parseEnvelope(fmt.Appendf(nil, record, c.version, c.kind, c.id)); !fault.Is(p.fault, c.want) {
			t.Errorf("%+v: %v", c, p.fault)
		}
	}
}
