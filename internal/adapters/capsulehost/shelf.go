package capsulehost

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Pool is where installed capsules stand as resources that can be granted.
type Pool struct {
	Ensure func(ctx context.Context, name string) error
	Remove func(ctx context.Context, name string) error
}

// Shelf is the durable list of the capsules that the owner installed, and the
// commands about them. One lock makes them follow each other.
type Shelf struct {
	host *Host
	pool Pool
	path string

	mu   sync.Mutex
	list []Installed
}

const shelfBytes = 1 << 20 // many times bound.CapsulesInstalled rows

// OpenShelf reads the list in a file, which need not exist.
func OpenShelf(path string, h *Host, p Pool) (*Shelf, error) {
	s := &Shelf{host: h, pool: p, path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err == nil && info.Size() > shelfBytes:
		err = errors.New("the file is too long")
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(path)
	}
	if err == nil {
		err = strictjson.Decode(raw, strictjson.Limits{}, &s.list)
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "the list of installed capsules cannot be read: "+path).Because(err)
	}
	return s, nil
}

// Resume starts every installed capsule. One that cannot start does not keep the
// others from it.
func (s *Shelf) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list {
		if err := s.pool.Ensure(ctx, c.Name); err != nil {
			return err
		}
		if err := s.host.Start(c); err != nil {
			s.host.opt.Log.Warn("a capsule is not started", "capsule", c.Name, "err", err)
		}
	}
	return nil
}

// Install takes a capsule in, or its new build in the place of the one before,
// and starts it. An upgrade keeps its place in the order.
func (s *Shelf) Install(ctx context.Context, what string, args []string) (Installed, error) {
	c, err := s.host.Inspect(what, args)
	if err != nil {
		return Installed{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.At = time.Now().UTC().Truncate(time.Second)
	next := slices.Clone(s.list)
	i := slices.IndexFunc(next, func(o Installed) bool { return o.Name == c.Name })
	if i >= 0 {
		if next[i].Publisher != c.Publisher {
			return Installed{}, fault.Newf(fault.Conflict, "a capsule %s of another publisher (%s) is installed; remove it first", c.Name, next[i].Publisher)
		}
		c.Order = next[i].Order
		next[i] = c
	} else {
		for _, o := range next {
			c.Order = max(c.Order, o.Order)
		}
		c.Order++
		next = append(next, c)
	}
	if err := bound.CapsulesInstalled.Check(len(next)); err != nil {
		return Installed{}, err
	}
	if err := s.keep(next); err != nil {
		return Installed{}, err
	}
	if err := s.pool.Ensure(ctx, c.Name); err != nil {
		return Installed{}, err
	}
	return c, s.host.Start(c)
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
	return s.keep(next)
}

// List tells how every installed capsule stands, in the operator's order.
func (s *Shelf) List() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.host.Statuses()
	out := make([]Status, 0, len(s.list))
	for _, c := range s.list {
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

// keep makes a list the durable one: it is whole on the disk before its name is.
func (s *Shelf) keep(list []Installed) error {
	raw, err := strictjson.Encode(list)
	if err != nil {
		return err
	}
	if err := writeWhole(s.path, append(raw, '\n')); err != nil {
		return fault.New(fault.Unavailable, "the list of installed capsules cannot be written").Because(err)
	}
	s.list = list
	return nil
}

func writeWhole(path string, raw []byte) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already where it was renamed
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
