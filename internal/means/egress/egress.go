// Package egress is the only way out over HTTP: of upstream servers, of the
// discovery of their authorization, and of whatever else is fetched (pool page,
// section 7; threats, A33 to A39).
//
// Promised: a name is resolved once, every address of it is checked, and the
// connection goes to one that was checked; the decision is made once more inside
// the dial. Only public unicast addresses over https are reached, but for the
// operator's exceptions, which are exact. One Send is one connection and at most
// one request on it: no proxy, no cookie, no pool, no redirect, no HTTP/2, no
// compression, no second try. Headers are bounded by bound.EgressHeaderBytes, the
// body by whoever reads it, time by the context.
//
// Not promised: that what answers is well-meaning. Nothing here reads a body or
// follows what stands in a header.
//
// A Gate is immutable and safe for concurrent use. Faults are unavailable where no
// byte of the request went out, with details.exception where an exception of the
// operator would let it out; see Response and Send for what comes after.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Resolver gives the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options may be left zero.
type Options struct {
	Exceptions []Exception    // none by default
	Resolver   Resolver       // nil is Go's own, which follows the machine's configuration
	Roots      *x509.CertPool // nil is the machine's
}

// Gate decides what may be reached and reaches it.
type Gate struct {
	exceptions []Exception
	resolver   Resolver
	roots      *x509.CertPool
	public     *ssrf.Guardian
}

// New returns a gate.
func New(opt Options) *Gate {
	if opt.Resolver == nil {
		opt.Resolver = &net.Resolver{PreferGo: true}
	}
	return &Gate{slices.Clone(opt.Exceptions), opt.Resolver, opt.Roots, ssrf.New(ssrf.WithAnyPort())}
}

// Also is a gate with one more exception, as it is written; none for no text.
func (g *Gate) Also(text string) (*Gate, error) {
	if text == "" {
		return g, nil
	}
	e, err := ParseException(text)
	if err != nil {
		return nil, err
	}
	return g.With(e), nil
}

// With is a gate with one more exception.
func (g *Gate) With(e Exception) *Gate {
	more := *g
	more.exceptions = append(slices.Clone(g.exceptions), e)
	return &more
}

// Exceptions are what views must show as not conforming (threats, A39).
func (g *Gate) Exceptions() []Exception { return slices.Clone(g.exceptions) }

// ExceptionsFor are those of a target's origin, as they are written.
func (g *Gate) ExceptionsFor(t Target) (out []string) {
	for _, e := range g.exceptions {
		if e.origin == t.origin {
			out = append(out, e.String())
		}
	}
	return out
}

// Look resolves a target and says whether it may be reached, without connecting.
func (g *Gate) Look(ctx context.Context, t Target) error {
	_, err := g.addresses(ctx, t)
	return err
}

// addresses resolves a target once and checks every address: one that is refused
// spoils the others, since a name of both kinds is a trap or a mistake.
func (g *Gate) addresses(ctx context.Context, t Target) ([]netip.Addr, error) {
	found, err := g.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		if err := g.allows(t, a); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (g *Gate) resolve(ctx context.Context, t Target) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(t.host); err == nil {
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, bound.EgressResolve.Duration())
	defer cancel()
	found, err := g.resolver.LookupNetIP(ctx, "ip", t.host)
	if err == nil && len(found) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return nil, fault.Newf(fault.Unavailable, "the name %s cannot be resolved", t.host).Because(err)
	}
	if err := bound.EgressAddresses.Check(len(found)); err != nil {
		return nil, err
	}
	for i, a := range found {
		found[i] = a.Unmap()
	}
	return found, nil
}

// allows is the one rule: an exception for this very origin, or https to a public
// unicast address.
func (g *Gate) allows(t Target, a netip.Addr) error {
	if slices.ContainsFunc(g.exceptions, func(e Exception) bool { return e.origin == t.origin && e.network.Contains(a.Unmap()) && a.Zone() == "" }) {
		return nil
	}
	proposed := Exception{t.origin, netip.PrefixFrom(a.Unmap().WithZone(""), a.Unmap().BitLen())}
	network := "tcp6"
	if a.Is4() {
		network = "tcp4"
	}
	err := g.public.Safe(network, netip.AddrPortFrom(a, t.port).String(), nil)
	switch {
	case a.Zone() != "":
		return refused("%s is an address of one link", a).Because(ErrRefused)
	case err != nil:
		return refused("%s, where %s leads, is not a public address", a, t.origin).Because(ErrRefused).With("exception", proposed.String())
	case t.scheme != "https":
		return refused("%s is not https", t.origin).Because(ErrRefused).With("exception", proposed.String())
	}
	return nil
}

// ErrRefused is the cause of a fault that is the gate's own decision.
var ErrRefused = errors.New("the egress policy does not let it out")

func refused(format string, args ...any) *fault.Fault {
	return fault.Newf(fault.Unavailable, format, args...)
}

// dial connects to one of a target's addresses and, for https, has the other side
// prove its name.
func (g *Gate) dial(ctx context.Context, t Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, bound.EgressConnect.Duration())
	defer cancel()
	found, err := g.addresses(ctx, t)
	if err != nil {
		return nil, err
	}
	conn, err := g.first(ctx, t, found)
	if err != nil {
		return nil, fault.Newf(fault.Unavailable, "%s cannot be reached", t.origin).Because(err)
	}
	if t.scheme != "https" {
		return conn, nil
	}
	secure := tls.Client(conn, &tls.Config{ServerName: t.host, RootCAs: g.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // nothing went over it
		return nil, fault.Newf(fault.Unavailable, "%s does not prove its name", t.origin).Because(err)
	}
	return secure, nil
}

// eachAddress is how long one address may take where there are others.
const eachAddress = 3 * time.Second

func (g *Gate) first(ctx context.Context, t Target, found []netip.Addr) (conn net.Conn, err error) {
	dialer := net.Dialer{KeepAlive: -1, Control: func(network, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || network != "tcp4" && network != "tcp6" {
			return ErrRefused
		}
		return g.allows(t, at.Addr())
	}}
	if len(found) > 1 {
		dialer.Timeout = eachAddress
	}
	for _, a := range found {
		conn, err = dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(a, t.port).String())
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, err
}
