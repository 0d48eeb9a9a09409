package describe_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

var (
	start = time.Unix(1_800_000_000, 0)
	alice = topic.PrincipalOf(id.New[id.Owner]())
	bob   = topic.PrincipalOf(id.New[id.Owner]())
)

func member(name string, order int64) describe.Member {
	return describe.Member{Source: topic.SourceOf("t", name, ""), Name: name, Order: order, Since: start.Add(-time.Hour)}
}

func reply(m describe.Member, round string, uris ...string) describe.Reply {
	r := describe.Reply{Principal: alice, Source: m.Source, Suffix: m.Source.String(), Round: round, Count: len(uris), Bytes: 100}
	for _, uri := range uris {
		r.Definitions = append(r.Definitions, describe.Definition{URI: uri, Name: uri})
	}
	return r
}

func uris(r describe.Result) (out []string) {
	for _, l := range r.Listed {
		out = append(out, l.URI)
	}
	return out
}

func TestARoundEndsWhenAllHaveAnsweredOrTheWindowCloses(t *testing.T) {
	a, b := member("a", 1), member("b", 2)
	r := describe.Start(alice, "r1", []describe.Member{a, b}, start)
	if r.Done(start) || r.Deadline() != start.Add(500*time.Millisecond) {
		t.Fatalf("done at once, or a window until %v", r.Deadline())
	}
	r.Accept(reply(a, "r1", "n:1"))
	if r.Done(start.Add(499 * time.Millisecond)) {
		t.Error("silence ended the round")
	}
	if !r.Done(start.Add(500 * time.Millisecond)) {
		t.Error("the window never closes")
	}
	got := r.Result()
	if got.Complete || len(got.Missing) != 1 || got.Missing[0].Name != "b" || !slices.Equal(uris(got), []string{"n:1"}) {
		t.Errorf("an incomplete round gives %+v", got)
	}
	r.Accept(reply(b, "r1"))
	if got := r.Result(); !r.Done(start) || !got.Complete || len(got.Missing) != 0 {
		t.Errorf("a whole round gives %+v", got)
	}
	if empty := describe.Start(alice, "r2", nil, start); !empty.Done(start) || !empty.Result().Complete {
		t.Error("a round of nobody waits")
	}
}

func TestTheWindowIsLongerWhileAMemberIsYoungOrWarmsUp(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{
		0: 2500 * time.Millisecond, 4999 * time.Millisecond: 2500 * time.Millisecond, 5 * time.Second: 500 * time.Millisecond,
	} {
		m := member("a", 1)
		m.Since = start.Add(-age)
		if got := describe.Start(alice, "r", []describe.Member{member("b", 2), m}, start).Deadline().Sub(start); got != want {
			t.Errorf("age %v: %v", age, got)
		}
	}
	m := member("a", 1)
	m.Warming = true // for an hour by now
	if got := describe.Start(alice, "r", []describe.Member{member("b", 2), m}, start).Deadline().Sub(start); got != 2500*time.Millisecond {
		t.Errorf("while one warms up: %v", got)
	}
}

// A70 to A74, and the list of the bus page, section 8.
func TestWhatDoesNotCountIsDroppedWithAReason(t *testing.T) {
	a, stranger := member("a", 1), member("stranger", 2)
	for _, c := range []struct {
		name   string
		change func(*describe.Reply)
		want   describe.Reason
	}{
		{"another principal", func(r *describe.Reply) { r.Principal = bob }, describe.ForeignPrincipal},
		{"nobody", func(r *describe.Reply) { r.Principal = topic.Principal{} }, describe.ForeignPrincipal},
		{"not a member", func(r *describe.Reply) { r.Source, r.Suffix = stranger.Source, stranger.Source.String() }, describe.UnknownSource},
		{"under another's id", func(r *describe.Reply) { r.Suffix = stranger.Source.String() }, describe.ForeignSuffix},
		{"of an old round", func(r *describe.Reply) { r.Round = "r0" }, describe.StaleRound},
		{"of no round", func(r *describe.Reply) { r.Round = "" }, describe.StaleRound},
		{"unreadable", func(r *describe.Reply) { r.Err = fault.New(fault.InvalidRequest, "x") }, describe.Malformed},
		{"too many", func(r *describe.Reply) { r.Count = 257 }, describe.OverCap},
		{"too long", func(r *describe.Reply) { r.Bytes = 1<<20 + 1 }, describe.OverCap},
	} {
		r := describe.Start(alice, "r1", []describe.Member{a}, start)
		bad := reply(a, "r1", "n:1")
		c.change(&bad)
		drop, ok := r.Accept(bad)
		if ok || drop.Reason != c.want || drop.Source != bad.Source {
			t.Errorf("%s: %+v, %v", c.name, drop, ok)
		}
		if got := r.Result(); len(got.Listed) != 0 || got.Complete || len(got.Drops) != 1 {
			t.Errorf("%s: the result is %+v", c.name, got)
		}
	}
	r := describe.Start(alice, "r1", []describe.Member{a}, start)
	r.Accept(reply(a, "r1", "n:1"))
	if drop, ok := r.Accept(reply(a, "r1", "n:2")); ok || drop.Reason != describe.Duplicate {
		t.Errorf("a second answer: %+v", drop)
	}
	if got := uris(r.Result()); !slices.Equal(got, []string{"n:1"}) {
		t.Errorf("a second answer changed the list: %v", got)
	}
}

