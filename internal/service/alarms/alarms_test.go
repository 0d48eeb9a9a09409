package alarms_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/alarms"
)

func TestWhatIsWorthAnAlarm(t *testing.T) {
	now := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	quiet := func() alarms.Watch {
		return alarms.Watch{
			Fenced: func() error { return nil }, Full: func(context.Context) bool { return false },
			Behind: func() time.Duration { return alarms.BehindTooFar },
			Doubts: func(context.Context) (int64, time.Time, error) { return 3, now.Add(-alarms.OldDoubt), nil },
			Away:   func() error { return nil },
			Shared: func() string { return "" },
			Damage: func() []string { return nil },
			Now:    func() time.Time { return now },
		}
	}
	for name, c := range map[string]struct {
		change func(*alarms.Watch)
		want   []alarms.Kind
	}{
		"nothing":            {func(*alarms.Watch) {}, nil},
		"a full disk":        {func(w *alarms.Watch) { w.Full = func(context.Context) bool { return true } }, []alarms.Kind{alarms.Full}},
		"a clock":            {func(w *alarms.Watch) { w.Behind = func() time.Duration { return alarms.BehindTooFar + 1 } }, []alarms.Kind{alarms.Behind}},
		"an old doubt":       {func(w *alarms.Watch) { w.Now = func() time.Time { return now.Add(1) } }, []alarms.Kind{alarms.Doubts}},
		"a damaged database": {func(w *alarms.Watch) { w.Damage = func() []string { return []string{"row 3 missing from index"} } }, []alarms.Kind{alarms.Damaged}},
		"no bus": {func(w *alarms.Watch) {
			w.Away = func() error { return fault.New(fault.Unavailable, "no server can be reached") }
		}, []alarms.Kind{alarms.Away}},
		"a resource of two": {func(w *alarms.Watch) { w.Shared = func() string { return "n:1 is served by two capsules" } }, []alarms.Kind{alarms.Shared}},
		"no doubt left": {func(w *alarms.Watch) {
			w.Doubts = func(context.Context) (int64, time.Time, error) { return 0, time.Time{}, nil }
		}, nil},
		"no journal": {func(w *alarms.Watch) {
			w.Doubts = func(context.Context) (int64, time.Time, error) { return 0, time.Time{}, errors.New("gone") }
		}, []alarms.Kind{alarms.Unknown}},
		"everything": {func(w *alarms.Watch) {
			w.Fenced = func() error { return fault.New(fault.Unavailable, "a commit failed") }
			w.Full = func(context.Context) bool { panic("a fenced store is not asked to write") }
			w.Behind = func() time.Duration { return time.Minute }
			w.Now = func() time.Time { return now.Add(time.Minute) }
		}, []alarms.Kind{alarms.Fenced, alarms.Behind, alarms.Doubts}},
	} {
		w := quiet()
		c.change(&w)
		var got []alarms.Kind
		stops := false
		for _, a := range w.Look(t.Context()) {
			got = append(got, a.Kind)
			stops = stops || a.Kind.Stops()
			if a.Text == "" || a.Fix == "" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if want := name == "a full disk" || name == "no journal" || name == "everything"; stops != want {
			t.Errorf("%s: stops %v", name, stops)
		}
	}
}
