// Package crash_test stops the host at the instants that its promises are about,
// and holds what it says afterwards against what an oracle has seen.
package crash_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// bench is a host with the oracle behind it.
type bench struct {
	*hosttest.Host
	t      *testing.T
	app    *hosttest.App
	review adminwire.Review
	log    string // the oracle's
	arm    string
	pause  int // milliseconds between the effect and its answer
}

func setUp(t *testing.T, point failpoint.Point, action string) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, log: filepath.Join(dir, "effects"), arm: filepath.Join(dir, "arm")}
	if point == failpoint.Sent { // where the answer must not be there yet
		b.pause = 300
	}
	b.Host = hosttest.StartWith(t, hosttest.Options{Tags: "failpoints", Args: hosttest.Wide, Env: []string{
		fmt.Sprintf("STEWARD_FAILPOINTS=%s=%s", point, action), "STEWARD_FAILPOINT_ARM=" + b.arm}})
	oracle := hosttest.Build(t, "./test/oracle", "")
	b.review = b.Import(b.Config(map[string]hosttest.Server{"oracle": {Command: oracle, Args: []string{b.log}}}))[0]
	b.Approve("oracle", map[string]string{"effect": "write"})
	b.app = b.AddApp("app")
	b.app.Grant("oracle", "effect")
	return b
}

func (b *bench) request(tx, nonce string) rpcwire.Request {
	args, err := strictjson.Encode(map[string]any{"nonce": nonce, "pause_ms": b.pause})
	if err != nil {
		b.t.Fatal(err)
	}
	return rpcwire.Request{Tx: tx, Resource: b.review.Resource.ID, Contract: b.review.Methods[0].Contract,
		Method: "effect", Args: args}
}

// effects counts what the oracle did under a nonce.
func (b *bench) effects(nonce string) int {
	raw, err := os.ReadFile(b.log)
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	return strings.Count(string(raw), nonce+"\n")
}

func (b *bench) send(tx, nonce string) rpcwire.Response {
	b.t.Helper()
	got, err := b.app.Send(b.request(tx, nonce))
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// raw sends and keeps the bytes of the answer.
func (b *bench) raw(tx, nonce string) []byte {
	b.t.Helper()
	r := b.request(tx, nonce)
	r.V = rpcwire.Version
	body, err := strictjson.Encode(r)
	if err != nil {
		b.t.Fatal(err)
	}
	_, raw := b.Post(rpcwire.Call.Path, b.app.RPC, body, nil)
	return raw
}

// wants says what a tx must give once the host has come back, and how often the
// effect may be seen then (proof, "Fault points").
type wants struct {
	point    failpoint.Point
	status   rpcwire.Status
	code     string
	replayed bool
	least    int
	most     int
	cold     bool // the point lies before an executor that is not ready
}

var points = []wants{
	{point: failpoint.Parsed, status: rpcwire.OK, least: 1, most: 1},
	{point: failpoint.Reserved, status: rpcwire.OK, least: 1, most: 1, cold: true},
	{point: failpoint.Marked, status: rpcwire.Indeterminate, code: "indeterminate", replayed: true, least: 0, most: 0},
	{point: failpoint.Sent, status: rpcwire.Indeterminate, code: "indeterminate", replayed: true, least: 0, most: 1},
	{point: failpoint.HalfRead, status: rpcwire.Indeterminate, code: "indeterminate", replayed: true, least: 1, most: 1},
	{point: failpoint.AnswerRead, status: rpcwire.Indeterminate, code: "indeterminate", replayed: true, least: 1, most: 1},
	{point: failpoint.Settled, status: rpcwire.OK, replayed: true, least: 1, most: 1},
	{point: failpoint.HalfReplied, status: rpcwire.OK, replayed: true, least: 1, most: 1},
}

func TestEveryFaultPointTellsTheTruthAfterwards(t *testing.T) {
	for _, w := range points {
		for _, action := range []string{"kill", "error", "hang", "panic"} {
			t.Run(string(w.point)+" "+action, func(t *testing.T) {
				t.Parallel()
				b := setUp(t, w.point, action)
				b.strike(w, action)
				b.afterwards(w)
			})
		}
	}
}

const struck = "struck"

// strike makes one call run into the point, and brings the host back.
func (b *bench) strike(w wants, action string) {
	b.t.Helper()
	if w.cold {
		b.Restart() // the upstream's process is gone and not yet needed
	} else {
		b.send(id.NewTx(time.Now()).String(), "warm")
	}
	if err := os.WriteFile(b.arm, nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
	answered := make(chan struct{})
	tx := id.NewTx(time.Now()).String()
	if err := os.WriteFile(b.log+".tx", []byte(tx), 0o600); err != nil {
		b.t.Fatal(err)
	}
	go func() {
		defer close(answered)
		_, _ = b.app.Send(b.request(tx, struck)) // what it says, if anything, is not believed
	}()
	hosttest.WaitFor(b.t, "the point to be hit", func() error {
		if !strings.Contains(b.Log(), fmt.Sprintf("failpoint %s: %s", w.point, action)) {
			return fmt.Errorf("the host printed %s", b.Log())
		}
		return nil
	})
	if action == "error" || action == "panic" {
		<-answered
	}
	if action != "error" { // a panic outside a door ends the process too
		b.Kill()
	}
	b.Restart()
	<-answered
}

// afterwards asks the same tx again and again, and counts.
func (b *bench) afterwards(w wants) {
	b.t.Helper()
	raw, err := os.ReadFile(b.log + ".tx")
	if err != nil {
		b.t.Fatal(err)
	}
	tx := string(raw)
	first := b.send(tx, struck)
	code := ""
	if first.Error != nil {
		code = first.Error.Code
	}
	if first.Status != w.status || code != w.code || first.Replayed != w.replayed {
		b.t.Errorf("the same tx gives %s %q replayed %v, want %s %q %v", first.Status, code, first.Replayed, w.status, w.code, w.replayed)
	}
	if w.status == rpcwire.Indeterminate && (first.Effects != rpcwire.Uncertain || first.Result != nil) {
		b.t.Errorf("a doubt says effects %s, result %s", first.Effects, first.Result)
	}
	once := b.raw(tx, struck)
	if again := b.raw(tx, struck); !bytes.Equal(once, again) {
		b.t.Errorf("the answer changes:\n%s\n%s", once, again)
	}
	if n := b.effects(struck); n < w.least || n > w.most {
		b.t.Errorf("the effect happened %d times, want %d to %d", n, w.least, w.most)
	}
	var v adminwire.Verification
	b.JSON(&v, "journal", "verify")
	if !v.Holds {
		b.t.Errorf("the trail does not hold: %+v", v)
	}
}