// A72, I82: the operator's order decides, whatever arrives first.
func TestTheResultDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "members")
		var members []describe.Member
		var replies []describe.Reply
		for i := range n {
			m := member(fmt.Sprint("m", i), int64(rapid.IntRange(0, 2).Draw(t, "order")))
			members = append(members, m)
			list := rapid.SliceOfN(rapid.SampledFrom([]string{"n:a", "n:b", "n:c", "n:/", "N:a"}), 0, 4).Draw(t, "uris")
			replies = append(replies, reply(m, "r", list...))
		}
		run := func(order []int) describe.Result {
			r := describe.Start(alice, "r", rapid.Permutation(members).Draw(t, "members"), start)
			for _, i := range order {
				r.Accept(replies[i])
			}
			got := r.Result()
			got.Drops = nil // in the order of arrival
			return got
		}
		index := make([]int, n)
		for i := range index {
			index[i] = i
		}
		one, two := run(index), run(rapid.Permutation(index).Draw(t, "arrival"))
		if diff := cmp.Diff(one, two, cmp.Comparer(func(a, b topic.Source) bool { return a == b })); diff != "" {
			t.Fatal(diff)
		}
		if list := uris(one); !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) || !one.Complete {
			t.Fatalf("not a sorted set: %v", list)
		}
		for _, c := range one.Collisions {
			if owner, _ := one.Owner(c.URI); owner != c.Winner {
				t.Fatalf("%s is owned by %v and won by %v", c.URI, owner, c.Winner)
			}
			for _, m := range members {
				if slices.Contains(c.Losers, m.Source) && m.Compare(members[slices.IndexFunc(members, func(o describe.Member) bool { return o.Source == c.Winner })]) < 0 {
					t.Fatalf("%s lost against a newcomer", m.Name)
				}
			}
		}
	})
}

func TestCapsOverAllMembersAreNeverSilent(t *testing.T) {
	elder, newcomer := member("elder", 1), member("newcomer", 2)
	members := []describe.Member{newcomer, elder}
	many := func(prefix string, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%s:%03d", prefix, i))
		}
		return out
	}
	r := describe.Start(alice, "r", append(members, member("third", 3)), start)
	r.Accept(reply(member("third", 3), "r", many("t", 1)...))
	r.Accept(reply(newcomer, "r", many("n", 256)...))
	r.Accept(reply(elder, "r", many("e", 256)...))
	got := r.Result()
	if got.Complete || len(got.Listed) != 512 || len(got.Drops) != 1 || got.Drops[0].Source != member("third", 3).Source || got.Drops[0].Reason != describe.OverCap {
		t.Errorf("513 resources: complete %v, %d, %+v", got.Complete, len(got.Listed), got.Drops)
	}
	r = describe.Start(alice, "r", append(members, member("third", 3)), start)
	for _, m := range []describe.Member{member("third", 3), newcomer, elder} {
		big := reply(m, "r", m.Name+":x")
		big.Bytes = 1 << 20
		r.Accept(big)
	}
	if got := r.Result(); got.Complete || !slices.Equal(uris(got), []string{"elder:x", "newcomer:x"}) {
		t.Errorf("3 MiB: complete %v, %v", got.Complete, uris(got))
	}
	r = describe.Start(alice, "r", members, start)
	r.Accept(reply(newcomer, "r"))
	r.Accept(reply(elder, "r"))
	r.Lost(3)
	if got := r.Result(); got.Complete {
		t.Error("a lossy round is called complete") // I83
	}
}

