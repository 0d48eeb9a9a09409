package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/egress"
)

// canary is a listener on every address of this machine that must stay silent.
type canary struct {
	net.Listener
	port string
	hits atomic.Int32
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := &canary{Listener: l, port: port}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.hits.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close() })
	return c
}

func (c *canary) silent(t *testing.T, what string) {
	t.Helper()
	// A connection that was made would have been accepted by now, or is in the
	// queue before this one.
	probe, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", c.port))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := probe.Read(make([]byte, 1)); err == nil {
		t.Error("the canary spoke")
	}
	if n := c.hits.Swap(0); n != 1 {
		t.Errorf("%s: the canary saw %d connections", what, n-1)
	}
}

// names resolves from a table, and everything else to nothing.
type names map[string][]netip.Addr

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if found := n[host]; found != nil {
		return found, nil
	}
	return nil, errors.New("no such name")
}

// special are addresses that nothing public may lead to, with what they are.
var special = []string{
	// this host and this network
	"0.0.0.0", "0.0.0.1", "0.255.255.255", "127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "::", "::1",
	// private, shared, link, ULA, site
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", "100.64.0.1", "100.127.255.254",
	"169.254.0.1", "169.254.169.254", "169.254.170.2", "fe80::1", "febf::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fec0::1", "feff::1",
	// for protocols, benchmarks, documentation, relays
	"192.0.0.1", "192.0.0.170", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "192.88.99.1", "192.31.196.1",
	"192.52.193.1", "192.175.48.1", "2001:db8::1", "3fff::1", "3fff:fff::1", "5f00::1", "100::1", "100:0:0:1::1", "2001::1", "2001:2::1", "2001:20::1",
	"2620:4f:8000::1",
	// multicast, reserved, broadcast
	"224.0.0.1", "239.255.255.255", "240.0.0.1", "254.1.1.1", "255.255.255.255", "ff02::1", "ff0e::1",
	// other ways to write or to carry an address of version 4
	"::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "::127.0.0.1",
	"64:ff9b::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::127.0.0.1", "64:ff9b:1:ffff::1",
	"2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::", "2001:0:7f00:1::", "4000::1", "8000::1", "e000::1",
}

// spellings are hosts that are refused before anything is resolved.
var spellings = []string{
	"127.1", "127.0.1", "2130706433", "017700000001", "0x7f000001", "0x7f.1", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "0177.0.0.01", "127.0.0.01",
	"0300.0250.0.1", "3232235521", "0xc0a80001", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "0", "00", "0x0", "0x",
	"1.2.3.4.5", "256.1.1.1", "127.0.0.1.", "127.0.0.1..", ".127.0.0.1", "127.0.0.0x1", "1.1.1", "４.４.４.４", "１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1",
	"[::1%25lo]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::FFFF:7F00:1]", "[127.0.0.1]", "::1", "[]", "[::1", "",
	"%31%32%37.0.0.1", "127.0.0.1%00.example.com", "exam ple.com", "example.com\\@127.0.0.1", "a..b", "-", "localhost%2f", "xn--é.com", "münchen.example",
	"user@127.0.0.1", "user:pass@example.com", "example.com:0", "example.com:", "example.com:65536", "example.com:080", "example.com:-1",
}

func TestNoFormOfAnAddressLeadsInside(t *testing.T) {
	c := newCanary(t)
	known := names{"localhost": {netip.MustParseAddr("127.0.0.1")}, "localhost.": {netip.MustParseAddr("127.0.0.1")}}
	forms := 0
	try := func(gate *egress.Gate, raw string) {
		t.Helper()
		forms++
		target, err := egress.Parse(raw)
		if err == nil {
			var went bool
			_, went, err = gate.Send(t.Context(), egress.Request{Method: "GET", Target: target})
			if went || !errors.Is(err, egress.ErrRefused) || !fault.Is(err, fault.Unavailable) {
				t.Errorf("%s: went %v, %v", raw, went, err)
			}
			return
		}
		if !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for i, a := range special {
		addr := netip.MustParseAddr(a)
		name := fmt.Sprintf("n%d.example", i)
		known[name] = []netip.Addr{addr}
		known["mixed-"+name] = []netip.Addr{netip.MustParseAddr("8.8.8.8"), addr}
	}
	gate := egress.New(egress.Options{Resolver: known})
	for i, a := range special {
		host := a
		if strings.Contains(a, ":") {
			host = "[" + netip.MustParseAddr(a).String() + "]"
		}
		try(gate, "https://"+host+":"+c.port+"/")
		try(gate, fmt.Sprintf("https://n%d.example:%s/", i, c.port))
		try(gate, fmt.Sprintf("https://mixed-n%d.example:%s/", i, c.port))
	}
	for _, host := range spellings {
		at := "https://" + host
		if !strings.Contains(host, "example.com:") {
			at += ":" + c.port
		}
		if _, err := egress.Parse(at + "/"); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s: %v", at, err)
		}
		try(gate, at+"/")
	}
	for _, raw := range []string{"https://localhost:" + c.port, "https://localhost.:" + c.port, "https://LOCALHOST:" + c.port, "http://127.0.0.1:" + c.port,
		"ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:" + c.port, "//127.0.0.1/", "127.0.0.1:" + c.port, "https:127.0.0.1", "https://example.com/#f", "https:///x",
		"javascript:alert(1)", "unix:/run/x", "https://" + strings.Repeat("a", 2100)} {
		try(gate, raw)
	}
	c.silent(t, "forms")
	if forms < 120 {
		t.Errorf("%d forms", forms)
	}
}

