// Package projection gives every granted method its name on the MCP face.
//
// A name is a slug of the method's id and a short digest of (owner, resource,
// contract, method). It therefore stays the same across revisions and restarts,
// cannot shadow another tool, fits what model interfaces accept, and says
// nothing that a caller could use to reach a method without a grant (pool page,
// section 9; draft, "3sln MCP adapter").
package projection

import (
	"strings"

	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
)

const (
	nameMax   = 64 // what model interfaces accept
	suffixLen = 10 // 40 bits in hex
)

// Name gives the tool name, of the form ^[a-zA-Z0-9_-]{1,64}$.
func Name(owner id.Owner, resource id.Resource, contractURL, method string) string {
	sum := digest.Join(owner.String(), resource.String(), contractURL, method).Sum(digest.ToolName)
	_, hex, _ := strings.Cut(sum.String(), ":")
	return slug(method) + "_" + hex[:suffixLen]
}

func slug(method string) string {
	var b strings.Builder
	for i := 0; i < len(method) && b.Len() < nameMax-suffixLen-1; i++ {
		c := method[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "tool"
	}
	return b.String()
}
