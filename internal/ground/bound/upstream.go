package bound

import "github.com/stewardhost/steward/internal/ground/fault"

// The bounds of what upstreams may say beside the answers that they owe, and of
// what is passed on of it.
var (
	UpstreamChatter = Row{"upstream_chatter_each_second", 1000, Count, fault.Unavailable, "ours: lines that answer nothing, each 4 KiB of one; ten seconds' worth may come at once", "adapters/mcpupstream"}
	StderrRate      = Row{"child_stderr_each_second_bytes", 1 << 20, Bytes, fault.RateLimited, "ours: more than a person can read", "means/childprocess"}
	ReopenEagerly   = Row{"upstream_eager_starts", 8, Count, fault.Unavailable, "ours: failures in a row, about two minutes of them, after which an upstream is tried each relist_every_s", "adapters/mcpupstream"}
)

var upstreamRows = []Row{UpstreamChatter, StderrRate, ReopenEagerly}
