package buswing

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/stewardhost/steward/internal/adapters/natsbus"
	"github.com/stewardhost/steward/internal/adapters/natsbus/callout"
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/faces/cli/bus"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/broker"
)

// tryEvery is how often servers that were away when the host started are tried.
const tryEvery = time.Second

// Config is what servers of somebody else need to carry the bus of a data folder.
func Config(folder string) (string, error) {
	keys, err := keysOf(folder)
	if err != nil {
		return "", trouble.New(trouble.Unsafe, fault.From(err).Text, "mend that, then steward bus config")
	}
	return keys.Config(), nil
}

func keysOf(folder string) (callout.Keys, error) {
	return callout.Keep(filepath.Join(folder, bus.KeysFile))
}

// Keyed reports whether a folder has keys for servers of somebody else.
func Keyed(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, bus.KeysFile))
	return err == nil
}

func openOutside(p Parts, l natsbus.Listener) (*natsbus.Bus, error) {
	keys, err := keysOf(p.Folder)
	if err != nil {
		return nil, err
	}
	return natsbus.OpenOutside(l, natsbus.Outside{URL: p.Servers.URL, CA: p.Servers.CA, Keys: keys, Log: p.Log})
}

func (w *Wing) outside() bool { return w.parts.Servers.URL != "" }

// Start starts every installed capsule. Servers of somebody else are tried first: a
// host goes on without those that are away, and does not start with some that would
// not protect what it says.
func (w *Wing) Start(ctx context.Context) error {
	if w.outside() {
		_, err := w.open()
		switch {
		case fault.Is(err, fault.Unavailable):
			w.parts.Log.Warn("the bus is away; no capsule can be asked", "err", err)
			w.waitForServers()
		case err != nil:
			return trouble.New(trouble.Unsafe, fault.From(err).Text, "steward bus config, whose lines every server needs")
		}
	}
	w.Shelf.Resume(ctx)
	return nil
}

// waitForServers tries until the bus is there, and then wakes the capsules, which
// rest longer after each try.
func (w *Wing) waitForServers() {
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	w.waits.Go(func() {
		again := time.NewTicker(tryEvery)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
			if _, err := w.open(); err == nil {
				w.parts.Log.Info("the bus is there")
				w.host.Wake()
				return
			}
		}
	})
}

// Away is why no capsule can be asked, or nil.
func (w *Wing) Away() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bus != nil {
		return w.bus.Away()
	}
	return w.failed
}

// List is the broker's, but that nobody is told of no resources because the bus is
// away.
func (w *Wing) List(ctx context.Context, p topic.Principal) (describe.Result, error) {
	if err := w.Away(); err != nil {
		return describe.Result{}, err
	}
	return w.Broker.List(ctx, p)
}

// Read is the broker's, with the same exception.
func (w *Wing) Read(ctx context.Context, who broker.Asker, uri string) (broker.Found, error) {
	if err := w.Away(); err != nil {
		return broker.Found{}, err
	}
	return w.Broker.Read(ctx, who, uri)
}
