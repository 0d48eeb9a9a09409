// Package capsulehost runs the capsules that the owner installed: one process for
// each capsule and principal, which speaks the frames of capsulewire over its
// standard streams, and the handlers of the host's own capsules.
//
// It promises: a capsule is never told of another principal than the one it runs
// for; what it publishes goes through the seat that the bus gave it and no other
// way; an answer counts for the request that it names, once, while somebody
// waits; a capsule that dies, floods, stops reading or breaks the wire is ended
// with its whole tree and started again with growing pauses; one whose files are
// not those that were installed is not started; when Remove or Close returns, the
// seat is gone and nothing of it runs.
//
// It does not promise to confine a capsule: it has the host's user and files.
//
// Bounds: the capsule rows. A Host is safe for concurrent use: one lock guards
// the set, each runtime has a lock of its own, and no port is called under
// either. Every goroutine belongs to a runtime, whose end is waited for.
package capsulehost

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/capsulefile"
	"github.com/stewardhost/steward/internal/adapters/capsulehost/sandbox"
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// Place is who wants a seat on the bus.
type Place struct {
	Principal topic.Principal
	Source    topic.Source
	Claim     topic.Claim
	Build     digest.Digest
}

// Request is a question of the broker.
type Request struct {
	Topic    topic.Topic
	Round    string
	Deadline time.Time
	Life     int64 // of a call: what was looked at before it was sent
	Payload  []byte
}

// Seat is a place on the bus.
type Seat struct {
	Answer  func(Request, []byte) error
	Lose    func(q Request, sent bool) error // of a call: there will be no answer; whether the capsule was told of it
	Decline func(q Request) error            // of a read: the capsule has no such URI
	Close   func()
}

// Ports are what the host asks of its surroundings; all are required.
type Ports struct {
	// Admit gives a runtime its place. take must not be called after Close.
	Admit func(p Place, take func(Request), lost func()) (Seat, error)
	// Joined and Left tell that a runtime can be asked, or not any more.
	Joined func(topic.Principal)
	Left   func(topic.Principal, topic.Source)
}

// Handler is one of the host's own capsules, which runs inside it.
type Handler struct {
	Describe func(ctx context.Context, p topic.Principal) ([]capsulewire.ResourceDefinition, error)
	Read     func(ctx context.Context, p topic.Principal, uri string) (contents []capsulewire.ResourceContents, mine bool, err error)
}

// Options are what a host may choose.
type Options struct {
	Log      *slog.Logger
	Tenant   string             // the installation, part of every source
	Version  string             // of the host: the build of the capsules that come with it
	Self     []string           // command line that runs a shipped capsule; its name and arguments follow
	Inside   map[string]Handler // capsules that run in the host, by name
	Compiled string             // folder for what is compiled of modules; empty: in memory
	Shipped  map[string]int     // capsules that come with the host and run as processes, and how many folders each takes
}

// Installed is one capsule that the owner wants.
type Installed struct {
	Name      string        `json:"name"`
	Version   string        `json:"version"`
	Publisher string        `json:"publisher"`
	Folder    string        `json:"folder"` // of a capsule of the owner's; empty for one that comes with the host
	Args      []string      `json:"args"`   // of one that comes with the host
	Order     int64         `json:"order"`  // of installation: an elder wins a collision
	Build     digest.Digest `json:"build"`  // of what runs
	At        time.Time     `json:"at"`     //
}

// Status tells how a capsule stands.
type Status struct {
	Installed
	Source   topic.Source
	State    State
	Reason   string // of a state that is not Ready
	PID      int    // 0 for one inside the host
	Restarts int
	Serves   []string // resources, tools
	Log      string   // what it last wrote to standard error
}

// State is where a runtime stands.
type State string

// The states.
const (
	Starting  State = "starting"
	Compiling State = "compiling" // its module, which is new or of which nothing was kept
	Ready     State = "ready"
	Waiting   State = "waiting" // for its next start
	Changed   State = "changed" // its files are not those that were installed
	Off       State = "off"     // it does not run until it is installed again, since the store was restored
)

// Host runs the capsules of one principal.
type Host struct {
	ports     Ports
	opt       Options
	principal topic.Principal
	lives     atomic.Int64

	mu       sync.Mutex
	runtimes map[string]*runtime // by name
	engine   *sandbox.Engine     // opened by the first module
	closed   bool
}

