package crash_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/figure"
)

// past is a request with what the actor knows of it.
type past struct {
	ask
	status rpcwire.Status // of the last answer
	code   string
	pause  time.Duration // of an effect, so that an equal call can be made
}

func (p past) over() bool { return p.status == rpcwire.OK || p.status == rpcwire.Indeterminate }

// worker is an actor at work: it does one thing after the other, by chance.
// Everything belongs to its goroutine.
type worker struct {
	*actor
	chance *rand.Rand
	prefix string
	past   []past
	put    int // index of the put whose outcome is awaited, or -1
	items  map[string]string
	keys   int
}

func newWorker(a *actor, seed uint64, which int) *worker {
	return &worker{actor: a, chance: figure.Rand(seed, which), prefix: fmt.Sprintf("%s-%x-", a.Name, seed), put: -1, items: map[string]string{}}
}

// work goes on until ctx ends. A host that is not there is waited for.
func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.step(ctx); err != nil {
			moment(ctx, 2*time.Millisecond)
		}
	}
}

// step does one thing. The shares are those of the proof's mixed load.
func (w *worker) step(ctx context.Context) error {
	switch at := w.chance.IntN(100); {
	case at < 40 || len(w.past) == 0:
		return w.fresh(ctx)
	case at < 55:
		return w.equal(ctx)
	case at < 75:
		return w.again(ctx, w.recent())
	case at < 88:
		return w.store(ctx)
	case at < 95:
		_, err := w.lookup(ctx, w.past[w.recent()].tx)
		return err
	default:
		return w.reuse(ctx)
	}
}

// recent picks one of the latest requests, mostly.
func (w *worker) recent() int {
	back := w.chance.IntN(min(len(w.past), 10))
	if w.chance.IntN(10) == 0 {
		back = w.chance.IntN(len(w.past))
	}
	return len(w.past) - 1 - back
}

// do sends a request for the first time and remembers it.
func (w *worker) do(ctx context.Context, p past) error {
	w.past = append(w.past, p)
	return w.again(ctx, len(w.past)-1)
}

// again sends a request as it was sent before.
func (w *worker) again(ctx context.Context, which int) error {
	p := &w.past[which]
	got, err := w.send(ctx, p.ask)
	if got == nil {
		return err
	}
	p.status, p.code = got.Status, ""
	if got.Error != nil {
		p.code = got.Error.Code
	}
	if p.key != "" && got.Status == rpcwire.OK {
		w.items[p.key] = got.Version
	}
	return err
}

func (w *worker) fresh(ctx context.Context) error {
	var pause, deadline time.Duration
	switch at := w.chance.IntN(100); {
	case at < 70:
	case at < 85:
		pause = time.Duration(1+w.chance.IntN(30)) * time.Millisecond
	case at < 95:
		pause = time.Duration(100+w.chance.IntN(300)) * time.Millisecond
	default: // the answer comes too late
		deadline, pause = 40*time.Millisecond, time.Duration(60+w.chance.IntN(200))*time.Millisecond
	}
	tx := w.newTx()
	nonce := w.prefix + tx
	return w.do(ctx, past{ask: w.effect(tx, nonce, pause, deadline, ""), pause: pause})
}

// equal makes the same call under a fresh tx, sometimes saying that the doubt
// about the first is known.
func (w *worker) equal(ctx context.Context) error {
	p := w.past[w.recent()]
	if w.chance.IntN(3) == 0 {
		p = w.doubted()
	}
	if p.nonce == "" {
		return w.fresh(ctx)
	}
	ack := ""
	if p.status == rpcwire.Indeterminate && w.chance.IntN(2) == 0 {
		ack = p.tx
	}
	return w.do(ctx, past{ask: w.effect(w.newTx(), p.nonce, p.pause, 0, ack), pause: p.pause})
}

// doubted is the latest request of unknown outcome, if there is one.
func (w *worker) doubted() past {
	for i := len(w.past) - 1; i >= 0; i-- {
		if w.past[i].status == rpcwire.Indeterminate {
			return w.past[i]
		}
	}
	return past{}
}

