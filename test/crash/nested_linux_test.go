package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
	"github.com/stewardhost/steward/test/program"
)

// programsAtOnce work at the same time.
const programsAtOnce = 4

// R21. Programs whose steps are calls, and of which parts run in a server behind
// steward that calls steward again, come to what they say, and to nothing twice, while
// the host is killed in the middle of them: what is in doubt is looked at, and what was
// not reached is done under the tx that its place has.
func TestNestedProgramsComeToWhatTheySay(t *testing.T) {
	programs := figure.Of(t, 8, 100, 3_000)
	if testing.Short() {
		programs = 2
	}
	seed := figure.Seed(t)
	n := newNested(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(programs)*time.Minute)
	defer stop()
	want := program.World{Items: map[string]string{}, Counts: map[string]int{}}
	n.opens()
	var all sync.WaitGroup
	next := make(chan func())
	for range programsAtOnce {
		all.Go(func() {
			for job := range next {
				job()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer all.Wait()
		defer close(next)
		for i := range programs {
			name := fmt.Sprintf("p%d", i)
			steps := program.Random(figure.Rand(seed, i), name, 3)
			want.Apply(name+".0", steps)
			next <- func() {
				root := []program.Step{{Do: program.Run, Steps: steps}}
				if err := n.outer.Run(ctx, time.Now().UnixMilli(), name, root); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}()
	kills, chance := 0, figure.Rand(seed, 1_000_000)
	for working := true; working; {
		select {
		case <-done:
			working = false
		case <-time.After(time.Duration(30+chance.IntN(300)) * time.Millisecond):
			n.cut()
			kills++
		}
	}
	runs := n.judge(ctx, want)
	n.verify()
	n.stop()
	figure.Tell(t, "R21", "seed=%d programs=%d kills=%d runs=%d counts=%d items=%d in doubt=%d taken up=%d", seed, programs, kills,
		runs, len(want.Counts), len(want.Items), n.doubts, n.taken)
}

// nested is a stage with an interpreter behind the host.
type nested struct {
	*stage
	outer, inner *program.Runner // as the app that has programs, and as the interpreter
	runs         string          // the interpreter's log

	mu            sync.Mutex
	gone          []int // processes of killed hosts
	doubts, taken int
}

func newNested(t *testing.T) *nested {
	t.Helper()
	n := &nested{stage: newStage(t, 0)}
	n.runs = filepath.Join(n.dir, "runs")
	access := filepath.Join(n.dir, "access")
	h := hosttest.StartWith(t, hosttest.Options{Home: n.home, Args: hosttest.Wide})
	review := h.Import(h.Config(map[string]hosttest.Server{
		"interpreter": {Command: hosttest.Build(t, "./test/interpreter", ""), Args: []string{access, n.runs}}}))[0]
	h.Approve("interpreter", map[string]string{"run": "write"})
	runner := func(name string) *program.Runner {
		app := h.AddApp(name)
		app.Grant("oracle", "effect")
		app.Grant("@items", "put", "get")
		app.Grant("interpreter", "run")
		return &program.Runner{Mend: n.mend, Access: program.Access{Base: n.base(), Token: app.RPC, Oracle: program.Target(n.oracle),
			Items: program.Target(n.items), Self: program.Target{Resource: review.Resource.ID, Contract: review.Methods[0].Contract}}}
	}
	n.outer, n.inner = runner("outer"), runner("inner")
	h.Stop()
	raw, err := json.Marshal(n.inner.Access)
	if err != nil {
		t.Fatal(err)
	}
	n.write("access", raw)
	return n
}

// mend decides about a step that is no ok: an effect in doubt is looked for where it
// would be, and a program that broke off is gone through from its first step.
func (n *nested) mend(ctx context.Context, job program.Job, s program.Step, a *rpcwire.Response) (again bool, err error) {
	if a.Effects == rpcwire.None || a.Effects == rpcwire.NotDispatched {
		return true, nil
	}
	if s.Do == program.Run {
		if a.Status == rpcwire.Indeterminate {
			if err := n.settle(ctx, job, "give-up"); err != nil {
				return false, err
			}
		}
		n.count(&n.taken)
		return false, n.inner.Run(ctx, job.Born, job.Place, s.Steps)
	}
	if s.Do != program.Count || a.Status != rpcwire.Indeterminate {
		return false, fmt.Errorf("%s %+v", a.Status, a.Error)
	}
	if err := n.left(ctx); err != nil {
		return false, err
	}
	if n.seen()[job.Nonce()] > 0 {
		return false, n.settle(ctx, job, "happened")
	}
	return true, n.settle(ctx, job, "did-not")
}

func (n *nested) count(which *int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*which++
}

// settle says what became of a call, unless its answer came late and said so. Who
// worked for a dead host does so no more when it returns.
func (n *nested) settle(ctx context.Context, job program.Job, statement string) error {
	n.count(&n.doubts)
	if err := n.left(ctx); err != nil {
		return err
	}
	for {
		owner := n.owner()
		row, err := client.Call(ctx, owner, adminwire.JournalReconcile, adminwire.Reconcile{Invocation: job.Tx(), Statement: statement})
		if err != nil {
			row, err = client.Call(ctx, owner, adminwire.JournalShow, adminwire.JournalRef{Invocation: job.Tx()})
		}
		owner.Close()
		if err == nil && row.ReconciledBy != "" {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		moment(ctx, 5*time.Millisecond)
	}
}

// cut kills the host in the middle and starts another.
func (n *nested) cut() {
	n.t.Helper()
	n.up.Process.Signal(syscall.SIGSTOP) // so that it starts nobody who is not seen
	below := descendants(n.t, n.up.Process.Pid)
	n.kill()
	n.mu.Lock()
	n.gone = append(n.gone, below...)
	n.mu.Unlock()
	n.opens()
}

// left waits until nobody works for a dead host.
func (n *nested) left(ctx context.Context) error {
	for {
		n.mu.Lock()
		n.gone = slices.DeleteFunc(n.gone, func(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
		rest := len(n.gone)
		n.mu.Unlock()
		if rest == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		moment(ctx, 5*time.Millisecond)
	}
}

// judge compares what there is with what the programs say, and counts the runs.
func (n *nested) judge(ctx context.Context, want program.World) (runs int) {
	n.t.Helper()
	got := program.World{Items: map[string]string{}, Counts: map[string]int{}}
	for nonce, times := range n.seen() {
		place, _, _ := strings.Cut(nonce, "#")
		got.Counts[place] += times
	}
	for key := range want.Items {
		value, _, err := n.inner.Get(ctx, key)
		if err != nil {
			n.t.Fatal(err)
		}
		if value != nil {
			got.Items[key] = *value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		n.t.Error(diff)
	}
	raw, err := os.ReadFile(n.runs)
	if err != nil {
		n.t.Fatal(err)
	}
	places := strings.Fields(string(raw))
	slices.Sort(places)
	if twice := len(places) - len(slices.Compact(slices.Clone(places))); twice > 0 {
		n.t.Errorf("%d programs were begun twice", twice)
	}
	return len(places)
}

// descendants are the processes below one.
func descendants(t *testing.T, pid int) (below []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int]int{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var parent int
		fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
		if parent, err = strconv.Atoi(string(fields[1])); err != nil {
			t.Fatal(err)
		}
		one, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parents[one] = parent
	}
	for one := range parents {
		for up := parents[one]; up > 1; up = parents[up] {
			if up == pid {
				below = append(below, one)
				break
			}
		}
	}
	return below
}
