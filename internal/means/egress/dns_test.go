package egress_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/egress"
)

const (
	typeA     = 1
	typeCNAME = 5
	typeAAAA  = 28
)

// record is one answer of a script.
type record struct {
	kind uint16
	ttl  uint32
	name string // of the owner; "" is the question's
	data string // an address or a name
}

// script says what the server answers to the nth question of one kind; rcode -1 is
// silence, -2 nonsense.
type script func(kind uint16, nth int) (records []record, rcode int)

// dnsServer is a name server of the test's own.
type dnsServer struct {
	conn net.PacketConn
	say  script

	mu    sync.Mutex
	asked map[uint16]int
}

func newDNS(t *testing.T, say script) (*dnsServer, *net.Resolver) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dnsServer{conn: conn, say: say, asked: map[uint16]int{}}
	ended := make(chan struct{})
	go func() { defer close(ended); s.serve() }()
	t.Cleanup(func() { conn.Close(); <-ended })
	return s, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (s *dnsServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := s.reply(buf[:n]); reply != nil {
			_, _ = s.conn.WriteTo(reply, from)
		}
	}
}

func (s *dnsServer) reply(q []byte) []byte {
	end := 12
	for q[end] != 0 {
		end += int(q[end]) + 1
	}
	end += 5
	kind := binary.BigEndian.Uint16(q[end-4:])
	s.mu.Lock()
	nth := s.asked[kind]
	s.asked[kind]++
	s.mu.Unlock()
	records, rcode := s.say(kind, nth)
	switch rcode {
	case -1:
		return nil
	case -2:
		return []byte("nonsense of some length that is no message at all")
	}
	out := append([]byte{}, q[:end]...)
	binary.BigEndian.PutUint16(out[2:], 0x8180|uint16(rcode))
	binary.BigEndian.PutUint16(out[6:], uint16(len(records)))
	clear(out[8:12])
	for _, r := range records {
		owner := []byte{0xc0, 12}
		if r.name != "" {
			owner = wireName(r.name)
		}
		var data []byte
		if r.kind == typeCNAME {
			data = wireName(r.data)
		} else {
			data = netip.MustParseAddr(r.data).AsSlice()
		}
		out = append(out, owner...)
		out = binary.BigEndian.AppendUint16(out, r.kind)
		out = binary.BigEndian.AppendUint16(out, 1)
		out = binary.BigEndian.AppendUint32(out, r.ttl)
		out = binary.BigEndian.AppendUint16(out, uint16(len(data)))
		out = append(out, data...)
	}
	return out
}

func wireName(name string) (out []byte) {
	for _, l := range strings.Split(name, ".") {
		out = append(append(out, byte(len(l))), l...)
	}
	return append(out, 0)
}

func one(kind uint16, records ...record) script {
	return func(asked uint16, _ int) ([]record, int) {
		if asked != kind {
			return nil, 0
		}
		return records, 0
	}
}

