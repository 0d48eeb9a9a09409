// Package toolset turns the methods that one app may call into the tools that
// its MCP clients see, and what came of a call into a tool's result (pool page,
// section 9).
//
// It promises that a tool shows approved text and schemas only, that its hints
// follow from the approved effects, that a name means one method, and that
// recorded content passes byte for byte. It decides nothing about who may call.
// A page of a list is bounded by bound.MCPListTools and bound.MCPListBytes. Sets
// never change once made and are safe for concurrent use.
package toolset

import (
	"bytes"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// Set is what one app may call, as read at one moment.
type Set struct {
	tools []*Tool            // sorted by name, names distinct
	whole [frame.Eras][]byte // the list as JSON where it fits one page, else nil
}

// New makes the set of these methods and takes from an older one, if any, what
// has not changed; if nothing has, it returns that one.
func New(methods []view.Callable, before *Set) *Set {
	if before != nil && len(before.tools) == len(methods) && slices.EqualFunc(before.tools, methods, (*Tool).is) {
		return before
	}
	s := &Set{tools: make([]*Tool, 0, len(methods))}
	for _, m := range methods {
		t, known := before.Find(m.Tool)
		if !known || !t.is(m) {
			t = newTool(m)
		}
		s.tools = append(s.tools, t)
	}
	slices.SortStableFunc(s.tools, func(a, b *Tool) int { return strings.Compare(a.Name(), b.Name()) })
	// Two methods whose short digests are equal would share a name: the second is
	// not offered, so a name means one method.
	s.tools = slices.CompactFunc(s.tools, func(a, b *Tool) bool { return a.Name() == b.Name() })
	for e := range s.whole {
		if list, end := s.from(0, frame.Era(e)); end == len(s.tools) {
			s.whole[e] = list
		}
	}
	if bytes.Equal(s.whole[frame.Legacy], s.whole[frame.Modern]) {
		s.whole[frame.Modern] = s.whole[frame.Legacy]
	}
	return s
}

// Find finds a tool by its name; a nil set has none.
func (s *Set) Find(name string) (*Tool, bool) {
	if s == nil {
		return nil, false
	}
	i, ok := s.place(name)
	if !ok {
		return nil, false
	}
	return s.tools[i], true
}

func (s *Set) place(name string) (int, bool) {
	return slices.BinarySearchFunc(s.tools, name, func(t *Tool, name string) int { return strings.Compare(t.Name(), name) })
}

// Same reports whether two sets look alike to a client.
func (s *Set) Same(other *Set) bool {
	return s == other || slices.EqualFunc(s.tools, other.tools, func(a, b *Tool) bool {
		return a == b || bytes.Equal(a.listed[frame.Modern], b.listed[frame.Modern])
	})
}

// Page gives a JSON list of tools, those after the name that cursor is, and the
// cursor of the next page, empty after the last one. The caller must not change
// the list.
func (s *Set) Page(cursor string, e frame.Era) (list []byte, next string) {
	if cursor == "" && s.whole[e] != nil {
		return s.whole[e], ""
	}
	start, there := s.place(cursor)
	if there {
		start++
	}
	list, end := s.from(start, e)
	if end < len(s.tools) {
		next = s.tools[end-1].Name()
	}
	return list, next
}

// from gives the page that starts at a place, and where the next one starts. It
// holds at least one tool where there is one.
func (s *Set) from(start int, e frame.Era) (list []byte, end int) {
	size := 2
	for end = start; end < len(s.tools) && end-start < bound.MCPListTools.Int(); end++ {
		size += len(s.tools[end].listed[e]) + 1
		if end > start && bound.MCPListBytes.Check(size) != nil {
			break
		}
	}
	list = append(make([]byte, 0, size), '[')
	for i := start; i < end; i++ {
		if i > start {
			list = append(list, ',')
		}
		list = append(list, s.tools[i].listed[e]...)
	}
	return append(list, ']'), end
}
