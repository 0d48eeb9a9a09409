package fault

// The codes of the bus wing (bus page, sections 3 and 4).
const (
	CapabilityDenied Code = "capability_denied"
	TimedOut         Code = "timed_out"
)

var busRows = []Row{
	{CapabilityDenied, 403, rpcHost, Never, true, "The manifest of the capsule does not allow this topic."},
	{TimedOut, 504, rpcHost, SameTx, true, "Nobody answered in time; it was a question that changes nothing."},
}
