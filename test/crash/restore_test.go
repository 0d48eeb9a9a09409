package crash_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// types types a command for the stage's home and wants it to end with exit code 0.
func (s *stage) types(words ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), s.program, append([]string{"--home", s.home}, words...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("steward %s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return string(out)
}

// hand is the owner, who calls the oracle without a grant.
type hand struct {
	*stage
	owner *client.Client
}

func (h hand) call(tx string, pause time.Duration) (adminwire.Answer, error) {
	args, err := strictjson.Encode(map[string]any{"nonce": "owner " + tx, "pause_ms": pause.Milliseconds()})
	if err != nil {
		return adminwire.Answer{}, err
	}
	return client.Call(h.t.Context(), h.owner, adminwire.CallMethod, adminwire.Call{Tx: tx, Resource: h.oracle.Resource, Method: "effect", Args: args})
}

// approve says yes to the oracle again, as it stands.
func (h hand) approve() {
	h.t.Helper()
	ctx := h.t.Context()
	review, err := client.Call(ctx, h.owner, adminwire.ImportRefresh, adminwire.ServerRef{Server: h.oracle.Resource})
	if err == nil {
		_, err = client.Call(ctx, h.owner, adminwire.ReviewApprove, adminwire.Approve{Resource: h.oracle.Resource, Shown: review.Shown,
			Methods: []adminwire.Choice{{Method: "effect", Effects: []string{"write"}}}})
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// R29, A32. A backup of a busy host is restored after more was called and a right was
// taken back. Whatever is sent again after that has no effect: the oracle sees nothing.
func TestARestoreExecutesNothingAgain(t *testing.T) {
	s := newStage(t, 2)
	s.opens()
	busy, app := s.clients[0], s.clients[1]
	busy.sync, app.sync = false, false
	h := hand{s, s.owner()}
	over := app.newTx()
	if a, err := h.call(over, 0); err != nil || a.Status != "ok" {
		t.Fatalf("%+v %v", a, err)
	}

	// The copy is made while one call is under way and another app goes on calling.
	load := make(chan []ask)
	stop := make(chan struct{})
	go func() {
		var sent []ask
		for i := 0; ; i++ {
			select {
			case <-stop:
				load <- sent
				return
			default:
			}
			q := busy.effect(busy.newTx(), fmt.Sprintf("busy %d", i), 0, 0, "")
			if _, err := busy.send(t.Context(), q); err != nil {
				t.Error(err)
			}
			sent = append(sent, q)
		}
	}()
	copied, underWay, underWayTime := h.copyUnderWay()
	close(stop)
	all := <-load
	since := app.newTx()
	if a, err := h.call(since, 0); err != nil || a.Status != "ok" {
		t.Fatalf("%+v %v", a, err)
	}
	if _, err := client.Call(t.Context(), h.owner, adminwire.GrantsRevoke, adminwire.RevokeGrants{App: busy.ID, Resource: s.oracle.Resource}); err != nil {
		t.Fatal(err)
	}
	h.owner.Close()
	s.stop()
	before := s.seen()

	s.types("restore", copied, "--replace")
	s.opens()
	h.owner = s.owner()
	defer h.owner.Close()
	for _, q := range all {
		if a, err := busy.send(t.Context(), q); err != nil || a.Error == nil || a.Error.Code != "unauthenticated" {
			t.Fatalf("a token of before the restore: %+v %v", a, err)
		}
	}
	if a, err := h.call(over, 0); err == nil && a.Status == "ok" && !a.Replayed {
		t.Errorf("%+v", a)
	}
	h.approve()
	got := map[string]string{}
	for name, tx := range map[string]string{"over": over, "under way": underWay, "since": since} {
		pause := time.Duration(0)
		if tx == underWay {
			pause = underWayTime // the same request again
		}
		a, err := h.call(tx, pause)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = a.Status
		if a.Error != nil {
			got[name] += " " + a.Error.Code
		}
	}
	want := map[string]string{"over": "ok", "under way": "indeterminate indeterminate", "since": "error tx_expired"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	// The app comes back under new tokens and the owner's new yes.
	if _, err := client.Call(t.Context(), h.owner, adminwire.AppsDisconnect, adminwire.AppRef{App: busy.ID}); err != nil {
		t.Fatal(err)
	}
	added, err := client.Call(t.Context(), h.owner, adminwire.AppsAdd, adminwire.AddApp{Name: "app0 again"})
	if err == nil {
		_, err = client.Call(t.Context(), h.owner, adminwire.GrantsAdd, adminwire.AddGrants{App: added.ID, Resource: s.oracle.Resource, Methods: []string{"effect"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range added.Tokens {
		if tok.Audience == "rpc" {
			busy.RPC = tok.Token
		}
	}
	expired := 0
	for _, q := range all {
		a, err := busy.send(t.Context(), q)
		if err != nil || a.Error == nil || a.Error.Code != "tx_expired" || a.Effects != "uncertain" {
			t.Fatalf("what was sent before the restore: %+v %v", a, err)
		}
		expired++
	}
	if d := cmp.Diff(before, s.seen()); d != "" {
		t.Errorf("effects after the restore: %s", d)
	}
	s.verify()
	s.stop()
	figure.Tell(t, "R29", "sent_again=%d tx_expired=%d effects_again=0", len(all)+3, expired+1)
}

// copyUnderWay makes a backup while a call is under way, and waits for the call's end.
// On a machine on which the call is over first, another one takes longer.
func (h hand) copyUnderWay() (copied, tx string, takes time.Duration) {
	h.t.Helper()
	for takes = 2 * time.Second; ; takes *= 2 {
		tx = h.clients[1].newTx()
		copied = filepath.Join(h.dir, tx+".backup")
		ended := make(chan error, 1)
		go func() { _, err := h.call(tx, takes); ended <- err }()
		meanwhile := h.underWay(tx)
		if meanwhile {
			h.types("backup", copied)
			meanwhile = len(ended) == 0
		}
		if err := <-ended; err != nil {
			h.t.Fatal(err)
		}
		if meanwhile {
			return copied, tx, takes
		}
	}
}

// underWay waits until a call of the owner's was sent, and reports whether it was seen
// before its end.
func (h hand) underWay(tx string) (seen bool) {
	h.t.Helper()
	hosttest.WaitFor(h.t, "the call to be under way", func() error {
		got, err := client.Call(h.t.Context(), h.owner, adminwire.JournalShow, adminwire.JournalRef{Invocation: tx})
		switch {
		case err != nil:
			return err
		case got.State == "reserved":
			return fmt.Errorf("it is %s", got.State)
		}
		seen = got.State == "dispatching"
		return nil
	})
	return seen
}
