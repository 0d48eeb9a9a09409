package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/stewardhost/steward/capsule"
	"github.com/stewardhost/steward/examples/files"
	"github.com/stewardhost/steward/internal/adapters/capsulehost"
	"github.com/stewardhost/steward/internal/adapters/natsbus"
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/broker"
	"github.com/stewardhost/steward/internal/service/builtins"
	"github.com/stewardhost/steward/internal/service/introspection"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// capsuleVerb is the hidden verb of the capsules that come with the host.
const capsuleVerb = "capsule-run"

// capsules is the bus wing of a host, wired. The bus itself is opened with the
// first capsule, so that a host without any does not carry it.
type capsules struct {
	*broker.Broker
	host  *capsulehost.Host
	shelf *capsulehost.Shelf
	log   *slog.Logger
	node  string

	mu  sync.Mutex
	bus *natsbus.Bus
}

// openCapsules wires the wing for the owner and starts nothing yet.
func (p *parts) openCapsules(folder string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := &capsules{log: p.log, node: p.store.Node().String()}
	c.Broker, err = broker.New(broker.Ports{
		Members:     func(who topic.Principal) []describe.Member { return c.host.Members(who) },
		AskDescribe: c.askDescribe, AskRead: c.askRead, AskCancel: c.askCancel,
		Audit:   func(e broker.Event) { c.tell(p, e) },
		Changed: func(topic.Principal) { p.shelves.Changed(p.owner) },
	})
	if err != nil {
		return err
	}
	c.host = capsulehost.New(capsulehost.Ports{Admit: c.admit, Joined: c.Joined, Left: c.Left}, topic.PrincipalOf(p.owner), capsulehost.Options{
		Log: p.log, Tenant: c.node, Version: version, Self: []string{self, capsuleVerb},
		Inside: map[string]capsulehost.Handler{"introspect": p.introspect()}, Shipped: map[string]int{"files": 1},
	})
	c.shelf, err = capsulehost.OpenShelf(filepath.Join(folder, "capsules", "installed.json"), c.host, capsulehost.Pool{
		Ensure: func(ctx context.Context, name string) error {
			seed, err := builtins.Capsule(name)
			if err != nil {
				return err
			}
			return p.store.EnsureCapsule(ctx, p.owner, seed)
		},
		Remove: func(ctx context.Context, name string) error {
			return p.store.RemoveCapsule(ctx, p.owner, resource.AliasCapsule+name)
		},
	})
	p.capsules = c
	return err
}

// tell writes what the bus dropped or decided into the trail and the log.
func (c *capsules) tell(p *parts, e broker.Event) {
	c.log.Warn("bus", "kind", string(e.Kind), "source", e.Source.String(), "detail", e.Detail, "count", e.Count)
	p.store.BusEvent(p.owner, e.Source.String(), string(e.Kind), int64(e.Count))
}

func (c *capsules) askDescribe(who topic.Principal, round string, deadline time.Time) error {
	bus, err := c.open()
	if err != nil {
		return err
	}
	return bus.AskDescribe(who, round, deadline)
}

func (c *capsules) askRead(who topic.Principal, correlation, uri string, deadline time.Time) error {
	bus, err := c.open()
	if err != nil {
		return err
	}
	return bus.AskRead(who, correlation, uri, deadline)
}

func (c *capsules) askCancel(who topic.Principal, correlation string) error {
	bus, err := c.open()
	if err != nil {
		return err
	}
	return bus.AskCancel(who, correlation)
}

// open gives the bus, opened by the first who needs it.
func (c *capsules) open() (*natsbus.Bus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bus != nil {
		return c.bus, nil
	}
	bus, err := natsbus.Open(c.node, natsbus.Listener{Described: c.Described, Read: c.WasRead, Lost: c.Lost,
		Alarm: func(s topic.Source, text string) { c.log.Warn("bus alarm", "source", s.String(), "what", text) }}, natsbus.Options{Log: c.log})
	if err == nil {
		c.bus = bus
	}
	return bus, err
}

func (c *capsules) admit(place capsulehost.Place, take func(capsulehost.Request), lost func()) (capsulehost.Seat, error) {
	bus, err := c.open()
	if err != nil {
		return capsulehost.Seat{}, err
	}
	seat, err := bus.Admit(natsbus.Runtime(place), func(r natsbus.Request) { take(capsulehost.Request(r)) }, lost)
	if err != nil {
		return capsulehost.Seat{}, err
	}
	return capsulehost.Seat{
		Answer: func(r capsulehost.Request, payload []byte) error { return seat.Answer(natsbus.Request(r), payload) },
		Close:  seat.Close,
	}, nil
}

func (c *capsules) close() {
	c.host.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bus != nil {
		c.bus.Close()
	}
}

// introspect is the handler of the capsule that shows the owner's own host.
func (p *parts) introspect() capsulehost.Handler {
	ports := introspection.Ports{
		Apps: p.store.Apps,
		Grants: func(ctx context.Context, owner id.Owner) ([]view.Grant, error) {
			return p.store.Grants(ctx, owner, id.Client{})
		},
		Calls: func(ctx context.Context, owner id.Owner) ([]view.Invocation, error) {
			page, _, err := p.store.Invocations(ctx, owner, view.JournalFilter{})
			return page, err
		},
		Capsules: func() (out []introspection.Capsule) {
			for _, s := range p.capsules.host.Statuses() {
				out = append(out, introspection.Capsule{Name: s.Name, Version: s.Version, State: string(s.State), Restarts: s.Restarts})
			}
			return out
		},
	}
	const mimeType = "application/json"
	return capsulehost.Handler{
		Describe: func(context.Context, topic.Principal) (out []capsulewire.ResourceDefinition, err error) {
			for _, s := range introspection.Subjects() {
				kind := mimeType
				out = append(out, capsulewire.ResourceDefinition{URI: s.URI, Name: s.Name, Description: &s.Description, MimeType: &kind})
			}
			return out, nil
		},
		Read: func(ctx context.Context, _ topic.Principal, uri string) ([]capsulewire.ResourceContents, bool, error) {
			text, known, err := ports.Read(ctx, p.owner, uri)
			return []capsulewire.ResourceContents{capsule.Text(uri, mimeType, string(text))}, known, err
		},
	}
}

// runCapsule is a capsule that comes with the host.
func runCapsule(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if len(args) != 2 || args[0] != "files" {
		fmt.Fprintln(os.Stderr, "usage: files FOLDER")
		return 2
	}
	if err := files.Serve(ctx, args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
