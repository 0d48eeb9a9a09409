package executor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/sessions/executor"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/test/modelsize"
)

// model is what is written down of each executor, and what its client keeps: the
// proofs that it was told, whichever replies were lost.
type model struct {
	book  *executor.Book
	now   time.Time
	fresh int
	all   map[string]*paper
}

type paper struct {
	executor.Seat
	proof, candidate string
	until, pending   time.Time // of a provisional one; of a candidate
	idle             time.Time
	pins             int
	dead             []string // proofs that counted once
}

// proofs are those that a client might try.
func (p *paper) proofs() []string {
	return append([]string{p.proof, p.proof, p.candidate, p.candidate, "wrong"}, p.dead...)
}

// kill makes the candidate a proof that counted once.
func (p *paper) kill() {
	if p.candidate != "" {
		p.dead = append(p.dead, p.candidate)
	}
	p.candidate, p.pending = "", time.Time{}
}

var conns = []string{"c1", "c2", "c3"}

func (m *model) id() string {
	m.fresh++
	return fmt.Sprint("x", m.fresh)
}

func hash(proof string) secret.Hash { return secret.HashProof(secret.Of(proof)) }

func (m *model) pick(t *rapid.T) (*paper, string) {
	conn := rapid.SampledFrom(conns).Draw(t, "conn")
	var ids []string
	for i := range m.fresh {
		if id := fmt.Sprint("x", i+1); m.all[id] != nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return &paper{Seat: executor.Seat{ID: "none"}}, conn
	}
	return m.all[rapid.SampledFrom(ids).Draw(t, "executor")], conn
}

// attached is who is attached to a connection.
func (m *model) attached(conn string) *paper {
	for _, p := range m.all {
		if p.Connection == conn {
			return p
		}
	}
	return nil
}

// holds reports whether the connection holds the executor under the generation.
func (p *paper) holds(conn string, generation int64) bool {
	return p.Confirmed && p.Connection == conn && p.Generation == generation
}

func (m *model) rest(p *paper) {
	if p.Confirmed && p.Connection == "" && p.pins == 0 {
		p.idle = m.now.Add(bound.ExecutorIdle.Duration())
	}
}

func is(t *rapid.T, err error, code fault.Code, want bool) bool {
	t.Helper()
	if fault.Is(err, code) != want || !want && err != nil {
		t.Fatalf("%v; %s wanted: %v", err, code, want)
	}
	return err == nil
}

func (m *model) create(t *rapid.T) {
	conn, id, proof := rapid.SampledFrom(conns).Draw(t, "conn"), m.id(), m.id()
	_, err := m.book.Create(id, conn, hash(proof), m.now)
	if is(t, err, fault.Conflict, m.attached(conn) != nil) {
		m.all[id] = &paper{Seat: executor.Seat{ID: id, Generation: 1, Connection: conn}, proof: proof, until: m.now.Add(bound.ExecutorConfirm.Duration())}
	}
}

func (m *model) confirm(t *rapid.T) {
	p, conn := m.pick(t)
	proof := rapid.SampledFrom([]string{p.proof, p.proof, "wrong"}).Draw(t, "proof")
	_, err := m.book.Confirm(p.ID, conn, hash(proof))
	if is(t, err, fault.StaleConnection, m.all[p.ID] == nil || p.Confirmed || p.Connection != conn || proof != p.proof) {
		p.Confirmed, p.until = true, time.Time{}
	}
}

func (m *model) resume(t *rapid.T) {
	p, conn := m.pick(t)
	proof := rapid.SampledFrom(p.proofs()).Draw(t, "proof")
	before := p.Connection
	seat, err := m.book.Resume(p.ID, conn, hash(proof))
	if m.all[p.ID] == nil || proof != p.proof && (proof == "" || proof != p.candidate) {
		is(t, err, fault.StaleConnection, true)
		return
	}
	if other := m.attached(conn); other != nil && other != p {
		is(t, err, fault.Conflict, true)
		return
	}
	if err != nil || seat.Generation != p.Generation+1 {
		t.Fatalf("resumed: %+v, %v", seat, err)
	}
	if proof != p.proof { // promoted
		p.dead = append(p.dead, p.proof)
		p.proof, p.candidate = proof, ""
	}
	p.kill()
	p.Generation++
	p.Connection, p.Confirmed, p.until, p.idle = conn, true, time.Time{}, time.Time{}
	if before != conn && m.book.Authority(p.ID, p.Generation, before) == nil {
		t.Fatal("the connection before is not fenced")
	}
}

