package signin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/service/signin"
)

var errDead = errors.New("dead")

// world is an issuer, a browser and a store in memory.
type world struct {
	mu       sync.Mutex
	server   credential.Server
	life     time.Duration
	fails    error
	slow     time.Duration // of a renewal
	given    int           // tokens so far
	renewals int
	kept     map[string]credential.Credential
	answer   chan credential.Callback
	state    string
}

func (w *world) Discover(context.Context, string) (credential.Server, error) { return w.server, nil }
func (w *world) Register(context.Context, credential.Server, string) (credential.Registration, error) {
	return credential.Registration{Client: "c", Method: "none"}, nil
}
func (w *world) Known(_ credential.Server, client string, _ secret.Secret) credential.Registration {
	return credential.Registration{Client: client}
}
func (w *world) Request(_ credential.Server, _ credential.Registration, _, state, challenge string) (string, error) {
	w.state = state
	if len(state) < 26 || len(challenge) != 43 {
		return "", fmt.Errorf("state %q, challenge %q", state, challenge)
	}
	return "link", nil
}
func (w *world) Exchange(_ context.Context, _ credential.Server, _ credential.Registration, code, verifier, _ string, now time.Time) (credential.Token, error) {
	if code != "code" || len(verifier) < 43 {
		return credential.Token{}, errDead
	}
	return w.token(now), nil
}

func (w *world) token(now time.Time) credential.Token {
	w.given++
	return credential.Token{Access: secret.Of(fmt.Sprint("access-", w.given)), Refresh: secret.Of(fmt.Sprint("refresh-", w.given)), At: now, Until: now.Add(w.life)}
}
func (w *world) Refresh(ctx context.Context, k credential.Credential, now time.Time) (credential.Token, error) {
	w.renewals++
	select {
	case <-time.After(10*time.Millisecond + w.slow):
	case <-ctx.Done():
		w.given++ // the issuer has given it all the same
		return credential.Token{}, ctx.Err()
	}
	if w.fails != nil {
		return credential.Token{}, w.fails
	}
	if k.Token.Refresh.Reveal() != fmt.Sprint("refresh-", w.given) {
		return credential.Token{}, errDead
	}
	return w.token(now), nil
}
func (w *world) Dead(err error) bool                { return errors.Is(err, errDead) }
func (w *world) Redirect() string                   { return "http://127.0.0.1/x" }
func (w *world) Answer() <-chan credential.Callback { return w.answer }
func (w *world) Close()                             {}
func (w *world) Credential(_ context.Context, _ id.Owner, name string) (credential.Credential, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.kept[name]
	return c, ok, nil
}
func (w *world) PutCredential(_ context.Context, _ id.Owner, name string, c credential.Credential) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept[name] = c
	return nil
}

func (w *world) ReplaceCredential(_ context.Context, _ id.Owner, name string, was, now credential.Credential) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.kept[name]; !ok || !c.Is(was) {
		return fault.New(fault.NotFound, "gone")
	}
	w.kept[name] = now
	return nil
}

func newWorld(t *testing.T) (*world, *signin.Desk) {
	w := &world{server: credential.Server{Issuer: "https://as.example", TellsSelf: true}, life: time.Hour, kept: map[string]credential.Credential{}, answer: make(chan credential.Callback, 1)}
	d := signin.New(signin.Ports{
		Store: w, Issuers: func(string) (signin.Issuers, error) { return w, nil }, Listen: func(context.Context, string) (signin.Browser, error) { return w, nil },
		Fix: func(name string) string { return "authorize " + name }, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(d.Close)
	return w, d
}

var owner = id.New[id.Owner]()

func signIn(t *testing.T, w *world, d *signin.Desk) {
	t.Helper()
	link, err := d.Begin(t.Context(), signin.Ask{Owner: owner, Name: "far", URL: "u"})
	if err != nil || link.URL != "link" {
		t.Fatal(link, err)
	}
	w.answer <- credential.Callback{State: w.state, Code: "code", Issuer: w.server.Issuer}
	if err := d.Wait(t.Context(), owner, "far"); err != nil {
		t.Fatal(err)
	}
}

// 100 calls over a minute with tokens of two seconds: each call has one, and each is
// renewed once (FF50).
func TestATokenIsRenewedOnceAheadOfItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t)
		w.life = 2 * time.Second
		lent := d.Lend(owner, "far", "u", "")
		if got, err := lent.Token(t.Context()); err != nil || !got.IsZero() {
			t.Fatalf("before: %v", err)
		}
		signIn(t, w, d)
		for range 100 {
			<-time.After(600 * time.Millisecond)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if got, err := lent.Token(t.Context()); err != nil || got.IsZero() {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		if least, most := 28, 38; w.renewals < least || w.renewals > most {
			t.Errorf("%d renewals", w.renewals)
		}
		// Another process knows the newest.
		if got := w.kept["far"].Token.Refresh.Reveal(); got != fmt.Sprint("refresh-", w.given) {
			t.Errorf("kept %s of %d", got, w.given)
		}
		if got, _ := d.Lend(owner, "far", "another", "").Token(t.Context()); !got.IsZero() {
			t.Error("another address got the credential")
		}
		d.Close()
	})
}

