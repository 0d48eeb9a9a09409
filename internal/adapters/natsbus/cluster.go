package natsbus

import (
	"crypto/subtle"
	"fmt"
	"net/url"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

const loopback = "127.0.0.1"

// joinCluster makes the server one of several that route to each other.
func (o Options) joinCluster(s *server.Options) {
	if o.Self.Port == 0 {
		return
	}
	s.ServerName = o.Self.Name
	s.Cluster = server.ClusterOpts{Name: "steward", Host: loopback, Port: o.Self.Port, PoolSize: -1}
	for _, n := range o.Nodes {
		if n != o.Self {
			s.Routes = append(s.Routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("%s:%s", loopback, strconv.Itoa(n.Port))})
		}
	}
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
