package bound

import "github.com/stewardhost/steward/internal/ground/fault"

// The bounds of the Unix protocol and of the daemon (sessions page, sections 2,
// 3 and 5).
var (
	RecordBytes         = Row{"record_bytes", 64 << 10, Bytes, fault.RecordTooLarge, "sessions page 2", "faces/unixsocket"}
	RecordDepth         = Row{"record_depth", 32, Depth, fault.MalformedRecord, "sessions page 2", "faces/unixsocket"}
	RecordNodes         = Row{"record_nodes", 8192, Count, fault.MalformedRecord, "ours: as many as a request of the pool", "faces/unixsocket"}
	PayloadBytes        = Row{"payload_bytes", 32 << 10, Bytes, fault.LimitExceeded, "sessions page 2", "faces/unixsocket"}
	IdentifierBytes     = Row{"identifier_bytes", 128, Bytes, fault.InvalidPayload, "sessions page 2", "faces/unixsocket"}
	RequestedTokens     = Row{"requested_capabilities", 16, Count, fault.InvalidPayload, "ours: a profile is one token", "faces/unixsocket"}
	Connections         = Row{"connections", 64, Count, fault.LimitExceeded, "sessions page 5", "faces/unixsocket"}
	Uninitialized       = Row{"uninitialized_connections", 16, Count, fault.LimitExceeded, "sessions page 5", "faces/unixsocket"}
	InitializeTime      = Row{"initialize_ms", 5_000, Milliseconds, fault.LimitExceeded, "sessions page 5", "faces/unixsocket"}
	OutstandingRequests = Row{"outstanding_requests", 32, Count, fault.LimitExceeded, "sessions page 5", "faces/unixsocket"}
	OutboundRecords     = Row{"outbound_records", 256, Count, fault.LimitExceeded, "sessions page 5", "faces/unixsocket"}
	OutboundBytes       = Row{"outbound_bytes", 2 << 20, Bytes, fault.LimitExceeded, "sessions page 5", "faces/unixsocket"}
	WriteTime           = Row{"write_ms", 5_000, Milliseconds, fault.LimitExceeded, "sessions page 5", "faces/unixsocket"}
	RequestTime         = Row{"request_ms", 30_000, Milliseconds, fault.ConfigurationBusy, "sessions page 5", "service/sessions"}
	Operations          = Row{"operations", 4096, Count, fault.LimitExceeded, "sessions page 5", "domain/sessions/operation"}
	OperationReserve    = Row{"operation_reserve", 64, Count, fault.LimitExceeded, "ours: of the operations, for results and Stop", "domain/sessions/operation"}
	OutcomeLife         = Row{"outcome_ms", 600_000, Milliseconds, fault.LimitExceeded, "sessions page 5; guide, Reconnect evidence", "domain/sessions/operation"}
	TombstoneLife       = Row{"tombstone_ms", 1_200_000, Milliseconds, fault.LimitExceeded, "sessions page 5", "domain/sessions/operation"}
	AttachedSessions    = Row{"attached_sessions", 64, Count, fault.LimitExceeded, "sessions page 5: controlled, and at work", "domain/sessions/control, service/sessions"}
	RememberedSessions  = Row{"remembered_sessions", 65536, Count, fault.LimitExceeded, "ours: generations outlive their claims", "domain/sessions/control"}
	PromptBytes         = Row{"prompt_bytes", 24 << 10, Bytes, fault.LimitExceeded, "sessions page 5", "faces/unixsocket"}
	SessionTitleBytes   = Row{"session_title_bytes", 200, Bytes, fault.InvalidPayload, "ours: a page of them fits a payload, all quotes", "faces/unixsocket"}
	SessionPage         = Row{"session_page", 50, Count, fault.InvalidPayload, "sessions page 3", "faces/unixsocket"}
	ReplayPage          = Row{"replay_page", 256, Count, fault.InvalidPayload, "ours: bytes end a page first", "faces/unixsocket"}
	ReplayBytes         = Row{"replay_page_bytes", 24 << 10, Bytes, fault.LimitExceeded, "sessions page 3", "domain/sessions/turn"}
	AssistantTextBytes  = Row{"assistant_text_bytes", 20_000, Bytes, fault.LimitExceeded, "guide, Accept the complete snapshot", "domain/sessions/turn"}
	SummaryBytes        = Row{"activity_summary_bytes", 512, Bytes, fault.LimitExceeded, "ours: one line of a screen", "domain/sessions/turn"}
	DaemonIdle          = Row{"daemon_idle_ms", 960_000, Milliseconds, fault.ShuttingDown, "sessions page 5", "service/sessions"}
	TurnStop            = Row{"turn_stop_ms", 10_000, Milliseconds, fault.LimitExceeded, "sessions page 5", "service/sessions"}
)