// New returns a host without capsules.
func New(p Ports, principal topic.Principal, opt Options) *Host {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Host{ports: p, opt: opt, principal: principal, runtimes: map[string]*runtime{}}
}

// SourceOf is the source of a capsule in this installation.
func (h *Host) SourceOf(c Installed) topic.Source {
	return topic.SourceOf(h.opt.Tenant, c.Name, c.Publisher)
}

// Start runs a capsule from now on; one of the same name is ended first.
func (h *Host) Start(c Installed) error {
	plan, err := h.plan(c)
	if err != nil {
		return err
	}
	if err := h.Stop(c.Name); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	r, err := h.add(c, plan)
	if err == nil {
		r.start()
	}
	return err
}

func (h *Host) add(c Installed, p plan) (*runtime, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fault.New(fault.Unavailable, "the host is ending")
	}
	if err := bound.CapsulesInstalled.Check(len(h.runtimes) + 1); err != nil {
		return nil, err
	}
	r := newRuntime(h, c, p)
	h.runtimes[c.Name] = r
	return r, nil
}

// Stop ends a capsule and waits for its end.
func (h *Host) Stop(name string) error {
	h.mu.Lock()
	r := h.runtimes[name]
	delete(h.runtimes, name)
	h.mu.Unlock()
	if r == nil {
		return fault.New(fault.NotFound, "no capsule of this name is installed")
	}
	r.stop()
	return nil
}

// Wake has every capsule that rests before its next start try at once.
func (h *Host) Wake() {
	for _, r := range h.snapshot() {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// Close ends every capsule.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	all := h.all()
	h.runtimes = map[string]*runtime{}
	h.mu.Unlock()
	var ending sync.WaitGroup
	for _, r := range all {
		ending.Go(r.stop)
	}
	ending.Wait()
}

// Prepare compiles a capsule that is a module, so that it is there at once when it
// is started, and one that cannot be compiled is never installed. It may take seconds.
func (h *Host) Prepare(ctx context.Context, c Installed) error {
	p, err := h.plan(c)
	if err != nil || p.module == nil {
		return err
	}
	engine, err := h.openEngine()
	if err != nil {
		return err
	}
	module, err := engine.Load(ctx, p.module)
	if err == nil {
		module.Close()
	}
	return err
}

// openEngine gives what runs modules, opened by the first who needs it.
func (h *Host) openEngine() (*sandbox.Engine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.engine != nil {
		return h.engine, nil
	}
	e, err := sandbox.NewEngine(h.opt.Compiled)
	if err == nil {
		h.engine = e
	}
	return e, err
}

func (h *Host) all() []*runtime {
	out := make([]*runtime, 0, len(h.runtimes))
	for _, r := range h.runtimes {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *runtime) int { return strings.Compare(a.capsule.Name, b.capsule.Name) })
	return out
}

func (h *Host) snapshot() []*runtime {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all()
}

// Members gives the runtimes of a principal that take requests now. One that
// starts for the first time counts, since its requests wait for it; one that
// failed before counts when it is ready.
func (h *Host) Members(p topic.Principal) (out []describe.Member) {
	if p != h.principal {
		return nil
	}
	for _, r := range h.snapshot() {
		if m, ok := r.member(); ok {
			out = append(out, m)
		}
	}
	return out
}

// Life numbers what runs of a capsule now, 0 if nothing does, and says whether it
// takes requests at once. Each start has another number.
func (h *Host) Life(p topic.Principal, s topic.Source) (life int64, ready bool) {
	if r := h.of(s); r != nil && p == h.principal {
		return r.alive()
	}
	return 0, false
}

// CallTime is how long a capsule may take for a call of a tool.
func (h *Host) CallTime(s topic.Source) time.Duration {
	r := h.of(s)
	if r == nil {
		return capsulefile.Widest().Call
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plan.bounds.Call
}

// of gives what runs of a capsule, or nil.
func (h *Host) of(s topic.Source) *runtime {
	for _, r := range h.snapshot() {
		if r.source == s {
			return r
		}
	}
	return nil
}

// Remark adds a line to the log of the capsule with this source, in the place of the one
// before: why its last answer could not be taken.
func (h *Host) Remark(s topic.Source, line string) {
	if r := h.of(s); r != nil {
		r.mu.Lock()
		r.remark = line
		r.mu.Unlock()
	}
}

// Statuses tells how every capsule stands, by name.
func (h *Host) Statuses() (out []Status) {
	for _, r := range h.snapshot() {
		out = append(out, r.status())
	}
	return out
}
