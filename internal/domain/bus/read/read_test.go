package read_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

var (
	start    = time.Unix(1_800_000_000, 0)
	deadline = start.Add(10 * time.Second)
	alice    = topic.PrincipalOf(id.New[id.Owner]())
	bob      = topic.PrincipalOf(id.New[id.Owner]())
	elder    = member("elder", 1, "n:")
	young    = member("young", 2, "n:long/")
	third    = member("third", 3)
	everyone = []describe.Member{third, young, elder}
)

func member(name string, order int64, families ...string) describe.Member {
	return describe.Member{Source: topic.SourceOf("t", name, ""), Name: name, Order: order, Since: start, Families: families}
}

func found(uri string, owner describe.Member) describe.Result {
	return describe.Result{Listed: []describe.Listed{{Definition: describe.Definition{URI: uri, Name: "x"}, Owner: owner.Source}}, Complete: true}
}

func answer(m describe.Member, uri, text string) read.Reply {
	return read.Reply{Principal: alice, Source: m.Source, Correlation: "c", URI: uri, Contents: []read.Content{{URI: uri, Text: text}}}
}

func refusal(m describe.Member, uri, text string) read.Reply {
	return read.Reply{Principal: alice, Source: m.Source, Correlation: "c", URI: uri, Error: &text}
}

func decline(m describe.Member) read.Reply {
	return read.Reply{Principal: alice, Source: m.Source, Correlation: "c", Declined: true}
}

