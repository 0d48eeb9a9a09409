package library_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/faces/mcp/library"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/broker"
)

// shelf is a bus and a store that a test writes on.
type shelf struct {
	*library.Library
	mu     sync.Mutex
	may    map[id.Client][]string
	served describe.Result
	fails  error
	lists  int
	found  broker.Found
	reads  []string
}

func newShelf() *shelf {
	s := &shelf{may: map[id.Client][]string{}, served: describe.Result{Complete: true}}
	s.Library = library.New(library.Ports{
		Readable: func(_ context.Context, c authority.Caller) (out []view.Readable, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, name := range s.may[c.Client] {
				out = append(out, view.Readable{Capsule: name})
			}
			return out, nil
		},
		List: func(context.Context, topic.Principal) (describe.Result, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lists++
			return s.served, s.fails
		},
		Read: func(_ context.Context, who broker.Asker, uri string) (broker.Found, error) {
			if who.Ingress != broker.Face || who.Principal.IsZero() || !who.May("notes") || who.May("mail") {
				return broker.Found{}, fault.New(fault.Internal, "the door says something else")
			}
			return s.found, s.fails
		},
		WasRead: func(_ authority.Caller, _ id.Resource, outcome string) { s.reads = append(s.reads, outcome) },
	})
	return s
}

func (s *shelf) serve(complete bool, pairs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = describe.Result{Complete: complete}
	for i := 0; i < len(pairs); i += 2 {
		s.served.Listed = append(s.served.Listed, describe.Listed{Definition: describe.Definition{URI: pairs[i], Name: pairs[i]}, Capsule: pairs[i+1]})
	}
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

func (s *shelf) allow(c authority.Caller, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.may[c.Client] = names
}

func app() authority.Caller {
	return authority.Caller{Owner: id.New[id.Owner](), Client: id.New[id.Client](), Audience: authority.ForMCP}
}

func TestAnAppListsTheCapsulesThatItMayRead(t *testing.T) {
	s, c := newShelf(), app()
	s.serve(true, "notes:a", "notes", "mail:a", "mail")
	for want, may := range map[string][]string{
		`[]`: nil, `[{"uri":"notes:a","name":"notes:a"}]`: {"notes"}, `[{"uri":"notes:a","name":"notes:a"},{"uri":"mail:a","name":"mail:a"}]`: {"mail", "notes"},
	} {
		s.allow(c, may...)
		if got, _, err := s.List(t.Context(), c); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v", may, got, err)
		}
	}
	s.allow(c)
	s.lists = 0
	if _, _, err := s.List(t.Context(), c); err != nil || s.lists != 0 {
		t.Error("capsules were asked for who may read none")
	}
}

// BF1: a list that is not whole says so, of what its reader may know.
func TestAListSaysWhatItLacks(t *testing.T) {
	s, c := newShelf(), app()
	s.allow(c, "notes", "clock")
	for _, round := range []struct {
		found describe.Result
		want  string
	}{
		{describe.Result{Complete: true}, ""},
		{describe.Result{Missing: []describe.Member{{Name: "notes", Warming: true}, {Name: "mail"}, {Name: "clock"}}},
			`"io.github.stewardhost/incomplete":{"cut":false,"missing":[{"capsule":"notes","why":"warming"},{"capsule":"clock","why":"silent"}]}`},
		{describe.Result{Missing: []describe.Member{{Name: "mail"}}}, ""},
		{describe.Result{Cut: true}, `"io.github.stewardhost/incomplete":{"cut":true,"missing":[]}`},
	} {
		s.served = round.found
		if list, lacks, err := s.List(t.Context(), c); err != nil || string(list) != "[]" || string(lacks) != round.want {
			t.Errorf("%+v: %s, %s, %v", round.found, list, lacks, err)
		}
	}
}

