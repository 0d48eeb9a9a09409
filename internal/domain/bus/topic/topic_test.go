package topic_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

func TestTopicsHaveAForm(t *testing.T) {
	long := strings.Repeat("a", 64)
	for text, ok := range map[string]bool{
		"a": true, "resource.v1.request.describe": true, "a-b.c_d.0": true, "_ctl.cancel.x": true,
		"a.b.c.d.e.f.g.h": true, "a.b.c.d.e.f.g.h.i": false, long: true, long + "a": false,
		strings.Join([]string{long, long, long, long[:61]}, "."): true, strings.Join([]string{long, long, long, long[:62]}, "."): false,
		"": false, ".": false, "a.": false, ".a": false, "a..b": false, "A": false, "a b": false, "a.*": false, "a.>": false,
		">": false, "*": false, "$SYS": false, "ä": false, "a\x00": false, "a\n": false,
	} {
		got, err := topic.Parse(text)
		if (err == nil) != ok || ok && got.String() != text || !ok && got != (topic.Topic{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestPatternsMatchOneInTheMiddleAndMoreAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		pattern, topic string
		want           bool
	}{
		{"a.*.c", "a.b.c", true}, {"a.*.c", "a.b.b.c", false}, {"a.*", "a.b", true}, {"a.*", "a.b.c", true}, {"a.*", "a", false},
		{"*", "a.b", true}, {"a", "a", true}, {"a", "a.b", false}, {"a.*.*", "a.b", false}, {"a.*.*", "a.b.c.d", true},
	} {
		p, err := topic.ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Matches(parse(t, c.topic)); got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.topic, got)
		}
	}
	if (topic.Pattern{}).Matches(parse(t, "a")) {
		t.Error("no pattern matches something")
	}
}

// A wide pattern would take in what only the broker, or only another source, may
// say (bus page, section 3).
func TestClaimsReachWhatIsTheHostsOnlyByName(t *testing.T) {
	for _, c := range []struct {
		publish, subscribe []string
		want               fault.Code
	}{
		{[]string{"resource.v1.response.describe.*", "resource.v1.response.read.*"}, []string{"resource.v1.request.describe", "resource.v1.request.read"}, ""},
		{[]string{"notes.changed"}, []string{"notes.*", "a.*.b"}, ""},
		{[]string{"*"}, nil, fault.CapabilityDenied},
		{[]string{"*.v1.request.read"}, nil, fault.CapabilityDenied},
		{[]string{"resource.*"}, nil, fault.CapabilityDenied},
		{[]string{"resource.v1.request.describe"}, nil, fault.CapabilityDenied},
		{[]string{"resource.v1.response.describe.somebody"}, nil, fault.CapabilityDenied},
		{[]string{"astrid.v1.response.x"}, nil, fault.CapabilityDenied},
		{nil, []string{"resource.v1.response.*"}, fault.CapabilityDenied},
		{nil, []string{"*"}, fault.CapabilityDenied},
		{nil, []string{"_ctl.cancel.*"}, fault.CapabilityDenied},
		{[]string{"a b"}, nil, fault.InvalidRequest},
		{slices.Repeat([]string{"a"}, 65), nil, fault.TooLarge},
	} {
		_, err := topic.ParseClaim(c.publish, c.subscribe)
		if got := code(err); got != c.want {
			t.Errorf("%q %q: %v", c.publish, c.subscribe, err)
		}
	}
}

func TestSourcesOutliveBuildsAndBelongToATenant(t *testing.T) {
	a := topic.SourceOf("tenant", "notes", "acme")
	if a != topic.SourceOf("tenant", "notes", "acme") || a.IsZero() {
		t.Error("a source does not follow from its names")
	}
	for _, other := range []topic.Source{
		topic.SourceOf("other", "notes", "acme"), topic.SourceOf("tenant", "note", "sacme"), topic.SourceOf("tenant", "acme", "notes"), topic.Broker(),
	} {
		if other == a {
			t.Error("two capsules share a source")
		}
	}
}