// The canary is at every address of this machine but one, where the server is
// that the exception is for.
func TestScriptedNames(t *testing.T) {
	served := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	there, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = served.Listener.Close()
	served.Listener = there
	served.Start()
	t.Cleanup(served.Close)
	_, port, _ := net.SplitHostPort(there.Addr().String())
	canary, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	c := &countingListener{Listener: canary}
	go c.run()
	t.Cleanup(func() {
		if n := c.count(); n != 0 {
			t.Errorf("the canary saw %d connections", n)
		}
		canary.Close()
	})

	const ok, private = "127.0.0.2", "127.0.0.1"
	many := make([]record, 70)
	for i := range many {
		many[i] = record{kind: typeA, data: ok}
	}
	for name, s := range map[string]struct {
		say   script
		wants []string // of each Send: sent, refused, unresolved, many
	}{
		"allowed":         {one(typeA, record{kind: typeA, ttl: 60, data: ok}), []string{"sent", "sent"}},
		"rebinding":       {flip(ok, private), []string{"sent", "refused"}},
		"rebinding back":  {flip(private, ok), []string{"refused", "sent"}},
		"mixed":           {one(typeA, record{kind: typeA, data: ok}, record{kind: typeA, data: private}), []string{"refused"}},
		"mixed, turned":   {one(typeA, record{kind: typeA, data: private}, record{kind: typeA, data: ok}), []string{"refused"}},
		"mixed families":  {families(ok, "::1"), []string{"refused"}},
		"chain":           {one(typeA, record{kind: typeCNAME, data: "b.example"}, record{kind: typeCNAME, name: "b.example", data: "c.example"}, record{kind: typeA, name: "c.example", data: private}), []string{"refused"}},
		"chain to allow":  {one(typeA, record{kind: typeCNAME, data: "b.example"}, record{kind: typeA, name: "b.example", data: ok}), []string{"sent"}},
		"chain to naught": {one(typeA, record{kind: typeCNAME, data: "localhost"}), []string{"unresolved"}},
		"no time to live": {one(typeA, record{kind: typeA, data: ok}), []string{"sent", "sent"}},
		"slow":            {func(uint16, int) ([]record, int) { return nil, -1 }, []string{"unresolved"}},
		"half slow":       {func(kind uint16, _ int) ([]record, int) { return nil, map[uint16]int{typeA: -1}[kind] }, []string{"unresolved"}},
		"no such name":    {func(uint16, int) ([]record, int) { return nil, 3 }, []string{"unresolved"}},
		"server failure":  {func(uint16, int) ([]record, int) { return nil, 2 }, []string{"unresolved"}},
		"nonsense":        {func(uint16, int) ([]record, int) { return nil, -2 }, []string{"unresolved"}},
		"mapped":          {one(typeAAAA, record{kind: typeAAAA, data: "::ffff:127.0.0.1"}), []string{"refused"}},
		"NAT64":           {one(typeAAAA, record{kind: typeAAAA, data: "64:ff9b::7f00:1"}), []string{"refused"}},
		"unspecified":     {one(typeA, record{kind: typeA, data: "0.0.0.0"}), []string{"refused"}},
		"very many":       {one(typeA, many...), []string{"many"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin := "http://app.example:" + port
			e, err := egress.ParseException(origin + "=127.0.0.2/32")
			if err != nil {
				t.Fatal(err)
			}
			server, resolver := newDNS(t, s.say)
			gate := egress.New(egress.Options{Resolver: resolver, Exceptions: []egress.Exception{e}})
			target, err := egress.Parse(origin)
			if err != nil {
				t.Fatal(err)
			}
			for n, want := range s.wants {
				resp, went, err := gate.Send(t.Context(), egress.Request{Method: "GET", Target: target})
				got := "sent"
				switch {
				case err == nil:
					resp.Close()
				case went:
					got = "went: " + err.Error()
				case errors.Is(err, egress.ErrRefused):
					got = "refused"
				case fault.From(err).Details["bound"] == "egress_addresses":
					got = "many"
				case fault.Is(err, fault.Unavailable):
					got = "unresolved"
				}
				if got != want {
					t.Errorf("send %d: %s (%v), want %s", n, got, err, want)
				}
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if s.wants[0] != "unresolved" && server.asked[typeA] != len(s.wants) {
				t.Errorf("%d questions for %d sends", server.asked[typeA], len(s.wants))
			}
		})
	}
}

// flip answers the first question with one address and all others with another.
func flip(first, then string) script {
	return func(kind uint16, nth int) ([]record, int) {
		switch {
		case kind != typeA:
			return nil, 0
		case nth == 0:
			return []record{{kind: typeA, data: first}}, 0
		}
		return []record{{kind: typeA, data: then}}, 0
	}
}

func families(four, six string) script {
	return func(kind uint16, _ int) ([]record, int) {
		if kind == typeA {
			return []record{{kind: typeA, data: four}}, 0
		}
		return []record{{kind: typeAAAA, data: six}}, 0
	}
}

type countingListener struct {
	net.Listener
	mu sync.Mutex
	n  int
}

func (c *countingListener) run() {
	for {
		conn, err := c.Accept()
		if err != nil {
			return
		}
		conn.Close()
		c.mu.Lock()
		c.n++
		c.mu.Unlock()
	}
}

func (c *countingListener) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
