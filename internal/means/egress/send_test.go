package egress_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/egress"
)

// open is a gate with an exception for one origin on this machine.
func open(t *testing.T, origin string, roots *x509.CertPool) (*egress.Gate, egress.Target) {
	t.Helper()
	e, err := egress.ParseException(origin + "=127.0.0.1/32")
	if err != nil {
		t.Fatal(err)
	}
	target, err := egress.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	return egress.New(egress.Options{Exceptions: []egress.Exception{e}, Roots: roots, Resolver: names{"app.example": {netip.MustParseAddr("127.0.0.1")}}}), target
}

// raw serves each connection by a script that sees what was sent.
func raw(t *testing.T, serve func(net.Conn, *http.Request)) (origin string, connections *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int32
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			go func() {
				defer conn.Close()
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				body, _ := io.ReadAll(req.Body)
				req.Body = io.NopCloser(bytes.NewReader(body))
				serve(conn, req)
			}()
		}
	}()
	t.Cleanup(func() { l.Close() })
	return "http://" + l.Addr().String(), &n
}

// What goes out is what was given, and what comes back is never acted on: no
// redirect is followed, nothing stored, nothing sent a second time (A27, A35, A38).
func TestOneSendIsOneRequest(t *testing.T) {
	c := newCanary(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+c.port)
	}
	t.Setenv("NO_PROXY", "")
	there := "http://127.0.0.1:" + c.port + "/"
	for name, reply := range map[string]string{
		"plain":        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=b\r\nLink: <" + there + ">; rel=preload\r\nRefresh: 0;url=" + there + "\r\nAlt-Svc: h2=\":" + c.port + "\"\r\n\r\nok",
		"301":          "HTTP/1.1 301 Moved\r\nLocation: " + there + "\r\nContent-Length: 0\r\n\r\n",
		"307":          "HTTP/1.1 307 Moved\r\nLocation: " + there + "\r\nContent-Length: 0\r\n\r\n",
		"308":          "HTTP/1.1 308 Moved\r\nLocation: " + there + "\r\nContent-Length: 0\r\n\r\n",
		"401":          "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x, Bearer resource_metadata=\"" + there + "\"\r\nContent-Length: 0\r\n\r\n",
		"407":          "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
		"408":          "HTTP/1.1 408 Slow\r\nConnection: close\r\n\r\n",
		"421":          "HTTP/1.1 421 Elsewhere\r\nContent-Length: 0\r\n\r\n",
		"425":          "HTTP/1.1 425 Early\r\nContent-Length: 0\r\n\r\n",
		"503":          "HTTP/1.1 503 Later\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
		"hints":        "HTTP/1.1 103 Hints\r\nLink: <" + there + ">\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"nothing":      "",
		"half a head":  "HTTP/1.1 200 OK\r\nContent-",
		"a frame":      "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", // GOAWAY
		"a switch":     "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
		"long headers": "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Fill: "+strings.Repeat("a", 90)+"\r\n", 10_000) + "\r\n",
		"coded":        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
		"endless hint": strings.Repeat("HTTP/1.1 103 Hints\r\nX: y\r\n\r\n", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			var effects atomic.Int32
			var seen http.Header
			origin, connections := raw(t, func(conn net.Conn, req *http.Request) {
				effects.Add(1)
				seen = req.Header
				_, _ = io.WriteString(conn, reply)
			})
			gate, target := open(t, origin, nil)
			header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"steward/test"}}
			for sends := range 2 {
				effects.Store(0)
				resp, went, err := gate.Send(t.Context(), egress.Request{Method: "POST", Target: target, Header: header.Clone(), Body: []byte(`{"a":1}`)})
				if err == nil {
					resp.Close()
				}
				if !went || effects.Load() != 1 || connections.Load() != int32(sends+1) {
					t.Errorf("went %v, %d effects, %d connections after %d sends, %v", went, effects.Load(), connections.Load(), sends+1, err)
				}
			}
			want := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"steward/test"}, "Content-Length": {"7"}, "Connection": {"close"}}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Error(diff)
			}
		})
	}
	c.silent(t, "proxies, redirects, links and challenges")
}

func TestABodyIsBounded(t *testing.T) {
	origin, _ := raw(t, func(conn net.Conn, _ *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789")
	})
	gate, target := open(t, origin, nil)
	for most, want := range map[int]error{9: egress.ErrLong, 10: nil, 11: nil} {
		resp, _, err := gate.Send(t.Context(), egress.Request{Method: "GET", Target: target})
		if err != nil {
			t.Fatal(err)
		}
		body, err := resp.Read(most)
		resp.Close()
		if !errors.Is(err, want) || want == nil && string(body) != "0123456789" {
			t.Errorf("at most %d: %q, %v", most, body, err)
		}
	}
}

