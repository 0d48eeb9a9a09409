package broker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/test/modelsize"
)

// The model is what two sentences say: a list is the union of what the live and
// answering capsules of that principal serve, each URI from the first of them in
// the operator's order; a read gives that capsule's text or fails. Random
// capsules of two principals come, go, fall silent, are slow, collide and forge,
// and after each step the broker has to agree (R19; I78, I80 to I83, I85).
func TestTheBrokerIsTheModel(t *testing.T) {
	modelsize.Set(t)
	rapid.Check(t, func(rt *rapid.T) {
		var caught any // rapid ends an attempt with a panic, which must leave the bubble first
		synctest.Test(t, func(t *testing.T) {
			defer func() { caught = recover() }()
			m := &model{wire: newWire(t), t: t}
			for range rapid.IntRange(1, 25).Draw(rt, "steps") {
				m.step(rt)
			}
		})
		if caught != nil {
			panic(caught)
		}
	})
}

type model struct {
	*wire
	t         *testing.T // of the bubble
	installed int
}

var served = []string{"n:1", "n:2", "n:3"}

func (m *model) step(t *rapid.T) {
	p := rapid.SampledFrom([]topic.Principal{alice, bob}).Draw(t, "principal")
	mine := m.of(p)
	switch rapid.SampledFrom([]string{"install", "list", "list", "read", "read", "unload", "silence", "slow", "forge", "wait"}).Draw(t, "do") {
	case "install":
		if len(mine) < 5 {
			m.installed++
			c := warm(fmt.Sprint("c", m.installed), p, int64(m.installed), rapid.SliceOfNDistinct(rapid.SampledFrom(served), 0, 3, rapid.ID).Draw(t, "serves")...)
			m.mu.Lock()
			m.capsules = append(m.capsules, c)
			m.mu.Unlock()
			m.Joined(p)
		}
	case "unload":
		if len(mine) > 0 {
			c := rapid.SampledFrom(mine).Draw(t, "who")
			m.mu.Lock()
			m.capsules = slices.DeleteFunc(m.capsules, func(o *capsule) bool { return o == c })
			m.mu.Unlock()
			m.Left(p, c.Source)
		}
	case "silence":
		if len(mine) > 0 {
			c := rapid.SampledFrom(mine).Draw(t, "who")
			c.deaf = !c.deaf
			<-time.After(6 * time.Second) // what was listed before is not relied on any more
		}
	case "slow":
		if len(mine) > 0 {
			rapid.SampledFrom(mine).Draw(t, "who").after = time.Duration(rapid.IntRange(0, 499).Draw(t, "ms")) * time.Millisecond
		}
	case "forge":
		m.forge(t, p)
	case "wait":
		<-time.After(time.Duration(rapid.IntRange(1, 8000).Draw(t, "ms")) * time.Millisecond)
	case "list":
		m.list(t, p)
	case "read":
		m.readOne(t, p, rapid.SampledFrom(served).Draw(t, "uri"))
	}
}

// forge says something in the name of a capsule to whoever may listen, while a
// list and a read of the principal are open.
func (m *model) forge(t *rapid.T, p topic.Principal) {
	all := append(m.of(alice), m.of(bob)...)
	if len(all) == 0 {
		return
	}
	liar := rapid.SampledFrom(all).Draw(t, "liar")
	lie := warm("liar", liar.owner, 0, "n:forged", "n:1")
	lie.Source = rapid.SampledFrom([]topic.Source{liar.Source, topic.SourceOf("t", "nobody", "")}).Draw(t, "as")
	time.AfterFunc(time.Millisecond, func() {
		m.mu.Lock()
		rounds := slices.Clone(m.describes)
		m.mu.Unlock()
		for _, round := range append(rounds[max(0, len(rounds)-2):], "guessed") {
			r := lie.describe(round)
			if lie.Source == liar.Source && round != "guessed" {
				r.Suffix = "other" // only its own id makes an answer, and that it may give itself
			}
			m.Described(r)
		}
		m.WasRead(lie.read("guessed", "n:1", "forged"))
	})
	m.list(t, p)
}

func (m *model) list(t *rapid.T, p topic.Principal) {
	got, err := m.List(m.t.Context(), p)
	want, missing := m.expect(p)
	if err != nil || got.Complete != (missing == 0) || len(got.Missing) != missing {
		t.Fatalf("complete %v, missing %d of %d, %v", got.Complete, len(got.Missing), missing, err)
	}
	if list := uris(got); !slices.IsSorted(list) || len(list) != len(want) {
		t.Fatalf("listed %q, want %v", list, want)
	}
	for uri, c := range want {
		if owner, _ := got.Owner(uri); owner != c.Source {
			t.Fatalf("%s is owned by %v, not %s", uri, owner, c.Name)
		}
	}
	for _, l := range got.Listed {
		if strings.Contains(l.URI, "forged") {
			t.Fatal("a forged resource is listed")
		}
	}
}

// expect is the model's list.
func (m *model) expect(p topic.Principal) (owners map[string]*capsule, missing int) {
	owners = map[string]*capsule{}
	mine := m.of(p)
	slices.SortFunc(mine, func(a, b *capsule) int { return a.Compare(b.Member) })
	for _, c := range mine {
		if c.deaf {
			missing++
			continue
		}
		for _, uri := range c.serves {
			if owners[uri] == nil {
				owners[uri] = c
			}
		}
	}
	return owners, missing
}

func (m *model) readOne(t *rapid.T, p topic.Principal, uri string) {
	contents, err := m.Read(m.t.Context(), asker(p), uri)
	want, _ := m.expect(p)
	c := want[uri]
	switch {
	case c == nil && !fault.Is(err, fault.NotFound):
		t.Fatalf("%s of nobody: %v, %v", uri, contents, err)
	case c != nil && (err != nil || len(contents.Contents) != 1 || contents.Contents[0].Text != c.Name):
		t.Fatalf("%s of %s: %v, %v", uri, c.Name, contents, err)
	case err != nil && contents.Contents != nil:
		t.Fatalf("a failed read has contents")
	}
	synctest.Wait() // what came too late is told beside the answer
	for _, e := range m.events {
		if e.Principal != alice && e.Principal != bob {
			t.Fatalf("an event of nobody: %+v", e)
		}
	}
}
