package bound

import "github.com/stewardhost/steward/internal/ground/fault"

// The bounds of what upstreams may say beside the answers that they owe, and of
// what is passed on of it.
var (
	UpstreamChatter  = Row{"upstream_chatter_each_second", 1000, Count, fault.Unavailable, "ours: lines that answer nothing, each 4 KiB of one; ten seconds' worth may come at once", "adapters/mcpupstream"}
	StderrRate       = Row{"child_stderr_each_second_bytes", 1 << 20, Bytes, fault.RateLimited, "ours: more than a person can read", "means/childprocess"}
	ReopenEagerly    = Row{"upstream_eager_starts", 8, Count, fault.Unavailable, "ours: failures in a row, about two minutes of them, after which an upstream is tried each relist_every_s", "adapters/mcpupstream"}
	ProgressText     = Row{"progress_message_bytes", 1 << 10, Bytes, fault.TooLarge, "ours: one line for a person who waits; a longer one is left out", "adapters/mcpupstream"}
	ProgressPause    = Row{"progress_pause_ms", 25, Milliseconds, fault.RateLimited, "ours: smooth to the eye; what comes faster is told as the newest of it", "faces/mcp"}
	MCPKeepAlive     = Row{"mcp_keep_alive_ms", 10_000, Milliseconds, fault.Unavailable, "field faults, FF48: at most 15 s", "faces/mcp"}
	DriftDifferences = Row{"drift_differences", 64, Count, fault.TooLarge, "ours: what a person reads of one change", "faces/admin"}
)

var upstreamRows = []Row{UpstreamChatter, StderrRate, ReopenEagerly, ProgressText, ProgressPause, MCPKeepAlive, DriftDifferences}
