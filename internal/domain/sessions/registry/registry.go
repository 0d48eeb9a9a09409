// Package registry is what applications lend to sessions: tools and skills, as
// captured sources (guide, Registry methods and Bounds).
//
// Each session has one table of resources. Every change makes a new immutable
// Snapshot with a fresh revision; a turn pins the one that it was accepted with
// and sees that, whatever happens later. Snapshots that are current or pinned are
// retained and counted, each once; a change reserves its whole snapshot beside the
// one before. What a table may hold, what all of them may, and how long one that
// nobody claims stays are rows of the bound table. A change that is refused leaves
// no trace.
//
// Ids come in the command and must be unpredictable. A Book has one owner. At the
// exact instant, expiry wins.
package registry

import (
	"slices"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Attribution is the connection's action that something is due to (guide,
// Captured sources); it is no verified person.
type Attribution struct {
	InstanceID      string `json:"instance_id"`
	ConnectionID    string `json:"connection_id"`
	OperationID     string `json:"operation_id"`
	GrantGeneration int64  `json:"grant_generation"`
}

// Descriptor is one revision of a resource, without body and path.
type Descriptor struct {
	ResourceID     string      `json:"resource_id"`
	RevisionID     string      `json:"revision_id"`
	Kind           Kind        `json:"kind"`
	Name           string      `json:"name"`
	Description    string      `json:"description"`
	ContentSHA256  string      `json:"content_sha256"`
	RevisionSHA256 string      `json:"revision_sha256"`
	CapturedBytes  int         `json:"captured_bytes"`
	RegisteredBy   Attribution `json:"registered_by"`
}

// Entry is one live revision. It never changes.
type Entry struct {
	Descriptor Descriptor
	Resource   *Resource
	weight     int
}

// Snapshot is all of a table at one revision. It never changes but for how often
// it is needed, which the Book counts.
type Snapshot struct {
	Session      string
	Revision     string
	Entries      []*Entry // sorted by kind and name
	Instructions string   // the skills in name order, joined by line feeds
	weight       int
	pins         int
	current      bool
}

// Empty reports whether there is no resource.
func (s *Snapshot) Empty() bool { return len(s.Entries) == 0 }

// Tools are the entries of kind tool, in name order.
func (s *Snapshot) Tools() []*Entry {
	var out []*Entry
	for _, e := range s.Entries {
		if e.Descriptor.Kind == Tool {
			out = append(out, e)
		}
	}
	return out
}

// Descriptors are those of all entries, in their order.
func (s *Snapshot) Descriptors() []Descriptor {
	out := make([]Descriptor, len(s.Entries))
	for i, e := range s.Entries {
		out[i] = e.Descriptor
	}
	return out
}

func (s *Snapshot) find(match func(*Entry) bool) *Entry {
	if i := slices.IndexFunc(s.Entries, match); i >= 0 {
		return s.Entries[i]
	}
	return nil
}

// Book holds the tables of all sessions. Use New.
type Book struct {
	tables  map[string]*table
	work    map[string]int // preparations and accepted turns of a session
	used    Usage
	capture bool
}

// Usage is what the whole daemon retains.
type Usage struct{ Snapshots, Entries, Bytes int }

// New returns an empty book.
func New() *Book { return &Book{tables: map[string]*table{}, work: map[string]int{}} }

// Usage tells what is retained now, the reserve of a running capture included.
func (b *Book) Usage() Usage { return b.used }

// Current is the session's snapshot, or nil where it has no table.
func (b *Book) Current(session string) *Snapshot {
	if t := b.tables[session]; t != nil {
		return t.snapshot
	}
	return nil
}

// List gives the session's snapshot and makes an empty table, under the fresh
// revision, where there is none: limit_exceeded where there are too many. Only a
// controller lists and changes, so a new table is a claimed one.
func (b *Book) List(session, fresh string) (*Snapshot, error) {
	t, err := b.table(session, fresh)
	if err != nil {
		return nil, err
	}
	b.tables[session] = t
	return t.snapshot, nil
}

// table finds the session's table, or makes one that is not in the book yet.
func (b *Book) table(session, fresh string) (*table, error) {
	if t := b.tables[session]; t != nil {
		return t, nil
	}
	if err := bound.RegistrySessions.Check(len(b.tables) + 1); err != nil {
		return nil, err
	}
	return &table{claimed: true, snapshot: &Snapshot{Session: session, Revision: fresh, current: true}}, nil
}

// Fresh are the ids of one change.
type Fresh struct{ Resource, Revision, Registry string }

// Register is the command to create or replace a resource.
type Register struct {
	Session  string
	Expected *string // the revision to replace; nil creates
	Proposal Proposal
	Names    []string // names that the catalog has, in any case
}

// Check says what Apply would refuse before there is content: a stale revision, a
// collision, a full table. It changes nothing.
func (b *Book) Check(r Register) error {
	_, _, err := b.place(r)
	return err
}

// place finds the table and the entry that a registration replaces.
func (b *Book) place(r Register) (*table, *Entry, error) {
	t, err := b.table(r.Session, "")
	if err != nil {
		return nil, nil, err
	}
	if IsReserved(r.Proposal.Name, r.Names) {
		return nil, nil, fault.New(fault.Conflict, "the name is reserved")
	}
	old := t.snapshot.find(func(e *Entry) bool { return e.Descriptor.Name == r.Proposal.Name })
	switch {
	case old == nil && r.Expected != nil:
		return nil, nil, fault.New(fault.Conflict, "there is no such revision")
	case old != nil && (r.Expected == nil || old.Descriptor.RevisionID != *r.Expected):
		return nil, nil, fault.New(fault.Conflict, "the name has another revision")
	case old != nil && old.Descriptor.Kind != r.Proposal.Kind:
		return nil, nil, fault.New(fault.Conflict, "the name is of another kind")
	case old == nil:
		row := bound.RegistryTools
		if r.Proposal.Kind == Skill {
			row = bound.RegistrySkills
		}
		n := 0
		for _, e := range t.snapshot.Entries {
			if e.Descriptor.Kind == r.Proposal.Kind {
				n++
			}
		}
		if err := row.Check(n + 1); err != nil {
			return nil, nil, err
		}
	}
	return t, old, nil
}

// Apply registers captured content and gives the new entry and registry revision.
// All that Check says is checked again, and the accounting.
func (b *Book) Apply(r Register, content *Resource, by Attribution, fresh Fresh) (*Entry, string, error) {
	t, old, err := b.place(r)
	if err != nil {
		return nil, "", err
	}
	e := &Entry{Resource: content, Descriptor: content.describe(r.Proposal, by, fresh)}
	if old != nil {
		e.Descriptor.ResourceID = old.Descriptor.ResourceID
	}
	e.weight = content.weigh(e.Descriptor)
	entries := []*Entry{e}
	for _, other := range t.snapshot.Entries {
		if other != old {
			entries = append(entries, other)
		}
	}
	next, err := b.snapshot(r.Session, fresh.Registry, entries)
	if err != nil {
		return nil, "", err
	}
	if err := b.fits(b.used, next); err != nil {
		return nil, "", err
	}
	b.tables[r.Session] = t
	b.replace(t, next)
	return e, next.Revision, nil
}

// Unregister removes a resource and gives the new registry revision. The faults
// are resource_not_found, conflict and limit_exceeded.
func (b *Book) Unregister(session, resource, expected, fresh string) (string, error) {
	t := b.tables[session]
	if t == nil {
		return "", absent()
	}
	old := t.snapshot.find(func(e *Entry) bool { return e.Descriptor.ResourceID == resource })
	if old == nil {
		return "", absent()
	}
	if old.Descriptor.RevisionID != expected {
		return "", fault.New(fault.Conflict, "the resource has another revision")
	}
	var entries []*Entry
	for _, e := range t.snapshot.Entries {
		if e != old {
			entries = append(entries, e)
		}
	}
	next, err := b.snapshot(session, fresh, entries)
	if err != nil {
		return "", err
	}
	used := b.used
	if t.snapshot.pins == 0 { // what nobody needs makes room for less
		used = used.less(t.snapshot)
	}
	if err := b.fits(used, next); err != nil {
		return "", err
	}
	b.replace(t, next)
	return next.Revision, nil
}

func absent() error { return fault.New(fault.ResourceNotFound, "there is no such resource") }

// Clear removes everything and gives the registry revision, which stays where
// there was nothing, and how many resources there were. A stale expectation is a
// conflict.
func (b *Book) Clear(session, expected, fresh string) (string, int, error) {
	t := b.tables[session]
	if t == nil || t.snapshot.Revision != expected {
		return "", 0, fault.New(fault.Conflict, "the registry has another revision")
	}
	n := len(t.snapshot.Entries)
	if n > 0 {
		b.replace(t, &Snapshot{Session: session, Revision: fresh})
	}
	return t.snapshot.Revision, n, nil
}

// snapshot makes a snapshot that fits a table, not yet a current one.
func (b *Book) snapshot(session, revision string, entries []*Entry) (*Snapshot, error) {
	slices.SortFunc(entries, func(x, y *Entry) int {
		if c := strings.Compare(string(x.Descriptor.Kind), string(y.Descriptor.Kind)); c != 0 {
			return c
		}
		return strings.Compare(x.Descriptor.Name, y.Descriptor.Name)
	})
	s := &Snapshot{Session: session, Revision: revision, Entries: entries}
	var skills []string
	for _, e := range entries {
		s.weight += e.weight
		if e.Descriptor.Kind == Skill {
			skills = append(skills, e.Resource.Text)
		}
	}
	if err := bound.RegistryBytes.Check(s.weight); err != nil {
		return nil, err
	}
	s.Instructions = strings.Join(skills, "\n")
	if err := bound.InstructionBytes.Check(len(s.Instructions)); err != nil {
		return nil, err
	}
	s.weight += len(s.Instructions)
	return s, nil
}

// due is when a table that nobody protects expires.
func due(now time.Time) time.Time { return now.Add(bound.RegistryIdle.Duration()) }
