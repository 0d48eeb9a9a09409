// Package buswing wires the bus wing of a host: the broker, the capsules that the
// owner installed, and the bus between them, which is in the process or on servers
// that somebody else runs.
//
// It decides nothing. The bus is opened with the first capsule, so that a host
// without any does not carry it. A Wing is safe for concurrent use; one lock guards
// the opening of the bus.
package buswing

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost"
	"github.com/stewardhost/steward/internal/adapters/natsbus"
	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/cli/bus"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/broker"
	"github.com/stewardhost/steward/internal/service/builtins"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/workbench"
)

// Parts are what the wing is wired with; all are required.
type Parts struct {
	Store   *store.Store
	Owner   id.Owner
	Folder  string      // of the host's data
	Version string      // of the host
	Servers bus.Servers // of somebody else; the zero value is the one in the process
	Changed func()      // what the capsules serve may be different now
	// Merge takes what a capsule offers now into the pool; where it cannot, it says so in the log.
	Merge func(ctx context.Context, adapter id.Adapter, l importer.Listed) error
	Log   *slog.Logger
}

// Wing is the bus wing of a host, wired.
type Wing struct {
	*broker.Broker
	Shelf *capsulehost.Shelf

	tools *workbench.Workbench
	parts Parts
	host  *capsulehost.Host
	node  string

	mu     sync.Mutex
	bus    *natsbus.Bus
	failed error // why there is none
	tried  time.Time

	stop  context.CancelFunc // of who waits for servers that were away
	waits sync.WaitGroup
}

// New wires the wing for the owner and starts nothing yet.
func New(ctx context.Context, p Parts) (*Wing, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &Wing{parts: p, node: p.Store.Node().String(), stop: func() {}}
	w.Broker, err = broker.New(broker.Ports{
		Members:     func(who topic.Principal) []describe.Member { return w.host.Members(who) },
		AskDescribe: w.askDescribe, AskRead: w.askRead, AskCancel: w.askCancel,
		Audit:   w.tell,
		Changed: func(topic.Principal) { p.Changed() },
	})
	if err != nil {
		return nil, err
	}
	w.tools = w.newTools()
	w.host = capsulehost.New(capsulehost.Ports{Admit: w.admit, Joined: w.joined, Left: w.left}, topic.PrincipalOf(p.Owner), capsulehost.Options{
		Log: p.Log, Tenant: w.node, Version: p.Version, Self: []string{self, Verb}, Compiled: filepath.Join(p.Folder, "compiled"),
		Inside: map[string]capsulehost.Handler{"introspect": w.introspect()}, Shipped: map[string]int{"files": 1},
	})
	w.Shelf, err = capsulehost.OpenShelf(ctx, p.book(), w.host, capsulehost.Pool{
		Free: w.free, Ensure: func(ctx context.Context, name string, serves bool) error {
			seed, err := builtins.Capsule(name, serves)
			if err != nil {
				return err
			}
			return p.Store.EnsureCapsule(ctx, p.Owner, seed)
		},
		Remove: w.remove, Place: w.place, Look: w.look,
	})
	return w, err
}

// book keeps what is installed in the store.
func (p Parts) book() capsulehost.Book {
	return capsulehost.Book{
		List: func(ctx context.Context) (pages []capsulehost.Page, err error) {
			list, err := p.Store.Installed(ctx, p.Owner)
			for _, one := range list {
				pages = append(pages, Page(one))
			}
			return pages, err
		},
		Put: func(ctx context.Context, name string, installed []byte) error {
			return p.Store.Install(ctx, p.Owner, name, installed)
		},
		Remove: func(ctx context.Context, name string) error { return p.Store.Uninstall(ctx, p.Owner, name) },
	}
}

// Page is an installation as the host of capsules reads it.
func Page(one view.Installation) capsulehost.Page {
	return capsulehost.Page{Name: one.Name, Installed: one.Record, Off: one.Off}
}

// tell writes what the bus dropped or decided into the trail and the log.
func (w *Wing) tell(e broker.Event) {
	w.parts.Log.Warn("bus", "kind", string(e.Kind), "source", e.Source.String(), "why", string(e.Why), "detail", e.Detail, "count", e.Count)
	for _, row := range e.Rows() {
		w.parts.Store.BusEvent(w.parts.Owner, row.Source.String(), row.Text, int64(row.Count))
	}
}

func (w *Wing) askDescribe(who topic.Principal, round string, deadline time.Time) error {
	bus, err := w.open()
	if err != nil {
		return err
	}
	return bus.AskDescribe(who, round, deadline)
}

func (w *Wing) askRead(who topic.Principal, correlation, uri string, deadline time.Time) error {
	bus, err := w.open()
	if err != nil {
		return err
	}
	return bus.AskRead(who, correlation, uri, deadline)
}

func (w *Wing) askCancel(who topic.Principal, correlation string) error {
	bus, err := w.open()
	if err != nil {
		return err
	}
	return bus.AskCancel(who, correlation)
}

// open gives the bus, opened by the first who needs it. Servers that were away a
// moment ago are not asked again yet, so that nobody waits for others who ask.
func (w *Wing) open() (*natsbus.Bus, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bus != nil {
		return w.bus, nil
	}
	if w.failed != nil && time.Since(w.tried) < tryEvery {
		return nil, w.failed
	}
	if w.outside() {
		w.bus, w.failed = openOutside(w.parts, w.listener())
	} else {
		w.bus, w.failed = natsbus.Open(w.node, w.listener(), natsbus.Options{Log: w.parts.Log})
	}
	w.tried = time.Now()
	return w.bus, w.failed
}

func (w *Wing) listener() natsbus.Listener {
	return natsbus.Listener{Described: w.described, Read: w.wasRead, Lost: w.Lost, Tool: w.tools.Answered, Cut: w.severed, Back: w.joined,
		Alarm: func(s topic.Source, _ string) { // which is in the log
			w.parts.Store.BusEvent(w.parts.Owner, s.String(), "refused: beyond its rights", 1)
		}}
}

func (w *Wing) admit(place capsulehost.Place, take func(capsulehost.Request), lost func()) (capsulehost.Seat, error) {
	bus, err := w.open()
	if err != nil {
		return capsulehost.Seat{}, err
	}
	seat, err := bus.Admit(natsbus.Runtime(place), func(r natsbus.Request) { take(capsulehost.Request(r)) }, lost)
	if err != nil {
		return capsulehost.Seat{}, err
	}
	return capsulehost.Seat{
		Answer:  func(r capsulehost.Request, payload []byte) error { return seat.Answer(natsbus.Request(r), payload) },
		Lose:    func(r capsulehost.Request, sent bool) error { return seat.Lose(natsbus.Request(r), sent) },
		Decline: func(r capsulehost.Request) error { return seat.Decline(natsbus.Request(r)) },
		Close:   seat.Close,
	}, nil
}

// Close ends the capsules and then the bus.
func (w *Wing) Close() {
	w.stop()
	w.waits.Wait()
	w.tools.Close()
	w.host.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bus != nil {
		w.bus.Close()
	}
}