func TestARuntimeSpeaksForItselfOnly(t *testing.T) {
	alice, bob := topic.PrincipalOf(id.New[id.Owner]()), topic.PrincipalOf(id.New[id.Owner]())
	me, other := topic.SourceOf("t", "me", ""), topic.SourceOf("t", "other", "")
	claim, err := topic.ParseClaim([]string{"resource.v1.response.describe.*", "resource.v1.response.read.*", "notes.*"},
		[]string{"resource.v1.request.*", "notes.*"})
	if err != nil {
		t.Fatal(err)
	}
	rights := topic.RuntimeRights(alice, me, claim)
	for _, c := range []struct {
		principal topic.Principal
		source    topic.Source
		topic     string
		want      bool
	}{
		{alice, me, "resource.v1.response.describe." + me.String(), true},
		{alice, me, "resource.v1.response.describe." + other.String(), false},
		{alice, other, "resource.v1.response.describe." + other.String(), false},
		{bob, me, "resource.v1.response.describe." + me.String(), false},
		{alice, me, "resource.v1.response.read.abc", true},
		{alice, me, "resource.v1.response.read.abc.d", false},
		{alice, me, "resource.v1.request.describe", false},
		{alice, me, "notes.a.b", true},
		{alice, me, "mail.a", false},
		{alice, topic.Broker(), "resource.v1.request.describe", false},
	} {
		err := rights.CheckPublish(topic.Subject{Principal: c.principal, Source: c.source, Topic: parse(t, c.topic)})
		if (err == nil) != c.want || err != nil && !fault.Is(err, fault.CapabilityDenied) {
			t.Errorf("%s: %v", c.topic, err)
		}
	}
	f := topic.Answers(alice)
	if rights.CheckSubscribe(f) == nil {
		t.Errorf("a capsule may read %s", f)
	}
	if err := topic.BrokerRights(alice).CheckSubscribe(f); err != nil {
		t.Errorf("the broker may not read %s", f)
	}
}

// What covers a filter matches all that the filter matches; what does not cover
// it misses something of it.
func TestCoversIsSubset(t *testing.T) {
	principal := topic.PrincipalOf(id.New[id.Owner]())
	source := topic.SourceOf("t", "x", "")
	filters := func(t *rapid.T, label string) topic.Filter {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "c", "*"}), 1, 3).Draw(t, label), ".")
		claim, err := topic.ParseClaim(nil, []string{"q." + text})
		if err != nil {
			t.Fatal(err)
		}
		return topic.RuntimeRights(principal, source, claim).Subscribe[0]
	}
	var all []topic.Subject
	var grow func(prefix string, depth int)
	grow = func(prefix string, depth int) {
		parsed, err := topic.Parse(prefix)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, topic.Subject{Principal: principal, Source: source, Topic: parsed})
		for _, s := range []string{"a", "c", "d"} {
			if depth > 0 {
				grow(prefix+"."+s, depth-1)
			}
		}
	}
	grow("q", 5)
	rapid.Check(t, func(t *rapid.T) {
		wide, narrow := filters(t, "wide"), filters(t, "narrow")
		subset := !slices.ContainsFunc(all, func(s topic.Subject) bool { return narrow.Matches(s) && !wide.Matches(s) })
		if got := wide.Covers(narrow); got != subset {
			t.Fatalf("%s covers %s: %v", wide, narrow, got)
		}
	})
}

func FuzzSubject(f *testing.F) {
	p, s := topic.PrincipalOf(id.New[id.Owner]()).String(), topic.SourceOf("t", "n", "p").String()
	for _, seed := range []string{
		"b." + p + "." + s + ".resource.v1.response.read.x", "b." + p + "._broker.a", "b.*." + s + ".a", "b." + p + "." + s + ".>", "b.." + s + ".a",
		"b." + p + "." + s, "c." + p + "." + s + ".a", "b." + strings.ToUpper(p) + "." + s + ".a", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := topic.ParseSubject(text)
		if err != nil {
			if got != (topic.Subject{}) {
				t.Errorf("a refused subject gives %v", got)
			}
			return
		}
		if got.String() != text || strings.ContainsAny(text, "*> ") || got.Principal.IsZero() || got.Source.IsZero() {
			t.Errorf("%q is read as %q", text, got)
		}
	})
}

func parse(t *testing.T, text string) topic.Topic {
	t.Helper()
	got, err := topic.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}
