package linear_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/test/figure"
)

// right is one verb about one app's right to call.
type right struct {
	app  int
	verb string // give, take, call or list
}

var rightModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		parts := map[int][]porcupine.Operation{}
		for _, op := range all {
			parts[op.Input.(right).app] = append(parts[op.Input.(right).app], op)
		}
		var out [][]porcupine.Operation
		for _, part := range parts {
			out = append(out, part)
		}
		return out
	},
	Init: func() any { return true },
	Step: func(state, input, output any) (bool, any) {
		granted := state.(bool)
		want := "done"
		switch input.(right).verb {
		case "give":
			granted = true
		case "take":
			granted = false
		default:
			if want = "allowed"; !granted {
				want = string(fault.NotFound)
			}
		}
		return output == unknown || output == want, granted
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %v", input, output) },
}

const holders = 3

// R20, A20. Giving and taking a right, and looking whether it is there, for a call
// or for a list, have an order in which each look sees the last change.
func TestRightsAreLinearizable(t *testing.T) {
	histories := figure.Of(t, 20, 200, 5_000)
	seed := figure.Seed(t)
	p := newPool(t, holders)
	operations, refused := 0, 0
	for n := range histories {
		h := newHistory()
		var all sync.WaitGroup
		for w := range workers {
			chance := figure.Rand(seed+uint64(n), w)
			all.Go(func() {
				for i := range stepsEach {
					if w == 0 && n%4 == 3 && i == stepsEach/2 {
						p.restart()
					}
					r := right{chance.IntN(holders), pick(chance, []string{"give", "take", "call", "call", "list"})}
					h.do(w, r, func() (out string) {
						p.use(func(st *store.Store) { out = p.right(st, r) })
						return out
					})
				}
			})
		}
		all.Wait()
		h.check(t, rightModel)
		operations += len(h.all)
		for _, op := range h.all {
			if op.Output == string(fault.NotFound) {
				refused++
			}
		}
		for i := range p.apps { // each history begins with all of them
			p.must(p.grant(p.store, p.apps[i]))
		}
	}
	figure.Tell(t, "R20", "rights: seed=%d histories=%d operations=%d refused=%d", seed, histories, operations, refused)
}

func (p *pool) right(st *store.Store, r right) string {
	ctx, app := context.Background(), p.apps[r.app]
	var err error
	switch r.verb {
	case "give":
		err = p.grant(st, app)
	case "take":
		_, err = st.RevokeAll(ctx, p.owner, app.Client, p.what)
	case "call":
		_, err = st.Reserve(ctx, p.call(st, app, id.NewTx(time.Now()), "", true))
		if err == nil {
			return "allowed"
		}
	default:
		list, err := st.Catalog(ctx, app)
		switch {
		case err != nil:
			return word(err)
		case len(list) == 0:
			return string(fault.NotFound)
		}
		return "allowed"
	}
	if err != nil {
		return word(err)
	}
	return "done"
}
