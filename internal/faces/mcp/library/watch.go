package library

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Library is the resources of all owners, as MCP has them.
type Library struct {
	ports Ports
	wake  chan struct{}

	mu      sync.Mutex
	readers map[reader]*watch
	dirty   map[id.Owner]bool
}

// reader is one app of one owner.
type reader struct {
	owner  id.Owner
	client id.Client
}

// watch is what an app was last told of. It is kept while streams come and go, so
// that a change in between is told to the next one.
type watch struct {
	caller  authority.Caller // who came last
	streams int
	tell    func()
	told    digest.Digest
	based   bool // told is there
}

// gather is how long changes are gathered before capsules are asked: several
// start at once.
const gather = 100 * time.Millisecond

// New returns a library. Run must run for changes to be told.
func New(p Ports) *Library {
	return &Library{ports: p, wake: make(chan struct{}, 1), readers: map[reader]*watch{}, dirty: map[id.Owner]bool{}}
}

// Tell has the sessions and subscriptions of an app's SDK server told of changes,
// until the function that it returns is called. The server's registry holds no
// resource of the app but a marker, whose renewal is how a change is announced.
func (l *Library) Tell(c authority.Caller, server *sdk.Server) func() {
	return l.Watch(c, func() {
		marker := &sdk.Resource{Name: "changed", URI: "steward:changed"}
		server.AddResource(marker, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return nil, authority.NotFound()
		})
	})
}

// Watch says that a stream of an app is open, and how all of the app's streams are
// told of a change. The function that it returns ends that.
func (l *Library) Watch(c authority.Caller, tell func()) func() {
	l.mu.Lock()
	w := l.watchOf(c)
	w.tell = tell
	w.streams++
	l.dirty[c.Owner] = true // the baseline, or what changed since the last stream
	l.mu.Unlock()
	l.stir()
	return func() {
		l.mu.Lock()
		w.streams--
		l.mu.Unlock()
	}
}

// based takes what an app was given as what it knows, if nothing is known yet: a
// change from then on is told, also one before its stream was looked at.
func (l *Library) based(c authority.Caller, seen describe.Result) {
	sum := seen.Digest()
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.watchOf(c); !w.based {
		w.told, w.based = sum, true
	}
}

// watchOf finds or makes what is known of an app. The lock is held.
func (l *Library) watchOf(c authority.Caller) *watch {
	key := reader{c.Owner, c.Client}
	w := l.readers[key]
	if w == nil {
		l.makeRoom()
		w = &watch{}
		l.readers[key] = w
	}
	w.caller = c
	return w
}

// makeRoom forgets an app without a stream where there are too many. The lock is
// held.
func (l *Library) makeRoom() {
	if len(l.readers) < bound.MCPApps.Int() {
		return
	}
	for key, w := range l.readers {
		if w.streams == 0 {
			delete(l.readers, key)
			return
		}
	}
}

// Changed says that what apps of the owner can read may be different now.
func (l *Library) Changed(owner id.Owner) {
	l.mu.Lock()
	l.dirty[owner] = true
	l.mu.Unlock()
	l.stir()
}

func (l *Library) stir() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run tells apps of changes until ctx ends. It runs once.
func (l *Library) Run(ctx context.Context) {
	again := time.NewTimer(bound.MCPRecheck.Duration())
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
			select {
			case <-ctx.Done():
				return
			case <-time.After(gather):
			}
		case <-again.C:
		}
		l.settle(ctx)
		again.Reset(bound.MCPRecheck.Duration())
	}
}

// settle looks at each owner whose capsules may have changed. An owner whom it
// could not look at stays dirty and is looked at again.
func (l *Library) settle(ctx context.Context) {
	l.mu.Lock()
	owners := l.dirty
	l.dirty = map[id.Owner]bool{}
	l.mu.Unlock()
	for owner := range owners {
		if !l.compare(ctx, owner) {
			l.mu.Lock()
			l.dirty[owner] = true
			l.mu.Unlock()
		}
	}
}

// compare asks an owner's capsules once and tells the apps for which that is new.
func (l *Library) compare(ctx context.Context, owner id.Owner) (settled bool) {
	l.mu.Lock()
	waiting := map[*watch]authority.Caller{}
	for key, w := range l.readers {
		if key.owner == owner && w.streams > 0 {
			waiting[w] = w.caller
		}
	}
	l.mu.Unlock()
	if len(waiting) == 0 {
		return true // nobody to tell; the next stream looks
	}
	ctx, cancel := context.WithTimeout(ctx, bound.ResourceDeadline.Duration())
	defer cancel()
	found, err := l.ports.List(ctx, topic.PrincipalOf(owner))
	if err != nil {
		return false
	}
	settled = found.Complete
	for w, c := range waiting {
		if err := l.retell(ctx, w, c, found); err != nil && !fault.Is(err, fault.Unauthenticated) {
			settled = false
		}
	}
	return settled
}

func (l *Library) retell(ctx context.Context, w *watch, c authority.Caller, found describe.Result) error {
	may, err := l.ports.Readable(ctx, c)
	if err != nil {
		return err
	}
	now := visible(found, may).Digest()
	l.mu.Lock()
	isNew := w.based && w.told != now
	w.told, w.based = now, true
	tell := w.tell
	l.mu.Unlock()
	if isNew {
		tell()
	}
	return nil
}
