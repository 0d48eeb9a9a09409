// Package fleet is the set of upstream connections that a host uses, one for each
// entry. Knowing an entry starts nothing.
//
// One lock guards the set; a Fleet is safe for concurrent use. What a connection
// promises is its client's to say (mcpupstream).
package fleet

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Fleet is the set; use New.
type Fleet struct {
	hear Listener

	mu      sync.Mutex
	clients map[id.Adapter]*mcpupstream.Client
	closed  bool
}

// Listener is who hears of what upstreams offer; both are required.
type Listener struct {
	// Changed is told, on a goroutine of its own, that an upstream should be listed
	// again: it says that its tools have changed, or it has not been listed for
	// bound.RelistEvery.
	Changed func(id.Adapter)
	// Opened looks at what a new session offers, before a call can go out to it.
	Opened func(context.Context, id.Adapter, mcpupstream.Listing) error
}

// New returns an empty set.
func New(hear Listener) *Fleet {
	return &Fleet{hear: hear, clients: make(map[id.Adapter]*mcpupstream.Client)}
}

// Use makes an entry known, whose client is made now and belongs to the fleet. An
// entry that is known already keeps its connection.
func (f *Fleet) Use(adapter id.Adapter, client func() *mcpupstream.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.clients[adapter]; known || f.closed {
		return
	}
	c := client()
	c.OnChanged(func() { f.hear.Changed(adapter) })
	c.OnOpened(func(ctx context.Context, l mcpupstream.Listing) error { return f.hear.Opened(ctx, adapter, l) })
	c.KeepOpen()
	f.clients[adapter] = c
}

// Client gives the connection of an entry, false if it is not known.
func (f *Fleet) Client(adapter id.Adapter) (*mcpupstream.Client, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.clients[adapter]
	return c, ok
}

// Visit looks at what an entry's server offers now, where nobody has asked for it since
// the host began; the entry need not be known.
func (f *Fleet) Visit(ctx context.Context, adapter id.Adapter) error {
	if c, ok := f.Client(adapter); ok {
		return c.Visit(ctx)
	}
	return nil
}

// Read asks the server of an entry for a resource, once, opening the connection if
// need be. Faults: not_found for an entry that is not known, else those of
// mcpupstream.Client.ReadResource.
func (f *Fleet) Read(ctx context.Context, adapter id.Adapter, uri string) ([]read.Content, error) {
	c, ok := f.Client(adapter)
	if !ok {
		return nil, read.NotFound()
	}
	parts, err := c.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	out := make([]read.Content, len(parts))
	for i, p := range parts {
		out[i] = read.Content{URI: p.URI, Text: p.Text, Blob: p.Blob}
		if p.MimeType != "" {
			out[i].MimeType = &p.MimeType
		}
	}
	return out, nil
}

// States counts the connections by where they stand.
func (f *Fleet) States() map[view.ConnectionState]int {
	f.mu.Lock()
	clients := slices.Collect(maps.Values(f.clients))
	f.mu.Unlock()
	out := map[view.ConnectionState]int{}
	for _, c := range clients {
		out[c.Status().State]++
	}
	return out
}

// Drop ends an entry's connection and forgets it.
func (f *Fleet) Drop(adapter id.Adapter) {
	f.mu.Lock()
	c, ok := f.clients[adapter]
	delete(f.clients, adapter)
	f.mu.Unlock()
	if ok {
		c.Close()
	}
}

// Close ends every connection, all at once, and takes no more entries.
func (f *Fleet) Close() {
	f.mu.Lock()
	clients := f.clients
	f.clients, f.closed = nil, true
	f.mu.Unlock()
	var ended sync.WaitGroup
	for _, c := range clients {
		ended.Go(c.Close)
	}
	ended.Wait()
}
