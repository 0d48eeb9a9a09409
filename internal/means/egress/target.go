package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Target is a URL that can be sent to, in one spelling. The zero value is none;
// use Parse.
type Target struct {
	url                  *url.URL
	scheme, host, origin string
	port                 uint16
}

// Parse reads an absolute http or https URL without user information or fragment,
// whose host is a plain name or an address in its one usual spelling. Whether it
// may be reached is for a Gate to say. The fault is invalid_request.
func Parse(raw string) (Target, error) {
	if err := bound.EgressURLBytes.Check(len(raw)); err != nil {
		return Target{}, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return Target{}, bad("it is no URL")
	}
	t := Target{url: u, scheme: u.Scheme, host: strings.ToLower(u.Hostname())}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return Target{}, bad("it begins neither with https:// nor with http://")
	case u.User != nil:
		return Target{}, bad("it carries a user name")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return Target{}, bad("it carries a fragment")
	case u.Opaque != "" || strings.ContainsAny(raw, "\\ \t\r\n\x00"):
		return Target{}, bad("it is no URL")
	case !isHost(t.host, strings.HasPrefix(u.Host, "[")):
		return Target{}, bad("its host is neither a name nor an address in its usual spelling")
	}
	t.port = 443
	if u.Scheme == "http" {
		t.port = 80
	}
	authority := t.host
	if strings.Contains(t.host, ":") {
		authority = "[" + t.host + "]"
	}
	if p := u.Port(); p != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 || p[0] == '0' {
			return Target{}, bad("its port is none")
		}
		if uint16(n) != t.port {
			authority += ":" + p
		}
		t.port = uint16(n)
	}
	t.origin = t.scheme + "://" + authority
	u.Host = authority
	return t, nil
}

func bad(why string) *fault.Fault {
	return fault.New(fault.InvalidRequest, "the address cannot be used: "+why)
}

// isHost reports whether a host has one meaning only. A name whose last label is a
// number is an address in one of the old spellings.
func isHost(host string, bracketed bool) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == "" && !a.Is4In6() && a.String() == host && a.Is6() == bracketed
	}
	name := strings.TrimSuffix(host, ".")
	if name == "" || len(name) > 253 || bracketed {
		return false
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && (!strings.HasPrefix(last, "0x") || strings.Trim(last[2:], "0123456789abcdef") != "")
}

// URL is the target in its one spelling.
func (t Target) URL() string { return t.url.String() }

// Origin is the scheme, the host and, where it is not the usual one, the port.
func (t Target) Origin() string { return t.origin }

// At is the target of another path at the same origin; path begins with a slash.
func (t Target) At(path string) (Target, error) { return Parse(t.origin + path) }

// Path is the path of the target as it is written, without a query.
func (t Target) Path() string { return t.url.EscapedPath() }

// Exception lets one origin lead to one network that is not public, over https or
// not. It is the operator's word alone; the zero value lets nothing out.
type Exception struct {
	origin  string
	network netip.Prefix
}

// ParseException reads what String writes: an origin and a network, as in
// http://127.0.0.1:3000=127.0.0.1/32. The fault is invalid_request.
func ParseException(text string) (Exception, error) {
	at := strings.LastIndex(text, "=")
	if at < 0 {
		return Exception{}, fault.New(fault.InvalidRequest, "an exception is an origin and a network, as in http://127.0.0.1:3000=127.0.0.1/32")
	}
	t, err := Parse(text[:at])
	if err != nil {
		return Exception{}, err
	}
	network, err := netip.ParsePrefix(text[at+1:])
	switch {
	case err != nil || network.Masked() != network:
		return Exception{}, fault.New(fault.InvalidRequest, "the exception's network is none, as 127.0.0.1/32 is one")
	case t.origin != text[:at]:
		return Exception{}, fault.Newf(fault.InvalidRequest, "the exception is not for an origin, as %s is one", t.origin)
	case network.Bits() == 0:
		return Exception{}, fault.New(fault.InvalidRequest, "the exception's network is everything")
	}
	return Exception{t.origin, network}, nil
}

// String is the exception as it is written in configurations.
func (e Exception) String() string { return e.origin + "=" + e.network.String() }
