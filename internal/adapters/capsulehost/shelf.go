package capsulehost

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/folder"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Pool is where installed capsules stand as resources that can be granted.
type Pool struct {
	// Free says whether a capsule may have a name that the owner chose: it is no
	// other resource's.
	Free   func(ctx context.Context, name string) error
	Ensure func(ctx context.Context, name string, serves bool) error // with something to read if it serves resources
	Remove func(ctx context.Context, name string) error
	// Place makes a capsule whose tools can be called known before it runs; one
	// without tools is told as well. Look waits until what it offers is in the pool.
	Place func(ctx context.Context, c Installed, tools bool) error
	Look  func(ctx context.Context, c Installed) error
}

// Book keeps what is installed, durably. An installation is a name and bytes.
type Book struct {
	List   func(ctx context.Context) ([]Page, error)
	Put    func(ctx context.Context, name string, installed []byte) error
	Remove func(ctx context.Context, name string) error
}

// Page is one installation as it is kept. One that is off is listed and not run until
// it is put again.
type Page struct {
	Name      string
	Installed []byte
	Off       bool
}

// Parse reads what a page says.
func (p Page) Parse() (c Installed, err error) {
	if err = strictjson.Decode(p.Installed, strictjson.Limits{}, &c); err != nil {
		err = fault.New(fault.Unavailable, "the installation of a capsule cannot be read: "+p.Name).Because(err)
	}
	return c, err
}

// Shelf is the durable list of the capsules that the owner installed, and the
// commands about them. One lock makes them follow each other.
type Shelf struct {
	host *Host
	pool Pool
	book Book

	mu   sync.Mutex
	list []Installed
	off  map[string]bool
}

// OpenShelf reads what is installed.
func OpenShelf(ctx context.Context, b Book, h *Host, p Pool) (*Shelf, error) {
	s := &Shelf{host: h, pool: p, book: b, off: map[string]bool{}}
	pages, err := b.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		c, err := page.Parse()
		if err != nil {
			return nil, err
		}
		s.list = append(s.list, c)
		s.off[c.Name] = page.Off
	}
	return s, nil
}

// Resume starts every installed capsule that is not off. One that cannot start does not keep the
// others from it.
func (s *Shelf) Resume(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list {
		if s.off[c.Name] {
			continue
		}
		if err := s.start(ctx, c); err != nil {
			s.host.opt.Log.Warn("a capsule is not started", "capsule", c.Name, "err", err)
		}
	}
}

// Install takes a capsule in, or its new build in the place of the one before,
// and starts it. An upgrade keeps its place in the order, and the build before runs
// on while a module is compiled. Nobody else waits while it is looked at.
func (s *Shelf) Install(ctx context.Context, what string, args []string) (Installed, error) {
	c, err := s.host.Inspect(what, args)
	if err == nil {
		err = s.host.Prepare(ctx, c)
	}
	if err == nil {
		c, err = s.put(ctx, c)
	}
	if err != nil {
		return Installed{}, err
	}
	return c, s.pool.Look(ctx, c)
}

func (s *Shelf) put(ctx context.Context, c Installed) (Installed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.At = time.Now().UTC().Truncate(time.Second)
	next := slices.Clone(s.list)
	i := slices.IndexFunc(next, func(o Installed) bool { return o.Name == c.Name })
	if i >= 0 {
		if next[i].Publisher != c.Publisher {
			return Installed{}, fault.Newf(fault.Conflict, "a capsule %s of another publisher (%s) is installed; remove it first", c.Name, next[i].Publisher).
				With("fix", "steward capsule remove "+c.Name)
		}
		c.Order = next[i].Order
		next[i] = c
	} else {
		if c.Folder != "" {
			if err := s.pool.Free(ctx, c.Name); err != nil {
				return Installed{}, err
			}
		}
		for _, o := range next {
			c.Order = max(c.Order, o.Order)
		}
		c.Order++
		next = append(next, c)
	}
	if err := bound.CapsulesInstalled.Check(len(next)); err != nil {
		return Installed{}, err
	}
	raw, err := strictjson.Encode(c)
	if err == nil {
		err = s.book.Put(ctx, c.Name, raw)
	}
	if err != nil {
		return Installed{}, err
	}
	s.list = next
	delete(s.off, c.Name)
	return c, s.start(ctx, c)
}

// start makes a capsule a resource and its tools known, and runs it.
func (s *Shelf) start(ctx context.Context, c Installed) error {
	p, err := s.host.plan(c)
	if err == nil {
		err = s.pool.Ensure(ctx, c.Name, p.claim.Serves(topic.DescribeRequest))
	}
	if err == nil {
		err = s.pool.Place(ctx, c, p.claim.Serves(topic.ToolsRequest))
	}
	if err == nil {
		err = s.host.Start(c)
	}
	return err
}

// Remove ends a capsule and takes it, its resource and the grants on it away.
func (s *Shelf) Remove(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(s.list), func(o Installed) bool { return o.Name == name })
	if len(next) == len(s.list) {
		return fault.New(fault.NotFound, "no capsule of this name is installed")
	}
	if err := s.host.Stop(name); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := s.pool.Remove(ctx, name); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := s.book.Remove(ctx, name); err != nil {
		return err
	}
	s.list = next
	delete(s.off, name)
	return nil
}

// List tells how every installed capsule stands, in the operator's order. One whose
// files are others by now is Changed, though what was installed runs on until it ends.
func (s *Shelf) List() []Status { return looked(s.listed()) }

// Standing is what runs, told as List does; it waits for no command about the shelf.
func (h *Host) Standing() []Status { return looked(h.Statuses()) }

func looked(out []Status) []Status {
	for i, c := range out {
		if c.State != Ready || c.Folder == "" {
			continue
		}
		if found, err := folder.Look(c.Folder); err != nil || found.Build != c.Build {
			out[i].State, out[i].Reason = Changed, "its files are others by now; what was installed runs on until it ends, and then nothing does"
		}
	}
	return out
}

func (s *Shelf) listed() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.host.Statuses()
	out := make([]Status, 0, len(s.list))
	for _, c := range s.list {
		if s.off[c.Name] {
			out = append(out, Status{Installed: c, Source: s.host.SourceOf(c), State: Off, Reason: "the store was restored; install it again"})
			continue
		}
		i := slices.IndexFunc(running, func(r Status) bool { return r.Name == c.Name })
		if i < 0 {
			out = append(out, Status{Installed: c, Source: s.host.SourceOf(c), State: Changed, Reason: "it was not started; see the host's log"})
			continue
		}
		out = append(out, running[i])
	}
	slices.SortFunc(out, func(a, b Status) int {
		if a.Order != b.Order {
			return int(a.Order - b.Order)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}
