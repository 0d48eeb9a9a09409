package linear_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/test/figure"
)

// step is one verb about one tx.
type step struct {
	tx      int
	verb    string // reserve, mark, settle, late, look or restart
	request string // of reserve
	ready   bool   // of reserve
	attempt int64  // of mark, settle and late
	state   invocation.State
}

// line is what the model keeps of one tx: the whole promise of the journal.
type line struct {
	state   invocation.State // empty: nothing is known of the tx
	request string
	attempt int64
}

var journalModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		parts := map[int][]porcupine.Operation{}
		for _, op := range all {
			parts[op.Input.(step).tx] = append(parts[op.Input.(step).tx], op)
		}
		var out [][]porcupine.Operation
		for _, part := range parts {
			out = append(out, part)
		}
		return out
	},
	Init: func() any { return line{} },
	Step: func(state, input, output any) (bool, any) {
		want, next := apply(state.(line), input.(step))
		return output == unknown || output == want, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %v", input, output) },
}

// apply is the sequential journal.
func apply(l line, s step) (output string, next line) {
	switch s.verb {
	case "reserve":
		switch {
		case l.state != "" && l.request != s.request:
			return string(fault.TxMismatch), l
		case l.state.Unresolved():
			return string(fault.TxInProgress), l
		case l.state != "" && l.state != invocation.NotDispatched:
			return "replay " + string(l.state), l
		}
		next = line{invocation.Reserved, s.request, l.attempt + 1}
		if s.ready {
			next.state = invocation.Dispatching
		}
		return fmt.Sprint(next.state, " ", next.attempt), next
	case "mark":
		if l.state != invocation.Reserved || l.attempt != s.attempt {
			return string(fault.Conflict), l
		}
		l.state = invocation.Dispatching
		return "marked", l
	case "settle":
		if !l.state.Unresolved() || l.attempt != s.attempt || !invocation.CanMove(l.state, s.state) {
			return string(fault.Conflict), l
		}
		l.state = s.state
		return "settled", l
	case "late":
		if l.state != invocation.Indeterminate || l.attempt != s.attempt || s.state != invocation.Succeeded {
			return string(fault.Conflict), l
		}
		l.state = invocation.ReconciledSucceeded
		return "settled", l
	case "restart":
		switch l.state {
		case invocation.Reserved:
			l.state = invocation.NotDispatched
		case invocation.Dispatching:
			l.state = invocation.Indeterminate
		}
		return "restarted", l
	default:
		if l.state == "" {
			return string(fault.NotFound), l
		}
		return "row " + string(l.state), l
	}
}

// The model is a promise only as long as it keeps it.
func TestTheModelNeverDispatchesTwice(t *testing.T) {
	chance := figure.Rand(figure.Seed(t), 0)
	for range 2_000 {
		l, dispatched := line{}, 0
		for range 30 {
			s := anyStep(chance)
			s.attempt = l.attempt - int64(chance.IntN(2))
			before := l
			_, l = apply(l, s)
			if l.state == invocation.Dispatching && before.state != invocation.Dispatching {
				dispatched++
			}
			if before.state == invocation.Dispatching && l.state == invocation.NotDispatched {
				dispatched-- // the process knows that no byte went out
			}
		}
		if dispatched > 1 {
			t.Fatalf("%d dispatches of one tx", dispatched)
		}
	}
}

var verdicts = []invocation.State{invocation.Succeeded, invocation.Failed, invocation.Indeterminate, invocation.NotDispatched}

func anyStep(chance *rand.Rand) step {
	return step{
		verb:    pick(chance, []string{"reserve", "reserve", "reserve", "mark", "settle", "settle", "late", "look", "restart"}),
		request: pick(chance, []string{"a", "a", "a", "b"}), ready: chance.IntN(3) > 0, state: pick(chance, verdicts),
	}
}

const (
	workers   = 6
	txs       = 3 // of one history
	stepsEach = 12
)