// store puts a new item or replaces one, after the last put's outcome is known.
func (w *worker) store(ctx context.Context) error {
	if w.put >= 0 {
		p := w.past[w.put]
		if !p.over() && p.code != "precondition_failed" {
			return w.again(ctx, w.put)
		}
		w.put = -1
	}
	key, version := fmt.Sprintf("%s%d", w.prefix, w.keys), ""
	if w.keys > 0 && w.chance.IntN(2) == 0 {
		old := fmt.Sprintf("%s%d", w.prefix, w.chance.IntN(w.keys))
		if version = w.items[old]; version != "" {
			key = old
		}
	}
	if version == "" {
		w.keys++
	}
	tx := w.newTx()
	w.put = len(w.past)
	return w.do(ctx, past{ask: w.actor.put(tx, key, "value of "+tx, version)})
}

// reuse sends something else under a tx whose outcome is known.
func (w *worker) reuse(ctx context.Context) error {
	p := w.past[w.recent()]
	if !p.over() {
		return w.fresh(ctx)
	}
	q := w.effect(p.tx, w.prefix+"never-"+w.newTx(), 0, 0, "")
	q.never = true
	_, err := w.send(ctx, q)
	return err
}

// close asks for every tx once more, and for some by the request itself.
func (w *worker) close(ctx context.Context) {
	w.sync = false // nobody is killed any more
	for i, p := range w.past {
		w.lookup(ctx, p.tx)
		if len(w.past)-i < 200 || w.chance.IntN(20) == 0 {
			w.again(ctx, i)
		}
	}
}

// warden takes an app's rights to the oracle and gives them back, again and
// again, and writes down when.
type warden struct {
	*worker
}

func (w warden) work(ctx context.Context) {
	for ctx.Err() == nil {
		owner := w.stage.owner()
		w.change(ctx, "revoke", "revoked", func() error {
			_, err := client.Call(ctx, owner, adminwire.GrantsRevoke, adminwire.RevokeGrants{App: w.ID, Resource: w.stage.oracle.Resource})
			return err
		})
		moment(ctx, time.Duration(w.chance.IntN(40))*time.Millisecond)
		w.give(ctx, owner)
		owner.Close()
		moment(ctx, time.Duration(20+w.chance.IntN(150))*time.Millisecond)
	}
}

// give grants until it is known to have been done. It is the last thing that a
// warden does.
func (w warden) give(ctx context.Context, owner *client.Client) bool {
	return w.change(ctx, "grant", "granted", func() error {
		_, err := client.Call(ctx, owner, adminwire.GrantsAdd, adminwire.AddGrants{App: w.ID, Resource: w.stage.oracle.Resource, Methods: []string{"effect"}})
		return err
	})
}

func (w warden) change(ctx context.Context, before, after string, do func() error) bool {
	w.write(entry{Do: before, Client: w.ID})
	err := do()
	if err != nil {
		after = before + " lost"
	}
	w.write(entry{Do: after, Client: w.ID})
	if err != nil {
		moment(ctx, 5*time.Millisecond)
	}
	return err == nil
}

// crowd is everybody at work on a stage.
type crowd struct {
	workers []*worker
	warden  warden
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// begin sets every client of a stage to work, and a warden on the last of them.
func begin(s *stage, seed uint64) *crowd {
	c := &crowd{}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	for i, a := range s.clients {
		w := newWorker(a, seed, i)
		c.workers = append(c.workers, w)
		c.done.Go(func() { w.work(ctx) })
	}
	last := s.clients[len(s.clients)-1]
	c.warden = warden{newWorker(last, seed, len(s.clients))}
	c.done.Go(func() { c.warden.work(ctx) })
	return c
}

// end lets everybody finish. A host must be up.
func (c *crowd) end(s *stage) {
	s.t.Helper()
	c.stop()
	c.done.Wait()
	owner := s.owner()
	defer owner.Close()
	if !c.warden.give(s.t.Context(), owner) {
		s.t.Fatal("the warden cannot give the rights back")
	}
	for _, w := range c.workers {
		c.done.Go(func() { w.close(s.t.Context()) })
	}
	c.done.Wait()
}

// logs are where the actors of a stage wrote.
func (s *stage) logs() (out []string) {
	for _, a := range s.clients {
		out = append(out, filepath.Join(s.dir, a.Name+".log"))
	}
	return out
}

func (s *stage) write(name string, raw []byte) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}