func TestWhoMayAnswer(t *testing.T) {
	for _, c := range []struct {
		name  string
		uri   string
		found describe.Result
		mode  read.Mode
		want  []describe.Member
	}{
		{"listed: its owner alone", "n:long/a", found("n:long/a", third), read.Owned, []describe.Member{third}},
		{"families: the elder first, whatever the prefixes (I82)", "n:long/a", describe.Result{}, read.Family, []describe.Member{elder, young}},
		{"one family", "n:other", describe.Result{}, read.Family, []describe.Member{elder}},
		{"nobody's: all, in the operator's order", "m:x", describe.Result{}, read.Open, []describe.Member{elder, young, third}},
	} {
		var want []topic.Source
		for _, m := range c.want {
			want = append(want, m.Source)
		}
		if got := read.Aim(c.uri, c.found, everyone); got.Mode != c.mode || !slices.Equal(got.Candidates, want) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestOnlyTheOwnerOfAListedURICounts(t *testing.T) {
	uri := "n:1"
	w := read.Ask(alice, "c", uri, read.Aim(uri, found(uri, third), everyone), start, deadline)
	foreign, stale := answer(third, uri, "x"), answer(third, uri, "x")
	foreign.Principal, stale.Correlation = bob, "d"
	for _, c := range []struct {
		reply read.Reply
		want  describe.Reason
	}{
		{answer(elder, uri, "race"), describe.UnknownSource}, {refusal(young, uri, "no"), describe.UnknownSource},
		{foreign, describe.ForeignPrincipal}, {stale, describe.StaleRound},
	} {
		if drop, ok := w.Accept(c.reply, start); ok || drop.Reason != c.want {
			t.Errorf("%+v, %v; want %s", drop, ok, c.want)
		}
	}
	if _, over := w.Settled(start); over {
		t.Fatal("an answer of nobody ended the read")
	}
	w.Accept(answer(third, uri, "mine"), start)
	if drop, ok := w.Accept(answer(third, uri, "again"), start); ok || drop.Reason != describe.Duplicate {
		t.Errorf("a second answer counts: %+v", drop)
	}
	got, over := w.Settled(start)
	if !over || got.Fault != nil || got.Owner != third.Source || got.Contents[0].Text != "mine" {
		t.Errorf("%+v, %v", got, over)
	}
}

func TestAConflictHasTheSameWinnerInEachOrder(t *testing.T) {
	for _, order := range [][]describe.Member{{young, elder, third}, {third, elder, young}} {
		w := read.Ask(alice, "c", "m:x", read.Aim("m:x", describe.Result{}, everyone), start, deadline)
		for i, m := range order[:2] {
			w.Accept(answer(m, "m:x", m.Name), start.Add(time.Duration(i)*time.Millisecond))
		}
		if _, over := w.Settled(start.Add(24 * time.Millisecond)); over {
			t.Error("the conflict window closed early")
		}
		got, over := w.Settled(start.Add(25 * time.Millisecond))
		if !over || got.Owner != elder.Source || len(got.Rivals) != 1 {
			t.Errorf("%+v, %v", got, over)
		}
	}
}

func TestAReadEndsInTime(t *testing.T) {
	for _, c := range []struct {
		name string
		uri  string
		list describe.Result
		do   func(*read.Wait)
		at   time.Duration
		want fault.Code
	}{
		{"nobody's URI", "m:x", describe.Result{}, func(*read.Wait) {}, time.Second, fault.NotFound},
		{"nobody's URI and errors of all", "m:x", describe.Result{}, func(w *read.Wait) {
			for _, m := range everyone {
				w.Accept(refusal(m, "m:x", "not mine"), start)
			}
		}, time.Second, fault.NotFound},
		{"a silent owner", "n:1", found("n:1", third), func(*read.Wait) {}, 10 * time.Second, fault.TimedOut},
		{"an owner that ends", "n:1", found("n:1", third), func(w *read.Wait) { w.Leave(third.Source) }, 0, fault.Unavailable},
		{"an owner that has it no more", "n:1", found("n:1", third), func(w *read.Wait) { w.Accept(decline(third), start) }, 0, fault.NotFound},
		{"another one that has it not", "n:1", found("n:1", third), func(w *read.Wait) { w.Accept(decline(elder), start) }, 10 * time.Second, fault.TimedOut},
		{"nobody's of a family", "n:long/a", describe.Result{}, func(w *read.Wait) {
			w.Accept(decline(elder), start)
			w.Accept(decline(young), start)
		}, 0, fault.NotFound},
		{"one of a family is silent", "n:long/a", describe.Result{}, func(w *read.Wait) { w.Accept(decline(elder), start) }, 10 * time.Second, fault.TimedOut},
		{"one of a family ends", "n:long/a", describe.Result{}, func(w *read.Wait) {
			w.Accept(decline(elder), start)
			w.Leave(young.Source)
		}, 0, fault.Unavailable},
		{"nobody's URI, and all say so", "m:x", describe.Result{}, func(w *read.Wait) {
			for _, m := range everyone {
				w.Accept(decline(m), start)
			}
		}, time.Second, fault.NotFound},
		{"an owner that refuses", "n:1", found("n:1", third), func(w *read.Wait) { w.Accept(refusal(third, "n:1", "no"), start) }, 0, fault.UpstreamFailed},
		{"neither contents nor error", "n:1", found("n:1", third), func(w *read.Wait) {
			w.Accept(read.Reply{Principal: alice, Source: third.Source, Correlation: "c", URI: "n:1"}, start)
		}, 0, fault.UpstreamFailed},
		{"another URI", "n:1", found("n:1", third), func(w *read.Wait) { w.Accept(answer(third, "n:2", ""), start) }, 0, fault.UpstreamFailed},
		{"unreadable", "n:1", found("n:1", third), func(w *read.Wait) {
			w.Accept(read.Reply{Principal: alice, Source: third.Source, Correlation: "c", Err: fault.New(fault.InvalidRequest, "x")}, start)
		}, 0, fault.UpstreamFailed},
		{"one byte too many", "n:1", found("n:1", third), func(w *read.Wait) {
			w.Accept(answer(third, "n:1", strings.Repeat("x", 512<<10+1)), start)
		}, 0, fault.TooLarge},
		{"one chunk too many", "n:1", found("n:1", third), func(w *read.Wait) {
			r := answer(third, "n:1", "x")
			r.Contents = slices.Repeat(r.Contents, 65)
			w.Accept(r, start)
		}, 0, fault.TooLarge},
	} {
		w := read.Ask(alice, "c", c.uri, read.Aim(c.uri, c.list, everyone), start, deadline)
		c.do(w)
		if _, over := w.Settled(start.Add(c.at - 1)); over && c.at > 0 {
			t.Errorf("%s: over before %v", c.name, c.at)
		}
		got, over := w.Settled(start.Add(c.at))
		if !over || got.Fault == nil || got.Fault.Code != c.want || got.Contents != nil {
			t.Errorf("%s: %+v, %v", c.name, got, over)
		}
	}
	if got, over := read.Ask(alice, "c", "m:x", read.Plan{Mode: read.Open}, start, deadline).Settled(start); !over || got.Fault.Code != fault.NotFound {
		t.Error("a read of nobody waits")
	}
}

func TestContentsPassAtTheirLimit(t *testing.T) {
	w := read.Ask(alice, "c", "n:1", read.Aim("n:1", found("n:1", third), everyone), start, deadline)
	r := answer(third, "n:1", strings.Repeat("x", 256<<10))
	r.Contents = append(r.Contents, read.Content{URI: "n:1#2", Blob: make([]byte, 256<<10)})
	w.Accept(r, start)
	if got, over := w.Settled(start); !over || got.Fault != nil || len(got.Contents) != 2 {
		t.Errorf("%v, %v", got.Fault, over)
	}
}

func TestAnErrorTextIsPlainAndShort(t *testing.T) {
	w := read.Ask(alice, "c", "n:1", read.Aim("n:1", found("n:1", third), everyone), start, deadline)
	w.Accept(refusal(third, "n:1", "a\x1b[31m\nb\u0085"+strings.Repeat("é", 600)), start)
	got, _ := w.Settled(start)
	if want := "the capsule says: a[31mb" + strings.Repeat("é", 253); got.Fault.Text != want {
		t.Errorf("%d bytes: %.60q", len(got.Fault.Text), got.Fault.Text)
	}
}