// The bounds that the profile advertises (guide, Bounds and Callback bounds).
var (
	RegistryTools        = Row{"registry_tools", 16, Count, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	RegistrySkills       = Row{"registry_skills", 16, Count, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	RegistryBytes        = Row{"registry_bytes", 32 << 10, Bytes, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	InstructionBytes     = Row{"instruction_bytes", 16 << 10, Bytes, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	RetainedSnapshots    = Row{"retained_snapshots", 256, Count, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	RetainedEntries      = Row{"retained_entries", 1024, Count, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	RetainedBytes        = Row{"retained_bytes", 8 << 20, Bytes, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	RegistrySessions     = Row{"registry_sessions", 256, Count, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	RegistryIdle         = Row{"registry_idle_timeout_ms", 900_000, Milliseconds, fault.LimitExceeded, "guide, Captured sources", "domain/sessions/registry"}
	ToolSourceBytes      = Row{"tool_source_bytes", 32 << 10, Bytes, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	SkillSourceBytes     = Row{"skill_source_bytes", 16 << 10, Bytes, fault.LimitExceeded, "guide, Bounds", "domain/sessions/registry"}
	InlineSourceBytes    = Row{"inline_source_bytes", 31 << 10, Bytes, fault.LimitExceeded, "decisions, 20: a payload less the envelope of a registration; what JSON escapes, such as the quotes of a contract, counts as it is written", "faces/unixsocket"}
	SourceCaptures       = Row{"source_captures", 1, Count, fault.ConfigurationBusy, "guide, Captured sources", "service/sessions"}
	CaptureReserve       = Row{"capture_reserve_bytes", 128 << 10, Bytes, fault.LimitExceeded, "guide, Captured sources", "domain/sessions/registry"}
	SourcePathBytes      = Row{"source_path_bytes", 1024, Bytes, fault.InvalidPayload, "guide, Captured sources", "domain/sessions/registry"}
	ResourceNameBytes    = Row{"resource_name_bytes", 48, Bytes, fault.InvalidPayload, "guide, Callback bounds", "domain/sessions/registry"}
	ResourceTextBytes    = Row{"resource_description_bytes", 512, Bytes, fault.InvalidPayload, "guide, Callback bounds", "domain/sessions/registry"}
	ManifestBytes        = Row{"manifest_bytes", 18_000, Bytes, fault.LimitExceeded, "guide, Accept the complete snapshot", "domain/sessions/manifest"}
	Executors            = Row{"executors", 256, Count, fault.LimitExceeded, "guide, Executor authority", "domain/sessions/executor"}
	ExecutorConfirm      = Row{"executor_confirm_ms", 60_000, Milliseconds, fault.LimitExceeded, "guide, Executor authority", "domain/sessions/executor"}
	ExecutorIdle         = Row{"executor_idle_ms", 900_000, Milliseconds, fault.LimitExceeded, "guide, Executor authority", "domain/sessions/executor"}
	RotationPending      = Row{"rotation_pending_ms", 60_000, Milliseconds, fault.LimitExceeded, "guide, Rotate", "domain/sessions/executor"}
	PendingCallBytes     = Row{"pending_calls_bytes", 30 << 10, Bytes, fault.LimitExceeded, "guide, Callback bounds", "domain/sessions/callback"}
	Callbacks            = Row{"callbacks", 32, Count, fault.LimitExceeded, "guide, Callback bounds", "domain/sessions/callback"}
	ExecutorAbsent       = Row{"executor_absent_ms", 60_000, Milliseconds, fault.LimitExceeded, "guide, Callback bounds", "domain/sessions/callback"}
	CallbackTimeout      = Row{"callback_timeout_ms", 600_000, Milliseconds, fault.InvalidPayload, "guide, Callback bounds", "domain/sessions/registry"}
	CallbackTimeoutLeast = Row{"callback_timeout_least_ms", 1_000, Milliseconds, fault.InvalidPayload, "guide, Callback bounds; a least value", "domain/sessions/registry"}
	CallbackTimeoutUsual = Row{"callback_timeout_default_ms", 120_000, Milliseconds, fault.InvalidPayload, "guide, Callback bounds; what an absent one is", "domain/sessions/registry"}
	CallIDBytes          = Row{"provider_call_id_bytes", 128, Bytes, fault.LimitExceeded, "guide, Callback bounds", "domain/sessions/callback"}
	ArgumentBytes        = Row{"argument_bytes", 16 << 10, Bytes, fault.LimitExceeded, "guide, Callback bounds", "domain/sessions/callback"}
	ResultValueBytes     = Row{"result_value_bytes", 16 << 10, Bytes, fault.InvalidPayload, "guide, Callback bounds", "domain/sessions/callback"}
	ErrorTextBytes       = Row{"error_text_bytes", 512, Bytes, fault.InvalidPayload, "guide, Callback bounds", "domain/sessions/callback"}
	FlatProperties       = Row{"flat_schema_properties", 32, Count, fault.InvalidPayload, "guide, Callback bounds", "ground/schema"}
	FlatNameBytes        = Row{"flat_schema_name_bytes", 48, Bytes, fault.InvalidPayload, "guide, Callback bounds", "ground/schema"}
	FlatLength           = Row{"flat_schema_length", 4096, Count, fault.InvalidPayload, "guide, Callback bounds", "ground/schema"}
	EvidenceTurns        = Row{"evidence_turns", 256, Count, fault.LimitExceeded, "guide, Reconnect evidence", "domain/sessions/evidence"}
	EvidenceCalls        = Row{"evidence_calls", 32, Count, fault.LimitExceeded, "guide, Reconnect evidence", "domain/sessions/evidence"}
	EvidenceBytes        = Row{"evidence_bytes", 30 << 10, Bytes, fault.LimitExceeded, "guide, Reconnect evidence", "domain/sessions/evidence"}
)

var daemonRows = []Row{
	RecordBytes, RecordDepth, RecordNodes, PayloadBytes, IdentifierBytes, RequestedTokens, Connections, Uninitialized,
	InitializeTime, OutstandingRequests, OutboundRecords, OutboundBytes, WriteTime, RequestTime, Operations, OperationReserve, OutcomeLife,
	TombstoneLife, AttachedSessions, RememberedSessions, PromptBytes, SessionTitleBytes, SessionPage, ReplayPage,
	ReplayBytes, AssistantTextBytes, SummaryBytes, DaemonIdle, TurnStop,
}

var profileRows = []Row{
	RegistryTools, RegistrySkills, RegistryBytes, InstructionBytes, RetainedSnapshots, RetainedEntries, RetainedBytes,
	RegistrySessions, RegistryIdle, ToolSourceBytes, SkillSourceBytes, InlineSourceBytes, SourceCaptures, CaptureReserve,
	SourcePathBytes, ResourceNameBytes, ResourceTextBytes, ManifestBytes, Executors, ExecutorConfirm, ExecutorIdle,
	RotationPending, PendingCallBytes, Callbacks, ExecutorAbsent, CallbackTimeout, CallbackTimeoutLeast,
	CallbackTimeoutUsual, CallIDBytes, ArgumentBytes, ResultValueBytes, ErrorTextBytes, FlatProperties, FlatNameBytes,
	FlatLength, EvidenceTurns, EvidenceCalls, EvidenceBytes,
}

// DaemonRows are the limits that a capability answer names. The caller owns the
// slice.
func DaemonRows() []Row { return append([]Row(nil), daemonRows...) }

// ProfileRows are the bounds that the profile's part of a capability answer
// names. The caller owns the slice.
func ProfileRows() []Row { return append([]Row(nil), profileRows...) }
