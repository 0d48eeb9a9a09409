package mcp

import (
	"net/http"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// listTools answers with what the caller may call at this moment: the store is
// asked each time, since a grant may end without a change that anybody tells of.
// Upstreams are not asked.
func (x *exchange) listTools(p parameters) {
	var cursor string
	if raw, given := p.members["cursor"]; given {
		if cursor, given = text(raw); !given {
			x.fail(&problem{code: codeParams, message: "a cursor is what the last page gave"})
			return
		}
	}
	c, err := x.door.read(x.r.Context(), x.app, x.caller)
	if err != nil {
		x.refuse(err)
		return
	}
	list, end := c.whole[x.era], len(c.tools)
	if list == nil || cursor != "" {
		list, end = c.page(c.after(cursor), x.era)
	}
	tail := make([]byte, 0, 512)
	if end < len(c.tools) {
		tail = append(append(tail, `,"nextCursor":`...), quoted(c.tools[end-1].Tool)...)
	}
	tail = append(tail, `,"ttlMs":0,"cacheScope":"private"`...)
	if x.era == modern {
		tail = append(append(append(tail, `,"_meta":{`...), x.door.serverMeta()...), '}')
	}
	x.write(http.StatusOK, append(x.begin(128), `"tools":`...), list, x.finish(tail))
}

// serverMeta is the member of _meta in which the newer revision names the host.
func (d *Door) serverMeta() []byte {
	return append([]byte(`"io.modelcontextprotocol/serverInfo":`), d.info...)
}

// refuse answers an error of the store. A token that ended since the request was
// let in is answered as at the entrance.
func (x *exchange) refuse(err error) {
	if fault.Is(err, fault.Unauthenticated) {
		refuseEntry(x.w, x.r, err)
		return
	}
	x.fail(problemOf(fault.From(err)))
}