func TestResourcesAndContentsHaveTheFormOfMCP(t *testing.T) {
	text := func(s string) *string { return &s }
	size, priority := uint32(7), 0.25
	s, c := newShelf(), app()
	s.allow(c, "notes")
	s.served.Listed = []describe.Listed{{Capsule: "notes", Definition: describe.Definition{
		URI: "notes:a", Name: `a"b`, Title: text("t"), Description: text("d\n"), MimeType: text("text/plain"), Size: &size, Audience: []string{"user", "assistant"},
		Priority: &priority, LastModified: text("2026-11-30"), Meta: strictjson.Raw(`{"x":1}`),
		Icons: []describe.Icon{{Src: "https://a"}, {Src: "data:x", MimeType: text("image/png"), Sizes: []string{"any", "1x1"}, Theme: text("dark")}},
	}}, {Capsule: "notes", Definition: describe.Definition{URI: "notes:b", Name: "b", LastModified: text("2026-11-30")}}}
	want := `[{"uri":"notes:a","name":"a\"b","title":"t","description":"d\n","mimeType":"text/plain","size":7,` +
		`"annotations":{"audience":["user","assistant"],"priority":0.25,"lastModified":"2026-11-30"},` +
		`"icons":[{"src":"https://a"},{"src":"data:x","mimeType":"image/png","sizes":["any","1x1"],"theme":"dark"}],"_meta":{"x":1}},` +
		`{"uri":"notes:b","name":"b","annotations":{"lastModified":"2026-11-30"}}]`
	if got, _, err := s.List(t.Context(), c); err != nil || string(got) != want || strictjson.Check(got, strictjson.Limits{}) != nil {
		t.Errorf("%s, %v", got, err)
	}
	s.found = broker.Found{Capsule: "notes", Contents: []read.Content{
		{URI: "notes:a", MimeType: text("image/png"), Text: "x\u2028"}, {URI: "notes:a#2", Blob: []byte{0, 255}, Meta: strictjson.Raw(`{}`)}, {URI: "notes:a#3", Blob: []byte{}}}}
	want = `[{"uri":"notes:a","mimeType":"image/png","text":"x` + "\u2028" + `"},{"uri":"notes:a#2","blob":"AP8=","_meta":{}},{"uri":"notes:a#3","blob":""}]`
	if got, err := s.Read(t.Context(), c, "notes:a"); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// I81: a read that fails is an error, with the number of its revision.
func TestFailuresAreErrorsOfTheirRevision(t *testing.T) {
	s, c := newShelf(), app()
	s.allow(c, "notes")
	for code, want := range map[fault.Code][frame.Eras]int{
		fault.NotFound: {-32002, -32602}, fault.TimedOut: {-32603, -32603}, fault.UpstreamFailed: {-32603, -32603},
		fault.TooLarge: {-32603, -32603}, fault.CapabilityDenied: {-32603, -32603}, fault.RateLimited: {-32603, -32603},
	} {
		s.fails = fault.New(code, "why")
		got, err := s.Read(t.Context(), c, "notes:a")
		if err == nil || got != nil || s.reads[len(s.reads)-1] != string(code) {
			t.Errorf("%s: %s, %v, recorded %q", code, got, err, s.reads)
		}
		for era, number := range want {
			if p := library.Problem(err, frame.Era(era)); p.Code != number || !strings.Contains(p.Message, "why") {
				t.Errorf("%s in era %d: %+v", code, era, p)
			}
		}
	}
}

// BF5 to BF7: what an app is told of is a comparison with what it could list when
// its stream opened; nothing that failed counts as looked at.
func TestAChangeIsToldOnceAndNeverSwallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, other := newShelf(), app(), app()
		other.Owner = c.Owner
		s.allow(c, "notes")
		s.allow(other, "mail")
		s.serve(true, "notes:a", "notes")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		told := map[string]int{}
		watch := func(c authority.Caller, name string) func() {
			return s.Watch(c, func() { s.mu.Lock(); told[name]++; s.mu.Unlock() })
		}
		stop := watch(c, "app")
		defer watch(other, "other")()
		expect := func(what string, app, other int) {
			t.Helper()
			<-time.After(3 * time.Second)
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if told["app"] != app || told["other"] != other {
				t.Errorf("%s: told %v, want %d and %d", what, told, app, other)
			}
		}
		expect("the baseline", 0, 0)
		s.Changed(c.Owner)
		expect("nothing is different", 0, 0)
		s.serve(true, "notes:a", "notes", "notes:b", "notes")
		s.Changed(c.Owner)
		expect("another resource", 1, 0)
		s.fail(fault.New(fault.TimedOut, "busy"))
		s.serve(true, "notes:a", "notes", "mail:a", "mail")
		s.Changed(c.Owner)
		expect("the capsules cannot be asked", 1, 0)
		s.fail(nil)
		expect("asked again by itself", 2, 1)
		s.serve(false, "mail:a", "mail")
		s.Changed(c.Owner)
		expect("an incomplete list", 3, 1)
		s.serve(true, "notes:a", "notes", "mail:a", "mail")
		expect("which is looked at again", 4, 1)
		stop()
		s.serve(true, "mail:a", "mail")
		s.Changed(c.Owner)
		expect("nobody listens", 4, 1)
		stop = watch(c, "app")
		expect("the next stream is told what it missed", 5, 1)
		s.allow(c)
		s.Changed(c.Owner)
		expect("a grant that ended and changed nothing", 5, 1)
		stop()
		cancel()
		running.Wait()
	})
}
