package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/test/modelsize"
)

// model is a registry as one would write it down on paper.
type model struct {
	book   *registry.Book
	now    time.Time
	fresh  int
	tables map[string]*paper
	pins   []pinned
	seen   map[string]bool // every revision of a registry or resource there ever was
	slot   bool
}

type paper struct {
	revision string
	entries  map[string]registry.Descriptor // by name
	claimed  bool
	idle     time.Time
}

// pinned is a snapshot that a turn holds, and what it looked like then.
type pinned struct {
	snapshot *registry.Snapshot
	was      []registry.Descriptor
	words    string
}

var (
	sessions = []string{"s1", "s2", "s3"}
	names    = []string{"alpha", "beta", "gamma", "delta", "mcp_x", "taken"}
)

func (m *model) id(kind string) string {
	m.fresh++
	return fmt.Sprintf("%s%d", kind, m.fresh)
}

func (m *model) revision() string {
	id := m.id("rev")
	m.seen[id] = true
	return id
}

func (m *model) register(t *rapid.T) {
	session, name := rapid.SampledFrom(sessions).Draw(t, "session"), rapid.SampledFrom(names).Draw(t, "name")
	p := m.tables[session]
	if p == nil || !p.claimed {
		return
	}
	kind := registry.Skill
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		kind = registry.Tool
	}
	old, exists := p.entries[name]
	var expected *string
	switch rapid.IntRange(0, 4).Draw(t, "expected") {
	case 0:
		other := "stale"
		expected = &other
	case 1:
	default:
		if exists {
			expected = &old.RevisionID
		}
	}
	content := strings.Repeat("x", rapid.IntRange(0, 9000).Draw(t, "bytes"))
	if kind == registry.Tool {
		content = `{"input_schema":{"type":"object","additionalProperties":false},"output_schema":{"type":"object","additionalProperties":false}}`
	}
	r := registry.Register{Session: session, Expected: expected, Names: []string{"TAKEN"},
		Proposal: registry.Proposal{Kind: kind, Name: name, Description: rapid.SampledFrom([]string{"", "words"}).Draw(t, "description")}}
	parsed, err := registry.Parse(kind, content)
	if err != nil {
		t.Fatal(err)
	}
	fresh := registry.Fresh{Resource: m.id("res"), Revision: m.revision(), Registry: m.revision()}
	e, revision, err := m.book.Apply(r, parsed, registry.Attribution{OperationID: "o"}, fresh)
	conflict := name == "mcp_x" || name == "taken" ||
		(expected == nil) == exists || exists && *expected != old.RevisionID || exists && old.Kind != kind
	switch {
	case conflict:
		if !fault.Is(err, fault.Conflict) {
			t.Fatalf("%s of %s: %v", name, session, err)
		}
	case err != nil:
		if !fault.Is(err, fault.LimitExceeded) || m.roomy(p) {
			t.Fatalf("%s of %s: %v", name, session, err)
		}
	default:
		want := registry.Descriptor{
			ResourceID: fresh.Resource, RevisionID: fresh.Revision, Kind: kind, Name: name, Description: r.Proposal.Description,
			ContentSHA256: registry.ContentHash(content), RevisionSHA256: registry.RevisionHash(kind, name, r.Proposal.Description, content),
			CapturedBytes: len(content), RegisteredBy: registry.Attribution{OperationID: "o"},
		}
		if exists {
			want.ResourceID = old.ResourceID
			if old.ContentSHA256 == want.ContentSHA256 && (old.RevisionSHA256 == want.RevisionSHA256) != (old.Description == want.Description) {
				t.Fatalf("a change of words: %+v, %+v", old, want)
			}
		}
		if diff := cmp.Diff(want, e.Descriptor); diff != "" || revision != fresh.Registry {
			t.Fatal(diff, revision)
		}
		p.entries[name], p.revision = want, revision
	}
}

// roomy reports that a registration cannot have met a bound of its own table.
func (m *model) roomy(p *paper) bool { return len(p.entries) == 0 && len(m.pins) == 0 && !m.slot }

