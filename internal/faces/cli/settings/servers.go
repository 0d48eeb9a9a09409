package settings

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// checkServers holds the URLs of the bus to their form. What goes over the bus is
// the owner's context, so that it leaves this machine under TLS only; who the host
// is it proves by its keys, so that a URL names no user.
func checkServers(value string) error {
	if value == "" {
		return nil
	}
	list := strings.Split(value, ",")
	if err := bound.BusURLs.Check(len(list)); err != nil {
		return trouble.UsageOf("steward up --help", "these are more than %d servers of a bus", bound.BusURLs.Max)
	}
	scheme := ""
	for _, text := range list {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "tls" && u.Scheme != "nats" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
			return trouble.UsageOf("steward up --nats-url tls://HOST:4222", "%s is not the address of a NATS server", paper.Word(text))
		case u.User != nil:
			return trouble.New(trouble.Unsafe, "the address of a NATS server names no user: the host has keys of its own", "steward up --nats-url "+paper.Word(u.Scheme+"://"+u.Host))
		case scheme != "" && scheme != u.Scheme:
			return trouble.New(trouble.Unsafe, "some servers of the bus are reached with TLS and others without", "steward up --nats-url with tls:// before each")
		case u.Scheme == "nats" && !loopback(u.Hostname()):
			return trouble.New(trouble.Unsafe, "the server "+paper.Word(u.Host)+" of the bus is beyond this machine, and nats:// has no TLS", "steward up --nats-url "+paper.Word("tls://"+u.Host))
		}
		scheme = u.Scheme
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