func TestTheContextEndsASend(t *testing.T) {
	for name, reply := range map[string]string{"before the head": "", "in the head": "HTTP/1.1 200 OK\r\nX:", "in the body": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			held := make(chan struct{})
			origin, _ := raw(t, func(conn net.Conn, _ *http.Request) {
				_, _ = io.WriteString(conn, reply)
				if name != "in the body" {
					cancel()
				}
				_, _ = conn.Read(make([]byte, 1)) // until the other side is gone
				close(held)
			})
			gate, target := open(t, origin, nil)
			resp, went, err := gate.Send(ctx, egress.Request{Method: "GET", Target: target})
			if err == nil {
				cancel()
				_, err = resp.Read(100)
				resp.Close()
			}
			if !went || err == nil {
				t.Errorf("went %v, %v", went, err)
			}
			<-held
		})
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	gate, target := open(t, "http://"+l.Addr().String(), nil)
	_, went, err := gate.Send(t.Context(), egress.Request{Method: "GET", Target: target})
	if went || !fault.Is(err, fault.Unavailable) || errors.Is(err, egress.ErrRefused) {
		t.Errorf("went %v, %v", went, err)
	}
}

// authority issues certificates of all kinds.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key}
}

func (a authority) issue(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "app.example"}, DNSNames: []string{"app.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A server that does not prove its name gets not one byte of a request (A36).
func TestBadTLSServersGetNothing(t *testing.T) {
	good, other := newAuthority(t), newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(good.cert)
	plain := func(*x509.Certificate) {}
	for name, c := range map[string]struct {
		config *tls.Config
		want   bool // the request arrives
	}{
		"good":          {&tls.Config{Certificates: []tls.Certificate{good.issue(t, plain)}}, true},
		"two":           {&tls.Config{Certificates: []tls.Certificate{good.issue(t, plain)}, MaxVersion: tls.VersionTLS12}, true},
		"another chain": {&tls.Config{Certificates: []tls.Certificate{other.issue(t, plain)}}, false},
		"another name":  {&tls.Config{Certificates: []tls.Certificate{good.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"other.example"} })}}, false},
		"a common name": {&tls.Config{Certificates: []tls.Certificate{good.issue(t, func(c *x509.Certificate) { c.DNSNames = nil })}}, false},
		"over":          {&tls.Config{Certificates: []tls.Certificate{good.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })}}, false},
		"not yet":       {&tls.Config{Certificates: []tls.Certificate{good.issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour / 2) })}}, false},
		"for clients": {&tls.Config{Certificates: []tls.Certificate{good.issue(t, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		})}}, false},
		"version 1.0":  {&tls.Config{Certificates: []tls.Certificate{good.issue(t, plain)}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, false},
		"version 1.1":  {&tls.Config{Certificates: []tls.Certificate{good.issue(t, plain)}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false},
		"other speech": {&tls.Config{Certificates: []tls.Certificate{good.issue(t, plain)}, NextProtos: []string{"imap"}}, false},
		"a lone leaf":  {&tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var got atomic.Int32
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
			l := tls.NewListener(server.Listener, c.config)
			server.Listener = l
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			server.Start()
			defer server.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			gate, target := open(t, "https://app.example:"+port, roots)
			resp, went, err := gate.Send(t.Context(), egress.Request{Method: "POST", Target: target, Body: []byte("{}")})
			if err == nil {
				resp.Close()
			}
			if went != c.want || (err == nil) != c.want || (got.Load() == 1) != c.want || !c.want && !fault.Is(err, fault.Unavailable) {
				t.Errorf("went %v, arrived %d, %v", went, got.Load(), err)
			}
		})
	}
	t.Run("no TLS at all", func(t *testing.T) {
		origin, _ := raw(t, func(net.Conn, *http.Request) { t.Error("a request arrived") })
		gate, target := open(t, strings.Replace(origin, "http:", "https:", 1), roots)
		if _, went, err := gate.Send(t.Context(), egress.Request{Method: "GET", Target: target}); went || !fault.Is(err, fault.Unavailable) {
			t.Errorf("went %v, %v", went, err)
		}
	})
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	a := newAuthority(t)
	return tls.Certificate{Certificate: [][]byte{a.cert.Raw}, PrivateKey: a.key}
}

func BenchmarkSend(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	defer server.Close()
	e, err := egress.ParseException(server.URL + "=127.0.0.1/32")
	if err != nil {
		b.Fatal(err)
	}
	gate := egress.New(egress.Options{Exceptions: []egress.Exception{e}})
	target, err := egress.Parse(server.URL)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		resp, _, err := gate.Send(b.Context(), egress.Request{Method: "POST", Target: target, Header: http.Header{}, Body: []byte("{}")})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := resp.Read(100); err != nil {
			b.Fatal(err)
		}
		resp.Close()
	}
}