func (m *model) unregister(t *rapid.T) {
	session := rapid.SampledFrom(sessions).Draw(t, "session")
	name := rapid.SampledFrom(names).Draw(t, "name")
	p := m.tables[session]
	if p == nil {
		return
	}
	d, exists := p.entries[name]
	expected := d.RevisionID
	if rapid.IntRange(0, 4).Draw(t, "stale") == 0 {
		expected = "stale"
	}
	fresh := m.revision()
	got, err := m.book.Unregister(session, d.ResourceID, expected, fresh)
	switch {
	case !exists:
		if !fault.Is(err, fault.ResourceNotFound) {
			t.Fatal(err)
		}
	case expected == "stale":
		if !fault.Is(err, fault.Conflict) {
			t.Fatal(err)
		}
	case err != nil || got != fresh:
		t.Fatal(got, err)
	default:
		delete(p.entries, name)
		p.revision = fresh
	}
}

func (m *model) clear(t *rapid.T) {
	session := rapid.SampledFrom(sessions).Draw(t, "session")
	p := m.tables[session]
	if p == nil {
		return
	}
	fresh := m.revision()
	got, removed, err := m.book.Clear(session, p.revision, fresh)
	want := fresh
	if len(p.entries) == 0 {
		want = p.revision
	}
	if err != nil || got != want || removed != len(p.entries) {
		t.Fatalf("cleared: %s %d %v", got, removed, err)
	}
	p.entries, p.revision = map[string]registry.Descriptor{}, want
	if _, _, err := m.book.Clear(session, "stale", "x"); !fault.Is(err, fault.Conflict) {
		t.Fatal(err)
	}
}

// claim lists as a controller does first.
func (m *model) claim(t *rapid.T) {
	session := rapid.SampledFrom(sessions).Draw(t, "session")
	m.book.Claimed(session)
	fresh := m.revision()
	s, err := m.book.List(session, fresh)
	if err != nil {
		t.Fatal(err)
	}
	p := m.tables[session]
	if p == nil {
		p = &paper{revision: fresh, entries: map[string]registry.Descriptor{}}
		m.tables[session] = p
	}
	p.claimed, p.idle = true, time.Time{}
	if s.Revision != p.revision {
		t.Fatalf("listed %s, want %s", s.Revision, p.revision)
	}
}

func (m *model) unclaim(t *rapid.T) {
	session := rapid.SampledFrom(sessions).Draw(t, "session")
	if p := m.tables[session]; p != nil && p.claimed {
		m.book.Unclaimed(session, m.now)
		p.claimed = false
		m.rest(session)
	}
}

func (m *model) rest(session string) {
	switch p := m.tables[session]; {
	case p == nil || p.claimed:
	case len(p.entries) == 0:
		delete(m.tables, session)
	case m.working(session) == 0:
		p.idle = m.now.Add(bound.RegistryIdle.Duration())
	}
}

func (m *model) working(session string) (n int) {
	for _, p := range m.pins {
		if p.snapshot.Session == session {
			n++
		}
	}
	return n
}

func (m *model) pin(t *rapid.T) {
	session := rapid.SampledFrom(sessions).Draw(t, "session")
	s := m.book.Current(session)
	if s == nil || len(m.pins) == 8 {
		return
	}
	m.book.Pin(s)
	m.book.Work(session)
	m.tables[session].idle = time.Time{}
	m.pins = append(m.pins, pinned{s, s.Descriptors(), s.Instructions})
}

func (m *model) unpin(t *rapid.T) {
	if len(m.pins) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.pins)-1).Draw(t, "pin")
	s := m.pins[i].snapshot
	m.pins = slices.Delete(m.pins, i, i+1)
	m.book.Unpin(s)
	m.book.Rest(s.Session, m.now)
	m.rest(s.Session)
}

