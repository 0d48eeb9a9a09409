package sqldb

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
)

// request is one job on its way. Its life: queued, then dropped by its caller
// or taken by the writer; a taken one is answered exactly once.
type request struct {
	job      func(*Tx) error
	state    atomic.Int32
	err      error         // set before answered is closed
	answered chan struct{} //
}

const (
	queued int32 = iota
	dropped
	taken
)

func (r *request) answer(err error) {
	r.err = err
	close(r.answered)
}

// writer is the one goroutine that changes the database. It takes whatever has
// queued up during the previous commit into one transaction; it never waits for
// more.
//
//	queue -> attempt: BEGIN, jobs, COMMIT -> answers
//	             | a job wrote and failed: ROLLBACK
//	             +-> attempt the others, then attempt that one alone
type writer struct {
	session  *session
	at       seams
	batchMax int
	names    lockedfile.Names
	queue    chan *request
	done     chan struct{} // closed when the queue is closed and empty
	fence    *fence
	count    *counters
	tidy     chan struct{}
	batch    []*request   // in the running attempt, not yet answered
	pending  [][]*request // to be attempted next, each for itself
	latest   int          // jobs in the latest commit
	yielded  bool         // in the running attempt
	pages    int          // written to the log since the checkpointer was asked
	room     int64        // bytes that the log may have
	noRoom   atomic.Bool  // the checkpointer's latest try ended for want of room
	finish   atomic.Bool  // set by the checkpointer: copy the rest of the log between two batches
}

// serve runs until the queue is closed and empty.
func (w *writer) serve() {
	ended := false
	defer func() {
		if ended {
			close(w.done)
			return
		}
		// A job called runtime.Goexit, as a failing test does. This goroutine
		// cannot be saved; the writer can.
		_ = w.session.control(rollback)
		for _, group := range w.pending {
			w.batch = append(w.batch, group...)
		}
		w.pending = nil
		w.refuse(fault.From(errors.New("a job of the batch ended the writer's goroutine")))
		go w.serve()
	}()
	for r := range w.queue {
		if !w.take(r) {
			continue
		}
		w.attempt(true)
		for len(w.pending) > 0 {
			w.batch, w.pending = w.pending[0], w.pending[1:]
			w.attempt(false)
		}
		if w.finish.CompareAndSwap(true, false) {
			w.copyRest()
		}
	}
	ended = true
}

// take adds a request to the batch unless its caller has given up.
func (w *writer) take(r *request) bool {
	if !r.state.CompareAndSwap(queued, taken) {
		return false
	}
	w.batch = append(w.batch, r)
	return true
}

// more adds the next waiting request, if there is one and room for it. Where
// several callers are at work it lets those that were just answered run first,
// because they are about to ask again; a lone caller is never kept waiting.
func (w *writer) more() bool {
	for len(w.batch) < w.batchMax {
		select {
		case r, open := <-w.queue:
			if !open {
				return false
			}
			if w.take(r) {
				return true
			}
		default:
			if w.yielded || w.latest < 2 {
				return false
			}
			w.yielded = true
			runtime.Gosched()
		}
	}
	return false
}

// attempt runs the batch in one transaction, with what arrives meanwhile if it
// may grow, and answers it or makes it pending again in smaller groups.
func (w *writer) attempt(grow bool) {
	if f := w.fence.fault(); f != nil {
		w.refuse(f)
		return
	}
	if err := w.session.control(beginWrite); err != nil {
		w.refuse(w.beginFailed(err))
		return
	}
	w.yielded = false
	for i := 0; i < len(w.batch) || grow && w.more(); i++ {
		r := w.batch[i]
		tx := &Tx{session: w.session, ctx: context.Background()}
		var crashed bool
		r.err, crashed = run(r.job, tx)
		if tx.failed == nil && (r.err == nil || !tx.wrote) {
			continue
		}
		w.spoiled(i, crashed)
		return
	}
	if err := w.session.commit(w.at); err != nil {
		w.commitFailed(err)
		return
	}
	if err := w.names.Check(); err != nil {
		w.refuse(w.fence.raise("its file was removed or replaced", unknown(err)))
		return
	}
	if f := w.fence.fault(); f != nil {
		// The checkpointer put it up meanwhile.
		w.refuse(f.Because(unknown(f)))
		return
	}
	w.latest = len(w.batch)
	w.count.committed(len(w.batch))
	w.askForCheckpoint()
	w.answer()
}

// run calls a job and turns its panic into an error.
func run(job func(*Tx) error, tx *Tx) (err error, crashed bool) {
	defer func() {
		if v := recover(); v != nil {
			err, crashed = fault.From(fmt.Errorf("panic in a job: %v\n%s", v, debug.Stack())), true
		}
		err = tx.end(err)
	}()
	return job(tx), false
}

// unknown marks the cause of a job that may or may not be in the database.
func unknown(err error) error { return fmt.Errorf("%w: %w", ErrUnknown, err) }

// spoiled rolls the transaction back because job i wrote something and failed,
// or because one of its statements failed.
func (w *writer) spoiled(i int, crashed bool) {
	// The engine may have rolled back by itself, and then refuses to do it again;
	// if a transaction were really left open, the next BEGIN would say so.
	_ = w.session.control(rollback)
	r := w.batch[i]
	if judge(r.err, false) == fatal {
		w.refuse(w.fence.raise("a statement failed", r.err))
		return
	}
	if judge(r.err, false) == full {
		w.count.full.Store(true)
	}
	if len(w.batch) == 1 {
		w.answer()
		return
	}
	w.count.reruns.Add(1)
	again := [][]*request{slices.Delete(w.batch, i, i+1)}
	if crashed {
		r.answer(r.err)
	} else {
		again = append(again, []*request{r})
	}
	w.batch, w.pending = nil, append(again, w.pending...)
}

// commitFailed handles a COMMIT that returned an error.
func (w *writer) commitFailed(err error) {
	_ = w.session.control(rollback)
	switch judge(err, true) {
	case fatal:
		w.refuse(w.fence.raise("a commit failed", unknown(err)))
		return
	case full:
		w.count.full.Store(true)
		w.refuse(noRoom(err))
		return
	}
	if len(w.batch) == 1 {
		w.refuse(statementFault(commit, err))
		return
	}
	// A check that waited for the commit does not say whose row it is about.
	w.count.reruns.Add(1)
	for _, r := range w.batch {
		w.pending = append(w.pending, []*request{r})
	}
	w.batch = nil
}

// beginFailed is the fault of a batch whose transaction did not start.
func (w *writer) beginFailed(err error) *fault.Fault {
	f := statementFault(beginWrite, err)
	if f.Code != fault.Unavailable {
		return w.fence.raise("no transaction can be started", f)
	}
	return f
}

// answer gives each request of the batch the error that its job returned.
func (w *writer) answer() {
	for _, r := range w.batch {
		r.answer(r.err)
	}
	w.batch = nil
}

// refuse gives each request of the batch the same fault, also those whose job
// refused by itself: what they refused for may not be in the database.
func (w *writer) refuse(f *fault.Fault) {
	for _, r := range w.batch {
		r.answer(f)
	}
	w.batch = nil
}