func TestAMemberThatEndedIsNotWaitedFor(t *testing.T) {
	a, b := member("a", 1), member("b", 2)
	r := describe.Start(alice, "r", []describe.Member{a, b}, start)
	r.Accept(reply(a, "r", "n:1"))
	r.Leave(b.Source)
	r.Leave(a.Source) // it has answered
	if got := r.Result(); !r.Done(start) || got.Complete || len(got.Missing) != 1 || len(got.Listed) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestURIsAreOpaqueAndNeverClimb(t *testing.T) {
	for uri, ok := range map[string]bool{
		"notes:a": true, "notes://a/b": true, "n:": true, "a+b-c.d:x": true, "notes:a b": true, "n:...": true, "n:..a/b..": true, "n:/%2fx": true,
		"n:" + strings.Repeat("x", 2046): true, "n:" + strings.Repeat("x", 2047): false,
		"": false, "notes": false, ":x": false, "1n:x": false, "n\n:x": false, "n:\x00": false, "n:\x7f": false, "n:\u0085": false, "n:\xff": false,
		"n:..": false, "n:../x": false, "n://a/..": false, "n:/a/../b": false, "n:a\\..\\b": false, "n:/%2e%2e/x": false, "n:/.%2E/x": false,
		"n:%2f..%2fx": false, "n:a?..": false, "n:a%5C..": false,
	} {
		if err := describe.CheckURI(uri); (err == nil) != ok {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

func TestDefinitionsAreAdmittedAtTheirLimit(t *testing.T) {
	good := func() describe.Definition { return describe.Definition{URI: "n:a", Name: "a"} }
	text := func(n int) *string { s := strings.Repeat("x", n); return &s }
	for _, c := range []struct {
		name   string
		change func(*describe.Definition, int)
		limit  int
	}{
		{"name", func(d *describe.Definition, n int) { d.Name = *text(n) }, bound.ServedTextBytes.Int()},
		{"title", func(d *describe.Definition, n int) { d.Title = text(n) }, bound.ServedTextBytes.Int()},
		{"description", func(d *describe.Definition, n int) { d.Description = text(n) }, bound.ServedTextBytes.Int()},
		{"icons", func(d *describe.Definition, n int) { d.Icons = slices.Repeat([]describe.Icon{{Src: "https://a/b"}}, n) }, bound.ResourceIcons.Int()},
		{"icon", func(d *describe.Definition, n int) { d.Icons = []describe.Icon{{Src: "data:" + *text(n - 5)}} }, bound.ResourceIconBytes.Int()},
		{"meta", func(d *describe.Definition, n int) { d.Meta = strictjson.Raw(`{"a":"` + *text(n - 8) + `"}`) }, bound.ResourceMetaBytes.Int()},
	} {
		at, over := good(), good()
		c.change(&at, c.limit)
		c.change(&over, c.limit+1)
		if _, err := describe.Admit(at); err != nil {
			t.Errorf("%s at its limit: %v", c.name, err)
		}
		if _, err := describe.Admit(over); err == nil {
			t.Errorf("%s over its limit passes", c.name)
		}
	}
	for name, change := range map[string]func(*describe.Definition){
		"no name":      func(d *describe.Definition) { d.Name = "" },
		"http icon":    func(d *describe.Definition) { d.Icons = []describe.Icon{{Src: "http://a/b"}} },
		"audience":     func(d *describe.Definition) { d.Audience = []string{"owner"} },
		"meta no map":  func(d *describe.Definition) { d.Meta = strictjson.Raw(`[]`) },
		"script icon":  func(d *describe.Definition) { d.Icons = []describe.Icon{{Src: "javascript:x"}} },
		"theme":        func(d *describe.Definition) { d.Icons = []describe.Icon{{Src: "https://a", Theme: text(1)}} },
		"invalid text": func(d *describe.Definition) { s := "\xff"; d.Title = &s },
	} {
		d := good()
		change(&d)
		if _, err := describe.Admit(d); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestWhatIsOddInADefinitionIsMended(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	text := func(s string) *string { return &s }
	d := describe.Definition{URI: "n:a", Name: "a", Priority: number(7), LastModified: text("yesterday"),
		Meta: strictjson.Raw(`{"io.modelcontextprotocol/x":1,"mcp/y":2,"dev.mcp/z":3,"acme.example/ok":{"a":1.50},"plain":4}`)}
	got, err := describe.Admit(d)
	if err != nil {
		t.Fatal(err)
	}
	want := describe.Definition{URI: "n:a", Name: "a", Priority: number(1), Meta: strictjson.Raw(`{"acme.example/ok":{"a":1.50},"plain":4}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := describe.Admit(describe.Definition{URI: "n:a", Name: "a", Priority: number(math.NaN())}); err != nil || got.Priority != nil {
		t.Errorf("a priority that is no number is %v, %v", got.Priority, err)
	}
	for in, want := range map[float64]float64{-1: 0, 0.5: 0.5, math.Inf(1): 1} {
		got, err := describe.Admit(describe.Definition{URI: "n:a", Name: "a", Priority: number(in), LastModified: text("2026-11-30T12:00:00Z")})
		if err != nil || *got.Priority != want || got.LastModified == nil {
			t.Errorf("priority %v is %v", in, got.Priority)
		}
	}
}

// What a client is shown of a resource is told apart, each part of it; who serves it is
// not shown.
func TestAnyChangeThatIsShownIsAnotherDigest(t *testing.T) {
	text, size, priority := func(s string) *string { return &s }, uint32(1), 0.5
	whole := func() describe.Listed {
		return describe.Listed{Definition: describe.Definition{URI: "n:a", Name: "a", Title: text("t"), Description: text("d"), MimeType: text("m"), Size: &size,
			Audience: []string{"user"}, Priority: &priority, LastModified: text("2026-11-30"), Meta: strictjson.Raw(`{"x":1}`),
			Icons: []describe.Icon{{Src: "https://a", MimeType: text("image/png"), Sizes: []string{"any"}, Theme: text("dark")}}}, Capsule: "c"}
	}
	sum := func(change func(*describe.Listed)) string {
		l := whole()
		change(&l)
		return describe.Result{Listed: []describe.Listed{l}}.Digest().String()
	}
	same := sum(func(*describe.Listed) {})
	if sum(func(l *describe.Listed) { l.Capsule, l.Owner = "other", topic.SourceOf("t", "other", "") }) != same {
		t.Error("another capsule with the same resources is another digest")
	}
	seen := map[string]string{same: "nothing"}
	other, more := uint32(2), 0.75
	for name, change := range map[string]func(*describe.Listed){
		"uri":         func(l *describe.Listed) { l.URI = "n:b" },
		"name":        func(l *describe.Listed) { l.Name = "b" },
		"title":       func(l *describe.Listed) { l.Title = nil },
		"description": func(l *describe.Listed) { l.Description = text("e") },
		"type":        func(l *describe.Listed) { l.MimeType = text("n") },
		"size":        func(l *describe.Listed) { l.Size = &other },
		"audience":    func(l *describe.Listed) { l.Audience = []string{"assistant"} },
		"priority":    func(l *describe.Listed) { l.Priority = &more },
		"no priority": func(l *describe.Listed) { l.Priority = nil },
		"modified":    func(l *describe.Listed) { l.LastModified = text("2026-12-01") },
		"meta":        func(l *describe.Listed) { l.Meta = nil },
		"icon":        func(l *describe.Listed) { l.Icons[0].Src = "https://b" },
		"icon type":   func(l *describe.Listed) { l.Icons[0].MimeType = nil },
		"icon sizes":  func(l *describe.Listed) { l.Icons[0].Sizes = []string{"any", "1x1"} },
		"icon theme":  func(l *describe.Listed) { l.Icons[0].Theme = text("light") },
		"no icon":     func(l *describe.Listed) { l.Icons = nil },
	} {
		got := sum(change)
		if before, twice := seen[got]; twice {
			t.Errorf("another %s is the digest of another %s", name, before)
		}
		seen[got] = name
	}
}

func BenchmarkRoundOf100(b *testing.B) {
	var members []describe.Member
	var replies []describe.Reply
	for i := range 100 {
		m := member(fmt.Sprint(i), int64(i))
		members = append(members, m)
		replies = append(replies, reply(m, "r", fmt.Sprintf("n:%d/a", i), fmt.Sprintf("n:%d/b", i)))
	}
	for b.Loop() {
		r := describe.Start(alice, "r", members, start)
		for _, one := range replies {
			r.Accept(one)
		}
		r.Result()
	}
}
