package bound

import "github.com/stewardhost/steward/internal/ground/fault"

// The bounds of the agent's own work: models, the log, capture and tools.
var (
	ModelRequestBytes = Row{"model_request_bytes", 4 << 20, Bytes, fault.TooLarge, "ours: history, instructions and tools of one question", "adapters/model"}
	ModelEventBytes   = Row{"model_event_bytes", 256 << 10, Bytes, fault.TooLarge, "ours: one event of a model's stream", "adapters/model"}
	ModelStreamBytes  = Row{"model_stream_bytes", 8 << 20, Bytes, fault.TooLarge, "ours: one answer of a model", "adapters/model"}
	ModelErrorBytes   = Row{"model_error_bytes", 8 << 10, Bytes, fault.TooLarge, "ours: enough of a refusal for the log", "adapters/model"}
	ModelFirstByte    = Row{"model_first_byte_ms", 120_000, Milliseconds, fault.Unavailable, "ours: a local model loads before it answers", "adapters/model"}
	ModelSilence      = Row{"model_silence_ms", 60_000, Milliseconds, fault.Unavailable, "ours: between two reads of a stream", "adapters/model"}
	ModelAnswer       = Row{"model_answer_ms", 600_000, Milliseconds, fault.Unavailable, "ours: one whole answer", "adapters/model"}
	ModelKeyBytes     = Row{"model_key_file_bytes", 4 << 10, Bytes, fault.TooLarge, "ours: a key and its line end", "adapters/model"}
	ScriptBytes       = Row{"model_script_bytes", 1 << 20, Bytes, fault.TooLarge, "ours", "adapters/model"}
	ScriptSteps       = Row{"model_script_steps", 4096, Count, fault.TooLarge, "ours", "adapters/model"}
	TurnRounds        = Row{"turn_rounds", 64, Count, fault.TooLarge, "ours: questions to the model in one turn", "service/turns"}
	TurnRoundCalls    = Row{"turn_round_calls", 32, Count, fault.TooLarge, "guide, callback bounds", "domain/sessions/conversation"}
	TurnHistoryBytes  = Row{"turn_history_bytes", 256 << 10, Bytes, fault.TooLarge, "ours: earlier turns that a model is shown", "domain/sessions/transcript"}
	TurnDeltaBytes    = Row{"turn_delta_bytes", 8 << 10, Bytes, fault.TooLarge, "sessions page 3", "service/turns"}
	ToolDeadline      = Row{"tool_deadline_ms", 120_000, Milliseconds, fault.Unavailable, "guide, callback bounds: the default", "service/turns"}
	ServerListing     = Row{"server_listing_ms", 10_000, Milliseconds, fault.Unavailable, "ours: a turn goes on without the tools of a server that does not answer", "service/turns"}
	ToolNameBytes     = Row{"tool_name_bytes", 64, Bytes, fault.InvalidRequest, "ours: what model vendors take", "service/turns"}
	AgentTools        = Row{"agent_tools", 128, Count, fault.TooLarge, "ours: tools of one question", "service/turns"}
	LogFrameBytes     = Row{"log_frame_bytes", 512 << 10, Bytes, fault.LimitExceeded, "sessions page 8: contract, arguments and binding", "domain/sessions/transcript"}
	LogBytes          = Row{"session_log_bytes", 64 << 20, Bytes, fault.LimitExceeded, "ours: one session", "adapters/sessionlog"}
	LogSessions       = Row{"log_sessions", 65536, Count, fault.LimitExceeded, "ours: sessions in one state root", "adapters/sessionlog"}
	LogRecalled       = Row{"log_recalled", 16, Count, fault.TooLarge, "ours: closed sessions whose recent turns stay in memory", "adapters/sessionlog"}
	DaemonLogBytes    = Row{"daemon_log_bytes", 8 << 20, Bytes, fault.TooLarge, "ours: the log of a daemon and the one before it, half each", "means/daemonlog"}
	CaptureBytes      = Row{"capture_bytes", 64 << 10, Bytes, fault.TooLarge, "ours: more than any source and any file that a tool shows", "adapters/workspacecapture"}
	FolderEntries     = Row{"folder_entries", 4096, Count, fault.TooLarge, "ours: names that one listing looks at", "adapters/workspacecapture"}
	SearchFiles       = Row{"search_files", 10_000, Count, fault.TooLarge, "ours: files that one search looks at", "adapters/workspacecapture"}
	SearchDepth       = Row{"search_depth", 24, Depth, fault.TooLarge, "ours", "adapters/workspacecapture"}
)

var turnRows = []Row{
	ModelRequestBytes, ModelEventBytes, ModelStreamBytes, ModelErrorBytes, ModelFirstByte, ModelSilence, ModelAnswer, ModelKeyBytes,
	ScriptBytes, ScriptSteps, TurnRounds, TurnRoundCalls, TurnHistoryBytes, TurnDeltaBytes, ToolDeadline,
	ServerListing, ToolNameBytes, AgentTools, LogFrameBytes, LogBytes, LogSessions, LogRecalled, DaemonLogBytes, CaptureBytes, FolderEntries, SearchFiles, SearchDepth,
}
