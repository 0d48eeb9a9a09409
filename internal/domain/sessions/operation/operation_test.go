package operation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/sessions/operation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/test/modelsize"
)

// Operations are their model: an ID is begun once until it is forgotten, and what is
// remembered of it moves one way.
func TestOperationsAreTheirModel(t *testing.T) {
	ids := []string{"a", "b", "c", "d"}
	modelsize.Set(t)
	rapid.Check(t, func(t *rapid.T) {
		table, now := operation.New(), time.Unix(0, 0)
		all := map[string]*operation.Entry{}
		settled := map[string]time.Time{}
		begin := func(t *rapid.T) {
			id := rapid.SampledFrom(ids).Draw(t, "id")
			err := table.Begin(id, "m", "s", rapid.Bool().Draw(t, "ends"))
			if fault.Is(err, fault.OperationAlreadyKnown) != (all[id] != nil) {
				t.Fatal(err)
			}
			if err == nil {
				all[id] = &operation.Entry{ID: id, Method: "m", Session: "s", State: operation.Pending}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": begin, "again": begin,
			"accept": func(t *rapid.T) {
				id := rapid.SampledFrom(ids).Draw(t, "id")
				table.Accept(id, 1)
				if e := all[id]; e != nil && e.State == operation.Pending {
					e.State, e.Result = operation.Accepted, 1
				}
			},
			"settle": func(t *rapid.T) {
				id := rapid.SampledFrom(ids).Draw(t, "id")
				f := rapid.SampledFrom([]*fault.Fault{nil, fault.New(fault.Conflict, "no")}).Draw(t, "fault")
				table.Settle(id, 2, f, now)
				if e := all[id]; e != nil && (e.State == operation.Pending || e.State == operation.Accepted) {
					e.State, e.Result, e.Fault = operation.Settled, 2, f
					if f != nil {
						e.Result = nil
					}
					settled[id] = now
				}
			},
			"pass": func(t *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{1, 600*time.Second - 1, 600 * time.Second}).Draw(t, "passes"))
				table.Expire(now)
				for id, at := range settled {
					switch age := now.Sub(at); {
					case age >= 1200*time.Second:
						delete(all, id)
						delete(settled, id)
					case age >= 600*time.Second:
						all[id].State, all[id].Result, all[id].Fault = operation.Expired, nil, nil
					}
				}
			},
			"": func(t *rapid.T) {
				for _, id := range ids {
					want := operation.Entry{ID: id, State: operation.Unknown}
					if e := all[id]; e != nil {
						want = *e
					}
					if diff := cmp.Diff(want, table.Lookup(id), cmpopts.IgnoreUnexported(operation.Entry{}), cmp.Comparer(func(x, y *fault.Fault) bool { return x == y })); diff != "" {
						t.Fatal(diff)
					}
				}
			},
		})
	})
}

// A full table refuses and forgets nothing early; its last places are for what ends
// something.
func TestAFullTableRefuses(t *testing.T) {
	table := operation.New()
	for i := range bound.Operations.Int() {
		ends := i >= bound.Operations.Int()-bound.OperationReserve.Int()
		if ends {
			if err := table.Begin("more", "m", "", false); !fault.Is(err, fault.LimitExceeded) {
				t.Fatalf("with %d operations: %v", i, err)
			}
		}
		if err := table.Begin(fmt.Sprint(i), "m", "", ends); err != nil {
			t.Fatal(err)
		}
		table.Settle(fmt.Sprint(i), nil, nil, time.Unix(int64(i), 0))
	}
	if err := table.Begin("more", "m", "", true); !fault.Is(err, fault.LimitExceeded) {
		t.Error(err)
	}
	table.Expire(time.Unix(1199, 0))
	if err := table.Begin("0", "m", "", true); !fault.Is(err, fault.OperationAlreadyKnown) {
		t.Error(err)
	}
	table.Expire(time.Unix(1200, 0))
	if err := table.Begin("more", "m", "", true); err != nil {
		t.Error(err)
	}
}