// A refused renewal needs the owner and says how; a failed one does not, and the
// token is used to its end (FF51). What the owner then does counts at once (FF52).
func TestOnlyTheOwnerMendsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t)
		signIn(t, w, d)
		lent := d.Lend(owner, "far", "u", "")
		w.fails = errors.New("down")
		<-time.After(59*time.Minute + 30*time.Second)
		if got, err := lent.Token(t.Context()); err != nil || got.Reveal() != "access-1" {
			t.Errorf("while it is good: %v", err)
		}
		<-time.After(time.Minute)
		if _, err := lent.Token(t.Context()); !fault.Is(err, fault.Unavailable) || fault.From(err).Details["reason"] != nil {
			t.Errorf("while the issuer is down: %v", err)
		}
		w.fails = errDead
		for range 3 {
			_, err := lent.Token(t.Context())
			want := map[string]any{"reason": credential.NeedsOwner, "fix": "authorize far"}
			if diff := cmp.Diff(want, fault.From(err).Details); diff != "" || !strings.Contains(err.Error(), "authorize far") {
				t.Errorf("%v %s", err, diff)
			}
		}
		if w.renewals != 3 || !w.kept["far"].Refused || !lent.Standing().NeedsOwner {
			t.Errorf("%d renewals, %+v", w.renewals, lent.Standing())
		}
		w.fails = nil
		signIn(t, w, d)
		if got, err := lent.Token(t.Context()); err != nil || got.Reveal() != "access-2" {
			t.Errorf("after the owner's yes: %v", err)
		}
		d.Close()
	})
}

// A server that refuses a token gets another one; if that is refused too, the owner
// has to look.
func TestAServersRefusalIsBelievedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t)
		signIn(t, w, d)
		lent := d.Lend(owner, "far", "u", "")
		first, _ := lent.Token(t.Context())
		lent.Refused(secret.Of("an old one"))
		if same, _ := lent.Token(t.Context()); same.Reveal() != first.Reveal() || w.renewals != 0 {
			t.Error("the word about an old token counts")
		}
		lent.Refused(first)
		second, err := lent.Token(t.Context())
		if err != nil || second.Reveal() == first.Reveal() || w.renewals != 1 {
			t.Errorf("%v, %d renewals", err, w.renewals)
		}
		lent.Refused(second)
		if _, err := lent.Token(t.Context()); fault.From(err).Details["reason"] != credential.NeedsOwner {
			t.Errorf("twice: %v", err)
		}
		d.Close()
	})
}

// A caller who does not wait for a renewal burns nothing: it goes on, and the next
// one has what came of it. One that gets no answer ends by itself (FF50).
func TestARenewalIsNobodysToCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t)
		w.life = time.Minute
		signIn(t, w, d)
		lent := d.Lend(owner, "far", "u", "")
		w.slow = 10 * time.Second
		<-time.After(time.Minute)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lent.Token(short); !fault.Is(err, fault.Unavailable) {
			t.Errorf("a short wait: %v", err)
		}
		if got, err := lent.Token(t.Context()); err != nil || got.Reveal() != "access-2" || w.renewals != 1 {
			t.Errorf("the next one: %v, %d renewals", err, w.renewals)
		}
		w.slow = 24 * time.Hour
		<-time.After(time.Minute)
		began := time.Now()
		if _, err := lent.Token(t.Context()); !fault.Is(err, fault.Unavailable) || time.Since(began) > time.Minute {
			t.Errorf("without an answer: %v after %v", err, time.Since(began))
		}
		lasting := make(chan error)
		go func() {
			_, err := lent.Token(context.WithoutCancel(t.Context()))
			lasting <- err
		}()
		synctest.Wait()
		began = time.Now()
		lent.Refused(secret.Of("an old one")) // waits for no issuer
		if took := time.Since(began); took > 0 {
			t.Errorf("a refusal took %v", took)
		}
		d.Close()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		<-lasting
	})
}

