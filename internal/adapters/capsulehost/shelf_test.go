package capsulehost_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/adapters/capsulehost"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
)

// Who waits for one capsule's tools or for its call hears at once that there will be
// no answer, whatever runs it.
func TestWhoWaitsForACapsuleAloneIsToldThatThereIsNoAnswer(t *testing.T) {
	dir := t.TempDir()
	manifest := fmt.Sprintf("name = \"nothing\"\nversion = \"1\"\nruntime = \"wasm\"\nmodule = \"./m.wasm\"\n[publish]\n%q = {}\n%q = {}\n[subscribe]\n%q = { handler = \"tools\" }\n%q = { handler = \"execute\" }\n",
		topic.ToolsResponse+".*", topic.Executed+".*", topic.ToolsRequest, topic.Execute+".*")
	for name, content := range map[string]string{"Capsule.toml": manifest, "m.wasm": nothing} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, nil)
	module, err := b.Inspect(dir, nil)
	if err == nil {
		err = b.Start(module)
	}
	if err != nil {
		t.Fatal(err)
	}
	ofModule := next(t, b.seats)
	_, ofProgram := b.install(t, "mute")
	for what, s := range map[string]*seat{"a module": ofModule, "a program": ofProgram} {
		s.take(ask(t, topic.ToolsRequest, "list", "{}"))
		if got := next(t, s.unheard); got != "list true" {
			t.Errorf("%s: %s", what, got)
		}
		s.take(callOf(t, "call", "slow"))
		if got := next(t, s.unheard); got != "call true" {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// A capsule that keeps the look at its tools waiting keeps nobody else from taking it
// away, or from anything else about capsules.
func TestACapsuleThatIsLookedAtCanBeRemoved(t *testing.T) {
	b := newBench(t, nil)
	begun := make(chan struct{})
	done := func(context.Context, string) error { return nil }
	shelf, err := capsulehost.OpenShelf(t.Context(), capsulehost.Book{
		List:   func(context.Context) ([]capsulehost.Page, error) { return nil, nil },
		Put:    func(context.Context, string, []byte) error { return nil },
		Remove: done,
	}, b.Host, capsulehost.Pool{
		Free: done, Remove: done,
		Ensure: func(context.Context, string, bool) error { return nil },
		Place:  func(context.Context, capsulehost.Installed, bool) error { return nil },
		Look: func(ctx context.Context, _ capsulehost.Installed) error {
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := b.install(t, "mute")
	ctx, giveUp := context.WithCancel(t.Context())
	installed := make(chan error)
	go func() {
		_, err := shelf.Install(ctx, c.Folder, nil)
		installed <- err
	}()
	next(t, begun)
	removed := make(chan error, 1)
	go func() {
		if n := len(shelf.List()); n != 1 {
			t.Errorf("%d capsules are listed", n)
		}
		removed <- shelf.Remove(t.Context(), "mute")
	}()
	if err := next(t, removed); err != nil {
		t.Error(err)
	}
	giveUp()
	if next(t, installed) == nil {
		t.Error("the look has ended well")
	}
	if len(shelf.List()) != 0 || len(b.Statuses()) != 0 {
		t.Error("a removed capsule is there")
	}
}