// The module that knows the registries is held to a table of our own (deps).
func TestPublicAddressesAreLetOut(t *testing.T) {
	gate := egress.New(egress.Options{Resolver: names{}})
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "172.15.255.255",
		"172.32.0.1", "192.0.1.1", "192.167.255.255", "192.169.0.1", "198.17.255.255", "198.20.0.1", "223.255.255.255", "[2606:4700:4700::1111]", "[2a00:1450:4001::1]", "[2400:cb00::1]"} {
		target, err := egress.Parse("https://" + a)
		if err == nil {
			err = gate.Look(t.Context(), target)
		}
		if err != nil {
			t.Errorf("%s: %v", a, err)
		}
		if target, err = egress.Parse("http://" + a); err != nil || !errors.Is(gate.Look(t.Context(), target), egress.ErrRefused) {
			t.Errorf("http to %s is let out (%v)", a, err)
		}
	}
}

func TestTargetsHaveOneSpelling(t *testing.T) {
	for raw, want := range map[string]string{
		"HTTPS://Example.COM:443/A?b=C": "https://example.com/A?b=C https://example.com",
		"http://example.com:80":         "http://example.com http://example.com",
		"https://[2606:4700::1]:8443/x": "https://[2606:4700::1]:8443/x https://[2606:4700::1]:8443",
	} {
		got, err := egress.Parse(raw)
		if err != nil || got.URL()+" "+got.Origin() != want {
			t.Errorf("%s: %s %s %v", raw, got.URL(), got.Origin(), err)
		}
	}
}

func TestAnExceptionOpensNothingElse(t *testing.T) {
	c := newCanary(t)
	known := names{"app.example": {netip.MustParseAddr("127.0.0.1")}, "other.example": {netip.MustParseAddr("127.0.0.1")}, "far.example": {netip.MustParseAddr("127.0.0.9")}}
	for _, text := range []string{"", "x", "http://app.example", "http://app.example/path=127.0.0.1/32", "http://APP.example=127.0.0.1/32", "http://app.example=127.0.0.1/8",
		"http://app.example=0.0.0.0/0", "http://app.example=127.0.0.1", "ftp://app.example=127.0.0.1/32", "http://app.example:80=127.0.0.1/32", "*=127.0.0.0/8"} {
		if got, err := egress.ParseException(text); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q became %s, %v", text, got, err)
		}
	}
	origin := "http://app.example:" + c.port
	e, err := egress.ParseException(origin + "=127.0.0.1/32")
	if err != nil {
		t.Fatal(err)
	}
	gate := egress.New(egress.Options{Resolver: known}).With(e)
	if got := fmt.Sprint(gate.Exceptions()); got != "["+origin+"=127.0.0.1/32]" {
		t.Errorf("shown as %s", got)
	}
	for _, raw := range []string{"https://app.example:" + c.port, "http://other.example:" + c.port, "http://127.0.0.1:" + c.port, "http://app.example", "http://localhost:" + c.port, "http://far.example:" + c.port} {
		target, err := egress.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		_, went, err := gate.Send(t.Context(), egress.Request{Method: "GET", Target: target})
		if went || err == nil {
			t.Errorf("%s was let out", raw)
		}
	}
	c.silent(t, "others")
	target, err := egress.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	err = egress.New(egress.Options{Resolver: known}).Look(t.Context(), target)
	if got := fault.From(err).Details["exception"]; got != e.String() {
		t.Errorf("proposed %v", got)
	}
	if err := gate.Look(t.Context(), target); err != nil {
		t.Error(err)
	}
	known["app.example"] = append(known["app.example"], netip.MustParseAddr("127.0.0.2"))
	if err := gate.Look(t.Context(), target); !errors.Is(err, egress.ErrRefused) {
		t.Errorf("beside its network: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, a := range special {
		f.Add("https://[" + a + "]:1/")
		f.Add("https://" + a + "/")
	}
	for _, s := range spellings {
		f.Add("http://" + s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := egress.Parse(raw)
		if err != nil {
			return
		}
		again, err := egress.Parse(target.URL())
		if err != nil || again.URL() != target.URL() || again.Origin() != target.Origin() {
			t.Errorf("%q is %q, which is %q %v", raw, target.URL(), again.URL(), err)
		}
		if o, err := egress.Parse(target.Origin()); err != nil || o.Origin() != target.Origin() {
			t.Errorf("%q: its origin %q is another, %v", raw, target.Origin(), err)
		}
	})
}
