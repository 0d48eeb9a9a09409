// Package httpguard stands before every HTTP door: it answers only to the names
// of this host, keeps pages of other origins out, names each request, turns a
// panic into a plain refusal, and writes the access log (faces page, section 4;
// threats, A57 and A77).
//
// It promises that a door sees no request for another host or from a foreign
// origin, and that the log holds no query, header, body or secret. It does not
// authenticate anybody. A Guard is safe for concurrent use.
package httpguard

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Options are what a host may be called besides its loopback names, which pages
// of other origins may use it, and how a door words a refusal.
type Options struct {
	Hosts   []string // names, or name:port for that port only
	Origins []string // scheme://host[:port]
	Refuse  func(w http.ResponseWriter, status int, f *fault.Fault)
}

// Guard passes on what it lets through.
type Guard struct {
	next    http.Handler
	hosts   []string
	origins []string
	cross   *http.CrossOriginProtection
	refuse  func(w http.ResponseWriter, status int, f *fault.Fault)
	log     *slog.Logger
}

// loopback are the names that a machine has for itself; a page of another site
// cannot have one of them, whatever its name resolves to.
var loopback = []string{"localhost", "127.0.0.1", "::1"}

// New guards a door. An origin of another form than scheme://host[:port], or a
// host that is no name, is an error.
func New(next http.Handler, log *slog.Logger, opt Options) (*Guard, error) {
	g := &Guard{next: next, hosts: slices.Clone(loopback), cross: http.NewCrossOriginProtection(), refuse: opt.Refuse, log: log}
	if g.refuse == nil {
		g.refuse = refuse
	}
	for _, host := range opt.Hosts {
		if u, err := url.Parse("http://" + host); err != nil || u.Host != host || u.Hostname() == "" {
			return nil, fmt.Errorf("%q is not the name of a host", host)
		}
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	for _, origin := range opt.Origins {
		if err := g.cross.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
		g.origins = append(g.origins, origin)
	}
	return g, nil
}

// check gives the status and fault of a request that no door may see. Both
// carry HTTP's own status, since the wires have no code of their own for them.
func (g *Guard) check(r *http.Request) (int, *fault.Fault) {
	if !g.knowsHost(r.Host) {
		return http.StatusMisdirectedRequest, fault.New(fault.InvalidRequest, "this host does not answer to that name")
	}
	if !g.knowsOrigin(r) || g.cross.Check(r) != nil {
		return http.StatusForbidden, fault.New(fault.InvalidRequest, "pages of another origin may not call this host")
	}
	return 0, nil
}

func (g *Guard) knowsHost(host string) bool {
	host = strings.ToLower(host)
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return slices.Contains(g.hosts, name) || slices.Contains(g.hosts, host)
}

// knowsOrigin judges every method, since a read can be what a foreign page is
// after; CrossOriginProtection judges those that change something.
func (g *Guard) knowsOrigin(r *http.Request) bool {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 {
		return false
	}
	if slices.Contains(g.origins, values[0]) {
		return true
	}
	u, err := url.Parse(values[0])
	return err == nil && u.Scheme != "" && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// refuse is the form for doors that have none of their own.
func refuse(w http.ResponseWriter, status int, f *fault.Fault) {
	row := f.Row()
	body, err := strictjson.Encode(struct {
		Error map[string]string `json:"error"`
	}{map[string]string{"code": string(row.Code), "message": f.Text, "retry": string(row.Retry)}})
	if err != nil {
		panic("httpguard: cannot encode a refusal: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
