package mcp

import (
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/faces/mcp/library"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// listResources answers with one page, which says what it lacks where it is not whole.
func (x *exchange) listResources(frame.Params) {
	list, lacks, err := x.door.ports.Library.List(x.r.Context(), x.caller)
	x.give("resources", list, lacks, err)
}

// listTemplates answers that there are none (bus page, section 6).
func (x *exchange) listTemplates(frame.Params) { x.give("resourceTemplates", []byte("[]"), nil, nil) }

// readResource answers with what a URI holds. A client that cancels, or goes,
// ends the capsule's work.
func (x *exchange) readResource(p frame.Params) {
	uri, ok := frame.Text(p.Members["uri"])
	if !ok {
		x.deny(&frame.Problem{Code: frame.BadParams, Message: "a read names a uri"})
		return
	}
	ctx, part, bad := x.cancellable()
	if bad != nil {
		x.deny(bad)
		return
	}
	defer part()
	contents, err := x.door.ports.Library.Read(ctx, x.caller, uri)
	x.give("contents", contents, nil, err)
}

// give answers with an array under its name and members of _meta, or with the error.
func (x *exchange) give(name string, list, meta []byte, err error) {
	switch {
	case fault.Is(err, fault.Unauthenticated):
		x.refuse(err)
	case err != nil:
		x.fail(library.Problem(err, x.era))
	default:
		x.page(name, list, nil, meta)
	}
}
