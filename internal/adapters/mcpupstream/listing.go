package mcpupstream

import (
	"bytes"
	"context"
	"runtime/debug"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Listing is everything that an upstream offered at one time. It was given to a
// client that declared no capability, which can matter to what is offered.
type Listing struct {
	Server, Version string // what the upstream calls itself, unverified
	Protocol        string // the revision that the session speaks
	Instructions    string
	Tools           []RawTool // in the upstream's order, names distinct; what was listed twice stands once
}

// RawTool is one definition, strict JSON, byte for byte as it was sent.
type RawTool = answer.RawTool

// offered lists the session's tools, and says whose they are. What was read of a
// listing that is too large is given back at once: the collector alone would keep
// the host that much larger.
func (s *session) offered(ctx context.Context) (Listing, error) {
	tools, err := s.list(ctx)
	if fault.Is(err, fault.TooLarge) {
		debug.FreeOSMemory()
	}
	if err != nil {
		return Listing{}, err
	}
	g := s.greeting
	return Listing{g.Server, g.Version, g.Protocol, g.Instructions, tools}, nil
}

// list reads every page. It gives all or a fault, never a part (field faults,
// FF41, FF43).
func (s *session) list(ctx context.Context) ([]RawTool, error) {
	var tools []RawTool
	names := map[string][]byte{}
	params, size := s.withMeta([]byte("{")), 0
	for page := 1; ; page++ {
		if err := bound.ListingPages.Check(page); err != nil {
			return nil, err
		}
		a := s.ask(ctx, answer.Listing, "tools/list", params)
		if a.Event.Kind != invocation.Answered {
			return nil, a.Fault("tools/list")
		}
		size += len(a.Event.Result)
		if err := bound.ListingBytes.Check(size); err != nil {
			return nil, err
		}
		found, cursor, err := answer.Page(a.Event.Result)
		if err != nil {
			return nil, err
		}
		for _, tool := range found {
			known, twice := names[tool.Name]
			if twice && !bytes.Equal(known, tool.Raw) {
				return nil, answer.SameName(tool.Name)
			}
			if !twice {
				names[tool.Name] = tool.Raw
				tools = append(tools, tool)
			}
		}
		if err := bound.ListingTools.Check(len(tools)); err != nil {
			return nil, err
		}
		if cursor == nil {
			return tools, nil
		}
		params = s.withMeta(append([]byte(`{"cursor":`), cursor...))
	}
}
