// Package links lets an app read what the results of imported servers point to
// (decision 0007): it puts addresses of the host's own into what an app is given, and
// reads what stands behind one that comes back.
//
// It promises: an address is read for the app that it was given to, while that app
// may call a method of the same resource, and by one message to that one server;
// every other address gives the same answer as one that does not exist; what is read
// gets addresses in turn; each read that is let through, or refused by the server,
// has its row in the trail. bound.ResourcePerMinute and bound.ResourceAtOnce bound the
// reads of one app of one resource. It does not promise that a server still has what
// it pointed to, and nothing that it says is acted on.
//
// One lock guards what is counted; no port is called under it. A Links is safe for
// concurrent use.
package links

import (
	"context"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/link"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Ports are what a Links needs; all are required.
type Ports struct {
	// Behind gives the connection behind a resource of which the caller may call a
	// method now, false where there is none.
	Behind func(ctx context.Context, c authority.Caller, which id.Resource) (id.Adapter, bool, error)
	// Read asks the server of a connection for a URI, once.
	Read func(ctx context.Context, adapter id.Adapter, uri string) ([]read.Content, error)
	// WasRead records a read with what came of it.
	WasRead func(c authority.Caller, which id.Resource, outcome string)
}

// Links is the links of all apps.
type Links struct {
	key   link.Key
	ports Ports

	mu   sync.Mutex
	used map[lane]*use
}

// lane is one app's way to one resource.
type lane struct {
	reader link.Reader
	which  id.Resource
}

type use struct {
	began  time.Time // of the minute
	minute int64
	open   int64
}

// New returns links whose addresses the key makes.
func New(key link.Key, p Ports) *Links { return &Links{key: key, ports: p, used: map[lane]*use{}} }

func readerOf(c authority.Caller) link.Reader { return link.Reader{Owner: c.Owner, Client: c.Client} }

// Give is the content of a result as the caller is given it.
func (l *Links) Give(c authority.Caller, which id.Resource, content []byte) []byte {
	return l.key.Content(readerOf(c), which, content)
}

// Read gives what stands behind an address. Faults: not_found for an address that the
// caller was not given, or may not read any more; rate_limited; those of the port.
func (l *Links) Read(ctx context.Context, c authority.Caller, address string) ([]read.Content, error) {
	which, uri, ok := l.key.Find(readerOf(c), address)
	adapter, may, err := l.ports.Behind(ctx, c, which) // also for what is none, so that the time tells nothing
	switch {
	case err != nil:
		return nil, err
	case !ok || !may:
		l.ports.WasRead(c, id.Resource{}, string(fault.NotFound))
		return nil, read.NotFound()
	}
	parts, err := l.read(ctx, lane{readerOf(c), which}, adapter, uri)
	if err != nil {
		l.ports.WasRead(c, which, string(fault.From(err).Code))
		return nil, err
	}
	l.ports.WasRead(c, which, "ok")
	for i := range parts {
		parts[i].URI = l.key.Address(readerOf(c), which, parts[i].URI)
	}
	return parts, nil
}

func (l *Links) read(ctx context.Context, at lane, adapter id.Adapter, uri string) ([]read.Content, error) {
	u, err := l.begin(at, time.Now())
	if err != nil {
		return nil, err
	}
	defer l.end(u)
	ctx, cancel := context.WithTimeout(ctx, bound.CallDeadline.Duration())
	defer cancel()
	return l.ports.Read(ctx, adapter, uri)
}

// begin takes a place, and forgets who has not read for a minute.
func (l *Links) begin(at lane, now time.Time) (*use, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, u := range l.used {
		if u.open == 0 && now.Sub(u.began) >= time.Minute {
			delete(l.used, key)
		}
	}
	u := l.used[at]
	if u == nil {
		u = &use{began: now}
		l.used[at] = u
	}
	if now.Sub(u.began) >= time.Minute {
		u.began, u.minute = now, 0
	}
	if u.minute >= bound.ResourcePerMinute.Max {
		return nil, bound.ResourcePerMinute.Exceeded().RetryAfter(u.began.Add(time.Minute).Sub(now))
	}
	if u.open >= bound.ResourceAtOnce.Max {
		return nil, bound.ResourceAtOnce.Exceeded().RetryAfter(aMoment)
	}
	u.minute++
	u.open++
	return u, nil
}

// aMoment is when it is worth to come again where too many reads are under way.
const aMoment = 500 * time.Millisecond

func (l *Links) end(u *use) {
	l.mu.Lock()
	u.open--
	l.mu.Unlock()
}
