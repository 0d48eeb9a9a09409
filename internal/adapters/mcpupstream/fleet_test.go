package mcpupstream_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/fleet"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

func stdio(name string, spec childprocess.Spec) func() *mcpupstream.Client {
	return func() *mcpupstream.Client {
		return mcpupstream.NewStdio(name, spec, mcpupstream.Options{Version: "test"})
	}
}

func TestFleetKeepsOneConnectionAnEntry(t *testing.T) {
	t.Parallel()
	told := make(chan id.Adapter, 4)
	opened := make(chan id.Adapter, 4)
	f := fleet.New(fleet.Listener{
		Changed: func(a id.Adapter) { told <- a },
		Opened:  func(_ context.Context, a id.Adapter, _ mcpupstream.Listing) error { opened <- a; return nil },
	})
	defer f.Close()
	spec := childprocess.Spec{
		Command: os.Args[0], Args: []string{"upstream", "tells changes", filepath.Join(t.TempDir(), "log")}, Env: childprocess.BaseEnv(),
	}
	one, two := id.New[id.Adapter](), id.New[id.Adapter]()
	f.Use(one, stdio("one", spec))
	f.Use(two, stdio("two", spec))
	c, ok := f.Client(one)
	if !ok || c.Status() != (mcpupstream.Status{Name: "one", State: view.ConnectionIdle}) {
		t.Fatalf("known %v, status %+v", ok, c.Status())
	}
	f.Use(one, stdio("other", childprocess.Spec{Command: "no-such-command"}))
	if same, _ := f.Client(one); same != c {
		t.Error("a known entry got a new connection")
	}
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.Answered {
		t.Errorf("event %+v", got)
	}
	if got := <-opened; got != one {
		t.Errorf("opened %v, want %v", got, one)
	}
	if got := <-told; got != one {
		t.Errorf("told of %v, want %v", got, one)
	}
	f.Drop(one)
	f.Drop(one)
	if _, known := f.Client(one); known || c.Ready() {
		t.Errorf("after Drop: known %v, ready %v", known, c.Ready())
	}
	other, _ := f.Client(two)
	if err := other.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Close()
	f.Use(one, stdio("one", spec))
	if _, known := f.Client(one); known || other.Ready() {
		t.Errorf("after Close: known %v, ready %v", known, other.Ready())
	}
}
