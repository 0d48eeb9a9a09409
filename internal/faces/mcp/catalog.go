package mcp

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// catalog is what one app may call, as read at one moment. It never changes.
type catalog struct {
	tools []*tool   // sorted by name, names distinct
	whole [2][]byte // the JSON list for each era if it fits one page, else nil
}

// read asks the store what a caller may call now and remembers it.
func (d *Door) read(ctx context.Context, a *app, c authority.Caller) (*catalog, error) {
	methods, err := d.ports.Catalog(ctx, c)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	before := a.catalog
	d.mu.Unlock()
	now := newCatalog(methods, before)
	if now != before {
		d.mu.Lock()
		a.catalog = now
		d.mu.Unlock()
	}
	return now, nil
}

// newCatalog makes the catalog of these methods and takes from an older one what
// has not changed, the whole of it if nothing has.
func newCatalog(methods []view.Callable, before *catalog) *catalog {
	if before != nil && len(before.tools) == len(methods) && slices.EqualFunc(before.tools, methods, (*tool).is) {
		return before
	}
	c := &catalog{tools: make([]*tool, 0, len(methods))}
	for _, m := range methods {
		t, _ := before.tool(m.Tool)
		if t == nil || !t.is(m) {
			t = newTool(m)
		}
		c.tools = append(c.tools, t)
	}
	slices.SortStableFunc(c.tools, func(a, b *tool) int { return strings.Compare(a.Tool, b.Tool) })
	// Two methods whose short digests are equal would share a name; the one that
	// is second in the store's order is not offered, so no name changes hands.
	c.tools = slices.CompactFunc(c.tools, func(a, b *tool) bool { return a.Tool == b.Tool })
	for e := range c.whole {
		if list, end := c.page(0, era(e)); end == len(c.tools) {
			c.whole[e] = list
		}
	}
	if bytes.Equal(c.whole[legacy], c.whole[modern]) {
		c.whole[modern] = c.whole[legacy]
	}
	return c
}

// tool finds a method by its name; nothing has one without a catalog.
func (c *catalog) tool(name string) (*tool, bool) {
	if c == nil {
		return nil, false
	}
	i, ok := slices.BinarySearchFunc(c.tools, name, func(t *tool, name string) int { return strings.Compare(t.Tool, name) })
	if !ok {
		return nil, false
	}
	return c.tools[i], true
}

// same reports whether two catalogs look alike to a client.
func (c *catalog) same(other *catalog) bool {
	return c == other || slices.EqualFunc(c.tools, other.tools, func(a, b *tool) bool {
		return a == b || bytes.Equal(a.listed[modern], b.listed[modern])
	})
}

// after is where a page starts that follows the tool of this name.
func (c *catalog) after(name string) int {
	i, found := slices.BinarySearchFunc(c.tools, name, func(t *tool, name string) int { return strings.Compare(t.Tool, name) })
	if found {
		i++
	}
	return i
}

// page gives the JSON list that starts with the tool at start, and where the
// next one starts. It holds at least one tool where there is one.
func (c *catalog) page(start int, e era) (list []byte, end int) {
	size := 2
	for end = start; end < len(c.tools) && end-start < bound.MCPListTools.Int(); end++ {
		size += len(c.tools[end].listed[e]) + 1
		if end > start && bound.MCPListBytes.Check(size) != nil {
			break
		}
	}
	list = append(make([]byte, 0, size), '[')
	for i := start; i < end; i++ {
		if i > start {
			list = append(list, ',')
		}
		list = append(list, c.tools[i].listed[e]...)
	}
	return append(list, ']'), end
}