// R20. What concurrent verbs of the journal answer has an order in which a
// journal of one line a tx answers the same, over restarts too.
func TestJournalIsLinearizable(t *testing.T) {
	histories := figure.Of(t, 20, 200, 5_000)
	seed := figure.Seed(t)
	p := newPool(t, 1)
	operations, open := 0, 0
	for n := range histories {
		h := newHistory()
		r := round{pool: p, history: h, attempts: map[int][]authority.Attempt{}}
		for range txs {
			r.txs = append(r.txs, id.NewTx(time.Now()))
		}
		var all sync.WaitGroup
		for w := range workers {
			chance := figure.Rand(seed+uint64(n), w)
			all.Go(func() {
				for i := range stepsEach {
					if w == 0 && n%2 == 1 && i == stepsEach/2 {
						r.restart(workers)
					}
					r.step(w, chance)
				}
			})
		}
		all.Wait()
		h.check(t, journalModel)
		operations += len(h.all)
		for _, op := range h.all {
			if op.Output == unknown {
				open++
			}
		}
	}
	v, err := p.store.Verify(t.Context(), nil)
	if err != nil || v.Break != nil || len(v.Mismatches) > 0 {
		t.Errorf("the trail does not hold: %+v %v", v, err)
	}
	figure.Tell(t, "R20", "journal: seed=%d histories=%d operations=%d of unknown outcome=%d", seed, histories, operations, open)
}

// round is one history in the making.
type round struct {
	*pool
	*history
	txs []id.Tx

	mu       sync.Mutex
	attempts map[int][]authority.Attempt // that were taken up, by tx
}

func (r *round) restart(client int) {
	restarted := make([]chan struct{}, len(r.txs))
	var all sync.WaitGroup
	for tx := range r.txs {
		restarted[tx] = make(chan struct{})
		all.Go(func() {
			r.do(client+tx, step{tx: tx, verb: "restart"}, func() string { <-restarted[tx]; return "restarted" })
		})
	}
	r.pool.restart()
	for _, done := range restarted {
		close(done)
	}
	all.Wait()
}

// step does one verb by chance. One whose caller went away may have happened or
// not.
func (r *round) step(client int, chance *rand.Rand) {
	s := anyStep(chance)
	s.tx = chance.IntN(len(r.txs))
	var a authority.Attempt
	switch s.verb {
	case "restart":
		s.verb = "look"
	case "mark", "settle", "late":
		r.mu.Lock()
		known := r.attempts[s.tx]
		r.mu.Unlock()
		if len(known) == 0 {
			s.verb = "look"
			break
		}
		a = pick(chance, known)
		s.attempt = a.Number
	}
	r.do(client, s, func() (out string) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if chance.IntN(6) == 0 { // the caller goes away, now or soon
			defer time.AfterFunc(time.Duration(chance.IntN(2000))*time.Microsecond, cancel).Stop()
		}
		r.use(func(st *store.Store) { out = r.verb(ctx, st, s, a) })
		return out
	})
}

func (r *round) verb(ctx context.Context, st *store.Store, s step, a authority.Attempt) string {
	app, tx := r.apps[0], r.txs[s.tx]
	switch s.verb {
	case "reserve":
		ch, err := st.Reserve(ctx, r.call(st, app, tx, s.request, s.ready))
		if err != nil {
			return word(err)
		}
		if ch.Action == authority.Replay {
			return "replay " + string(ch.Row.State)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.attempts[s.tx] = append(r.attempts[s.tx], authority.AttemptOf(ch.Row))
		return fmt.Sprint(ch.Row.State, " ", ch.Row.Attempt)
	case "mark":
		if _, err := st.Mark(ctx, app, a); err != nil {
			return word(err)
		}
		return "marked"
	case "settle", "late":
		v := invocation.Verdict{State: s.state}
		for _, kind := range []invocation.EventKind{invocation.Answered, invocation.ToolError, invocation.Broken, invocation.Unreached} {
			if got := invocation.Classify(invocation.Event{Kind: kind}); got.State == s.state {
				v = got
			}
		}
		_, err := st.Settle(ctx, app, authority.Settle{Attempt: a, Verdict: v, Late: s.verb == "late",
			Outcome: invocation.Outcome{Code: v.Code, Text: string(v.Code), Reason: v.Reason, Effects: v.Effects}})
		if err != nil {
			return word(err)
		}
		return "settled"
	default:
		row, err := st.Invocation(ctx, r.owner, tx.String())
		if err != nil {
			return word(err)
		}
		return "row " + string(row.Row.State)
	}
}
