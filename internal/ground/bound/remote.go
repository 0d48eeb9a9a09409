package bound

import "github.com/stewardhost/steward/internal/ground/fault"

// The bounds of what is reached over HTTP.
var (
	EgressURLBytes    = Row{"egress_url_bytes", 2 << 10, Bytes, fault.InvalidRequest, "ours: longer than any endpoint seen", "means/egress"}
	EgressHeaderBytes = Row{"egress_header_bytes", 16 << 10, Bytes, fault.UpstreamFailed, "threats, A37", "means/egress"}
	EgressAddresses   = Row{"egress_addresses", 64, Count, fault.Unavailable, "ours: more than any name has", "means/egress"}
	EgressResolve     = Row{"egress_resolve_ms", 2_000, Milliseconds, fault.Unavailable, "threats, A34", "means/egress"}
	EgressConnect     = Row{"egress_connect_ms", 10_000, Milliseconds, fault.Unavailable, "ours: resolution, connection and handshake", "means/egress"}
	RemoteIdle        = Row{"remote_idle_s", 60, Seconds, fault.Unavailable, "pool page 7: a session that was idle is asked for before the mark", "adapters/mcpupstream/remote"}
	RemoteLate        = Row{"remote_late_answers", 32, Count, fault.Unavailable, "ours: connections kept for answers that nobody waits for", "adapters/mcpupstream/remote"}
	EntryHeaderBytes  = Row{"entry_header_bytes", 8 << 10, Bytes, fault.TooLarge, "ours: half of what servers take as headers", "service/importer"}
	CredentialBytes   = Row{"credential_bytes", 64 << 10, Bytes, fault.TooLarge, "ours: tokens of others, with room", "domain/pool/credential"}
	WantedScopes      = Row{"wanted_scopes", 64, Count, fault.UpstreamFailed, "ours: more than any server was seen to name", "domain/pool/credential"}
	ScopeBytes        = Row{"scope_bytes", 256, Bytes, fault.UpstreamFailed, "ours: longer than any scope that was seen", "domain/pool/credential"}
	IssuerBytes       = Row{"issuer_document_bytes", 64 << 10, Bytes, fault.UpstreamFailed, "ours: larger than any metadata seen", "adapters/issuer"}
	IssuerAnswer      = Row{"issuer_answer_ms", 15_000, Milliseconds, fault.UpstreamFailed, "ours: one document or token, with its connection", "adapters/issuer"}
	Renewal           = Row{"renewal_ms", 20_000, Milliseconds, fault.Unavailable, "field faults, FF50: on its own time, whoever asked for it", "service/signin"}
	SignIn            = Row{"sign_in_s", 5 * 60, Seconds, fault.Unavailable, "ours: as long as a person needs to sign in", "service/signin"}
	SignIns           = Row{"sign_ins", 8, Count, fault.RateLimited, "ours: more than an owner does at once", "service/signin"}
	SessionName       = Row{"remote_session_name_bytes", 1 << 10, Bytes, fault.UpstreamFailed, "ours: longer than any token seen", "adapters/mcpupstream/remote"}
)

var remoteRows = []Row{
	EgressURLBytes, EgressHeaderBytes, EgressAddresses, EgressResolve, EgressConnect, RemoteIdle, RemoteLate, EntryHeaderBytes, CredentialBytes, WantedScopes, ScopeBytes, IssuerBytes, IssuerAnswer, Renewal, SignIn, SignIns, SessionName,
}