// What an owner took away does not come back: by a renewal under way, a server's
// refusal, or a sign-in that somebody is about to end.
func TestARemovedCredentialStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t)
		remove := func() {
			d.Stop(owner, "far")
			w.mu.Lock()
			delete(w.kept, "far")
			w.mu.Unlock()
			d.Forget(owner, "far")
		}
		signIn(t, w, d)
		lent := d.Lend(owner, "far", "u", "")
		first, _ := lent.Token(t.Context())
		w.mu.Lock()
		delete(w.kept, "far") // and not yet forgotten
		w.mu.Unlock()
		lent.Refused(first)
		remove()
		signIn(t, w, d)
		w.slow = time.Second
		<-time.After(time.Hour)
		var renewing sync.WaitGroup
		renewing.Go(func() {
			if got, err := lent.Token(t.Context()); !fault.Is(err, fault.Unavailable) {
				t.Errorf("a renewed token of what was removed: %v, %v", got, err)
			}
		})
		synctest.Wait()
		remove()
		renewing.Wait()
		if _, err := d.Begin(t.Context(), signin.Ask{Owner: owner, Name: "far", URL: "u"}); err != nil {
			t.Fatal(err)
		}
		remove()
		select {
		case w.answer <- credential.Callback{State: w.state, Code: "code", Issuer: w.server.Issuer}:
			synctest.Wait()
		default:
		}
		if got, err := lent.Token(t.Context()); err != nil || !got.IsZero() || len(w.kept) != 0 {
			t.Errorf("%v, %v, %d kept", got, err, len(w.kept))
		}
		d.Close()
	})
}

// Flows that ended count for nothing, whether somebody asked for their end or not.
func TestOnlyFlowsUnderWayCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t)
		begin := func(i int) error {
			_, err := d.Begin(t.Context(), signin.Ask{Owner: owner, Name: fmt.Sprint("far-", i), URL: "u"})
			return err
		}
		for i := range 20 {
			if err := begin(i); err != nil {
				t.Fatalf("flow %d: %v", i, err)
			}
			w.answer <- credential.Callback{State: w.state, Code: "code", Issuer: w.server.Issuer}
			synctest.Wait()
		}
		if err := d.Wait(t.Context(), owner, "far-19"); err != nil {
			t.Errorf("the last one: %v", err)
		}
		for i := range bound.SignIns.Int() + 1 {
			if err := begin(i); (err != nil) != (i == bound.SignIns.Int()) {
				t.Errorf("flow %d under way: %v", i, err)
			}
		}
		if err := begin(0); err != nil {
			t.Errorf("in the place of one under way: %v", err)
		}
		d.Close()
	})
}

// A flow ends with what came back, with its time, or with a newer one.
func TestFlowsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t)
		begin := func() signin.Link {
			t.Helper()
			link, err := d.Begin(t.Context(), signin.Ask{Owner: owner, Name: "far", URL: "u"})
			if err != nil {
				t.Fatal(err)
			}
			return link
		}
		begin()
		w.answer <- credential.Callback{State: "forged", Code: "code", Issuer: w.server.Issuer}
		if err := d.Wait(t.Context(), owner, "far"); !fault.Is(err, fault.UpstreamFailed) || len(w.kept) != 0 {
			t.Errorf("a forged answer: %v", err)
		}
		begin()
		if err := d.Wait(t.Context(), owner, "far"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("nobody came: %v", err)
		}
		if err := d.Wait(t.Context(), owner, "far"); !fault.Is(err, fault.NotFound) {
			t.Errorf("nothing is under way: %v", err)
		}
		signIn(t, w, d)
		if link := begin(); link.Former != "" {
			t.Errorf("the same issuer is told as another: %+v", link)
		}
		w.server.Issuer = "https://other.example"
		if link := begin(); link.Former != "https://as.example" || link.Issuer != "https://other.example" {
			t.Errorf("another issuer is not told: %+v", link)
		}
		d.Close()
	})
}