func (m *model) rotate(t *rapid.T) {
	p, conn := m.pick(t)
	generation := p.Generation - int64(rapid.IntRange(0, 1).Draw(t, "behind"))
	candidate := m.id()
	_, err := m.book.Rotate(p.ID, generation, conn, hash(candidate), m.now)
	if is(t, err, fault.StaleConnection, !p.holds(conn, generation)) {
		p.kill()
		p.candidate, p.pending = candidate, m.now.Add(bound.RotationPending.Duration())
	}
}

func (m *model) rotated(t *rapid.T) {
	p, conn := m.pick(t)
	proof := rapid.SampledFrom(p.proofs()).Draw(t, "proof")
	_, err := m.book.Rotated(p.ID, p.Generation, conn, hash(proof))
	if is(t, err, fault.StaleConnection, !p.holds(conn, p.Generation) || proof == "" || proof != p.candidate) {
		p.dead = append(p.dead, p.proof)
		p.proof, p.candidate, p.pending = p.candidate, "", time.Time{}
	}
}

func (m *model) release(t *rapid.T) {
	p, conn := m.pick(t)
	_, err := m.book.Release(p.ID, p.Generation, conn)
	if is(t, err, fault.StaleConnection, m.all[p.ID] == nil || p.Connection != conn) {
		delete(m.all, p.ID)
	}
}

func (m *model) disconnect(t *rapid.T) {
	conn := rapid.SampledFrom(conns).Draw(t, "conn")
	m.book.Disconnect(conn, m.now)
	if p := m.attached(conn); p != nil {
		p.Connection = ""
		m.rest(p)
	}
}

func (m *model) pin(t *rapid.T) {
	p, _ := m.pick(t)
	if p.pins > 0 && rapid.Bool().Draw(t, "unpin") {
		m.book.Unpin(p.ID, m.now)
		p.pins--
		m.rest(p)
		return
	}
	m.book.Pin(p.ID)
	p.pins++
	p.idle = time.Time{}
}

func (m *model) pass(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{1, time.Minute - 1, time.Minute, bound.ExecutorIdle.Duration() - 1, bound.ExecutorIdle.Duration()}).Draw(t, "passes"))
	m.book.Expire(m.now)
	over := func(at time.Time) bool { return !at.IsZero() && !m.now.Before(at) }
	for id, p := range m.all {
		if over(p.pending) {
			p.kill()
		}
		if over(p.until) || over(p.idle) {
			delete(m.all, id)
		}
	}
}

// check also tries what a client that keeps its proofs needs: the current one
// always gets in, from a connection that is free.
func (m *model) check(t *rapid.T) {
	attached := map[string]int{}
	for i := range m.fresh {
		id := fmt.Sprint("x", i+1)
		var want executor.Seat
		if p := m.all[id]; p != nil {
			want = p.Seat
			if want.Connection != "" {
				attached[want.Connection]++
			}
		}
		if diff := cmp.Diff(want, m.book.At(id)); diff != "" {
			t.Fatal(diff)
		}
		for _, conn := range conns {
			for generation := range want.Generation + 2 {
				if err := m.book.Authority(id, generation, conn); (err == nil) != (want.Confirmed && want.Connection == conn && want.Generation == generation && generation > 0) {
					t.Fatalf("authority of %s under %d at %s: %v", id, generation, conn, err)
				}
			}
		}
	}
	for conn, n := range attached {
		if n > 1 {
			t.Fatalf("%s has %d executors", conn, n)
		}
	}
	if m.book.Len() != len(m.all) {
		t.Fatalf("%d executors, want %d", m.book.Len(), len(m.all))
	}
}

// Executors are their model, whichever replies are lost: invariants I13, I14, I16
// to I20 after every step.
func TestExecutorsAreTheirModel(t *testing.T) {
	modelsize.Set(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &model{book: executor.New(), now: time.Unix(0, 0), all: map[string]*paper{}}
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "confirm": m.confirm, "resume": m.resume, "again": m.resume, "rotate": m.rotate, "rotated": m.rotated,
			"release": m.release, "disconnect": m.disconnect, "pin": m.pin, "pass": m.pass, "": m.check,
		})
		for id, p := range m.all { // whoever keeps the current proof gets back in
			if _, err := m.book.Resume(id, "new "+id, hash(p.proof)); err != nil {
				t.Fatalf("%s is locked out: %v", id, err)
			}
		}
	})
}

func TestThereAreAtMost256Executors(t *testing.T) {
	b := executor.New()
	for i := range bound.Executors.Int() + 1 {
		_, err := b.Create(fmt.Sprint(i), fmt.Sprint("c", i), hash("p"), time.Unix(0, 0))
		if fault.Is(err, fault.LimitExceeded) != (i == bound.Executors.Int()) {
			t.Errorf("executor %d: %v", i, err)
		}
	}
}
