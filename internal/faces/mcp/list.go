package mcp

import (
	"bytes"
	"context"
	"net/http"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/faces/mcp/toolset"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// listTools answers with what the caller may call at this moment: the store is
// asked each time, since a grant may end without a change that anybody tells of.
// Upstreams are not asked.
func (x *exchange) listTools(p frame.Params) {
	var cursor string
	if raw, given := p.Members["cursor"]; given {
		if cursor, given = frame.Text(raw); !given {
			x.fail(&frame.Problem{Code: frame.BadParams, Message: "a cursor is what the last page gave"})
			return
		}
	}
	c, err := x.door.read(x.r.Context(), x.app, x.caller)
	if err != nil {
		x.refuse(err)
		return
	}
	list, next := c.Page(cursor, x.era)
	tail := make([]byte, 0, 512)
	if next != "" {
		tail = append(append(tail, `,"nextCursor":`...), frame.Quoted(next)...)
	}
	x.page("tools", list, tail, nil)
}

// page sends an array under its name, with members of _meta, as what nobody may keep.
func (x *exchange) page(name string, list, tail, meta []byte) {
	tail = append(tail, `,"ttlMs":0,"cacheScope":"private"`...)
	if x.era == frame.Modern {
		meta = append(append(meta, ','), x.door.serverMeta()...)
	}
	if len(meta) > 0 {
		tail = append(append(append(tail, `,"_meta":{`...), bytes.TrimPrefix(meta, []byte(","))...), '}')
	}
	x.write(http.StatusOK, append(x.begin(128), `"`+name+`":`...), list, x.finish(tail))
}

// read asks the store what a caller may call now and remembers it.
func (d *Door) read(ctx context.Context, a *app, c authority.Caller) (*toolset.Set, error) {
	methods, err := d.ports.Catalog(ctx, c)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	before := a.catalog
	d.mu.Unlock()
	now := toolset.New(methods, before)
	if now != before {
		d.mu.Lock()
		a.catalog = now
		d.mu.Unlock()
	}
	return now, nil
}

// serverMeta is the member of _meta in which the newer revision names the host.
func (d *Door) serverMeta() []byte {
	return append([]byte(`"io.modelcontextprotocol/serverInfo":`), d.info...)
}

// refuse answers an error of the store. A token that ended since the request was
// let in is answered as at the entrance.
func (x *exchange) refuse(err error) {
	if fault.Is(err, fault.Unauthenticated) && !x.reporter.Started() {
		refuseEntry(x.w, x.r, err)
		return
	}
	x.fail(frame.ProblemOf(fault.From(err)))
}
