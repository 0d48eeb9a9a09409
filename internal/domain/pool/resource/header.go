package resource

import "strings"

// HostSets reports whether a header of HTTP is the host's own to an upstream: one of
// HTTP itself, of the protocol or of browsers. No entry may set it, and a
// session sends none that came otherwise.
func HostSets(name string) bool {
	switch name = strings.ToLower(name); name {
	case "host", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect", "user-agent", "cookie", "last-event-id":
		return true
	}
	return strings.HasPrefix(name, "mcp-") || strings.HasPrefix(name, "content-") || strings.HasPrefix(name, "accept") || strings.HasPrefix(name, "proxy-")
}