func (m *model) capture(t *rapid.T) {
	if rapid.Bool().Draw(t, "begin") {
		free, err := m.book.BeginCapture()
		if free == m.slot || err != nil && m.book.Usage().Bytes+bound.CaptureReserve.Int() <= bound.RetainedBytes.Int() {
			t.Fatal(free, err)
		}
		m.slot = m.slot || err == nil
		return
	}
	m.book.EndCapture()
	m.slot = false
}

func (m *model) pass(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{1, time.Minute, bound.RegistryIdle.Duration() - 1, bound.RegistryIdle.Duration()}).Draw(t, "passes"))
	m.book.Expire(m.now)
	for session, p := range m.tables {
		if !p.idle.IsZero() && !m.now.Before(p.idle) {
			delete(m.tables, session)
		}
	}
}

// check holds the book to the paper, and to its accounts.
func (m *model) check(t *rapid.T) {
	want, counted := registry.Usage{}, map[*registry.Snapshot]bool{}
	count := func(s *registry.Snapshot) {
		if s.Empty() || counted[s] {
			return
		}
		counted[s] = true
		want.Snapshots++
		want.Entries += len(s.Entries)
		want.Bytes += registry.WeightOf(s)
	}
	for _, session := range sessions {
		s, p := m.book.Current(session), m.tables[session]
		if (s == nil) != (p == nil) {
			t.Fatalf("%s: there is a table: %v, want %v", session, s != nil, p != nil)
		}
		if s == nil {
			continue
		}
		var entries []registry.Descriptor
		for _, d := range p.entries {
			entries = append(entries, d)
		}
		slices.SortFunc(entries, func(x, y registry.Descriptor) int {
			return strings.Compare(string(x.Kind)+x.Name, string(y.Kind)+y.Name)
		})
		if diff := cmp.Diff(entries, append([]registry.Descriptor(nil), s.Descriptors()...)); diff != "" || s.Revision != p.revision {
			t.Fatalf("%s: revision %s, want %s; %s", session, s.Revision, p.revision, diff)
		}
		count(s)
	}
	for _, p := range m.pins {
		if diff := cmp.Diff(p.was, p.snapshot.Descriptors()); diff != "" || p.words != p.snapshot.Instructions {
			t.Fatalf("a captured snapshot has changed: %s", diff)
		}
		count(p.snapshot)
	}
	if m.slot {
		want.Bytes += bound.CaptureReserve.Int()
	}
	if got := m.book.Usage(); got != want || got.Bytes > bound.RetainedBytes.Int() {
		t.Fatalf("accounts say %+v, the sum is %+v", got, want)
	}
	m.next(t)
}

// next holds the book to the earliest instant at which a table expires.
func (m *model) next(t *rapid.T) {
	var want time.Time
	for _, p := range m.tables {
		if !p.idle.IsZero() && (want.IsZero() || p.idle.Before(want)) {
			want = p.idle
		}
	}
	if got, ok := m.book.Next(); ok == want.IsZero() || ok && !got.Equal(want) {
		t.Fatalf("next is %v, %v; want %v", got, ok, want)
	}
}

// The registry is its model, whatever happens in whatever order: invariants I2 to
// I4, I6, I7, I9 and I11 after every step.
func TestTheRegistryIsItsModel(t *testing.T) {
	modelsize.Set(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &model{book: registry.New(), now: time.Unix(0, 0), tables: map[string]*paper{}, seen: map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"register": m.register, "again": m.register, "unregister": m.unregister, "clear": m.clear, "claim": m.claim, "unclaim": m.unclaim,
			"pin": m.pin, "unpin": m.unpin, "capture": m.capture, "pass": m.pass, "": m.check,
		})
		for len(m.pins) > 0 {
			m.unpin(t)
		}
		m.book.EndCapture()
		for _, session := range sessions {
			m.book.Unclaimed(session, m.now)
		}
		m.book.Expire(m.now.Add(bound.RegistryIdle.Duration()))
		if got := m.book.Usage(); got != (registry.Usage{}) || m.book.Sessions() != 0 {
			t.Fatalf("in the end there are %d tables and %+v", m.book.Sessions(), got)
		}
	})
}
