package bound

import "github.com/stewardhost/steward/internal/ground/fault"

// The bounds of the pool wing.
var (
	JSONBytes         = Row{"json_bytes", 8 << 20, Bytes, fault.TooLarge, "threats, A25", "ground/strictjson"}
	JSONDepth         = Row{"json_depth", 32, Depth, fault.InvalidRequest, "threats, A25", "ground/strictjson"}
	JSONNodes         = Row{"json_nodes", 65536, Count, fault.InvalidRequest, "threats, A25", "ground/strictjson"}
	RequestBytes      = Row{"request_bytes", 64 << 10, Bytes, fault.TooLarge, "draft, importer ceilings", "faces/rpc, faces/mcp"}
	RequestDepth      = Row{"request_depth", 16, Depth, fault.InvalidRequest, "pool page 5", "ground/strictjson"}
	RequestNodes      = Row{"request_nodes", 8192, Count, fault.InvalidRequest, "pool page 5", "ground/strictjson"}
	AdminBytes        = Row{"admin_request_bytes", 4 << 20, Bytes, fault.TooLarge, "faces page 1", "faces/admin"}
	ClientFileBytes   = Row{"client_file_bytes", 16 << 20, Bytes, fault.TooLarge, "faces page 1", "adapters/clientconfig"}
	ClientFileNodes   = Row{"client_file_nodes", 1 << 20, Count, fault.TooLarge, "faces page 1", "adapters/clientconfig"}
	BridgeLineBytes   = Row{"bridge_line_bytes", 1 << 20, Bytes, fault.TooLarge, "pool page 9", "faces/cli/bridge"}
	BridgeRequests    = Row{"bridge_requests", 64, Count, fault.RateLimited, "pool page 9", "faces/cli/bridge"}
	BridgeDrain       = Row{"bridge_drain_ms", 2000, Milliseconds, fault.Unavailable, "pool page 9", "faces/cli/bridge"}
	DiffCells         = Row{"diff_cells", 4 << 20, Count, fault.TooLarge, "pool page 8", "faces/cli/difference"}
	SettingsBytes     = Row{"settings_bytes", 64 << 10, Bytes, fault.TooLarge, "faces page 2", "faces/cli/settings"}
	AnswerBytes       = Row{"answer_bytes", 16 << 20, Bytes, fault.TooLarge, "faces page 1", "faces/cli"}
	ResultBytes       = Row{"result_bytes", 128 << 10, Bytes, fault.TooLarge, "draft, importer ceilings", "adapters/mcpupstream"}
	ResultLinks       = Row{"result_links", 256, Count, fault.TooLarge, "ours: what comes after them keeps its own URI", "domain/pool/link"}
	ResultDepth       = Row{"result_depth", 32, Depth, fault.InvalidRequest, "pool page 7", "ground/strictjson"}
	ResultNodes       = Row{"result_nodes", 16384, Count, fault.InvalidRequest, "pool page 7", "ground/strictjson"}
	DescriptorBytes   = Row{"descriptor_bytes", 64 << 10, Bytes, fault.TooLarge, "draft, importer ceilings", "domain/pool/contract"}
	ContractURLBytes  = Row{"contract_url_bytes", 256, Bytes, fault.InvalidRequest, "pool page 3", "domain/pool/contract"}
	ContractMethods   = Row{"contract_methods", 32, Count, fault.TooLarge, "pool page 3", "domain/pool/contract"}
	SchemaBytes       = Row{"schema_bytes", 64 << 10, Bytes, fault.TooLarge, "pool page 3", "ground/schema"}
	SchemaDepth       = Row{"schema_depth", 8, Depth, fault.InvalidRequest, "pool page 3", "ground/schema"}
	SchemaNodes       = Row{"schema_nodes", 128, Count, fault.InvalidRequest, "pool page 3", "ground/schema"}
	SchemaProperties  = Row{"schema_properties", 32, Count, fault.InvalidRequest, "pool page 3", "ground/schema"}
	SchemaEnum        = Row{"schema_enum", 64, Count, fault.InvalidRequest, "pool page 3", "ground/schema"}
	TitleBytes        = Row{"title_bytes", 256, Bytes, fault.InvalidRequest, "pool page 3", "domain/pool/contract"}
	DescriptionBytes  = Row{"description_bytes", 8 << 10, Bytes, fault.InvalidRequest, "pool page 3", "domain/pool/contract"}
	LabelBytes        = Row{"label_bytes", 128, Bytes, fault.InvalidRequest, "pool page 3", "domain/pool/resource"}
	CallDeadline      = Row{"call_deadline_ms", 30_000, Milliseconds, fault.InvalidRequest, "draft, importer ceilings", "service/dispatch"}
	CallGrace         = Row{"call_grace_ms", 500, Milliseconds, fault.Indeterminate, "proof page, R10", "service/dispatch"}
	StartDeadline     = Row{"upstream_start_ms", 120_000, Milliseconds, fault.Unavailable, "ours: a first npx installs before it answers; a call waits no longer than its own deadline", "adapters/mcpupstream"}
	StopGrace         = Row{"child_stop_ms", 5_000, Milliseconds, fault.Unavailable, "field faults, FF31", "means/childprocess"}
	UpstreamLineBytes = Row{"upstream_line_bytes", 8 << 20, Bytes, fault.TooLarge, "field faults, FF64", "adapters/mcpupstream"}
	RelistPause       = Row{"relist_pause_ms", 500, Milliseconds, fault.RateLimited, "field faults, FF39", "adapters/mcpupstream"}
	RelistEvery       = Row{"relist_every_s", 300, Seconds, fault.Unavailable, "threats, A48", "adapters/mcpupstream"}
	FirstLookLeast    = Row{"first_look_least_s", 60, Seconds, fault.Unavailable, "ours: a host starts first", "service/importer"}
	FirstLookMost     = Row{"first_look_most_s", 600, Seconds, fault.Unavailable, "ours: looks at many servers are spread over it", "service/importer"}
	LookEvery         = Row{"look_every_s", 6 * 3600, Seconds, fault.Unavailable, "threats, A48: what nobody uses can wait", "service/importer"}
	LookAgain         = Row{"look_again_s", 900, Seconds, fault.Unavailable, "field faults, FF28: after a look that failed", "service/importer"}
	ListingTools      = Row{"listing_tools", 512, Count, fault.TooLarge, "field faults, FF43", "adapters/mcpupstream"}
	ListingPages      = Row{"listing_pages", 128, Count, fault.TooLarge, "field faults, FF41", "adapters/mcpupstream"}
	ListingBytes      = Row{"listing_bytes", 4 << 20, Bytes, fault.TooLarge, "field faults, FF63", "adapters/mcpupstream"}
	ListingDepth      = Row{"listing_depth", 128, Depth, fault.InvalidRequest, "pool page 8: one tool that does not fit spoils no other", "adapters/mcpupstream"}
	ListingNodes      = Row{"listing_nodes", 1 << 20, Count, fault.InvalidRequest, "field faults, FF63", "adapters/mcpupstream"}
	ToolBytes         = Row{"tool_definition_bytes", 64 << 10, Bytes, fault.TooLarge, "draft, importer ceilings", "service/importer"}
	StderrBytes       = Row{"child_stderr_bytes", 64 << 10, Bytes, fault.TooLarge, "ours: enough of a child's last words", "means/childprocess"}
	TxAhead           = Row{"tx_ahead_s", 5 * 60, Seconds, fault.TxExpired, "pool page 5", "domain/pool/authority"}
	TxBack            = Row{"tx_back_s", 24 * 3600, Seconds, fault.TxExpired, "pool page 5", "domain/pool/authority"}
	ResultsKept       = Row{"results_kept_s", 7 * 24 * 3600, Seconds, fault.TxExpired, "pool page 6; of the time that hosts ran", "adapters/store/retention"}
	CallsKept         = Row{"calls_kept_s", 90 * 24 * 3600, Seconds, fault.TxExpired, "pool page 6; of the time that hosts ran", "adapters/store/retention"}
	RepeatGuard       = Row{"repeat_guard_s", 10 * 60, Seconds, fault.Conflict, "pool page 6", "domain/pool/authority"}
	ConfirmationLife  = Row{"confirmation_s", 5 * 60, Seconds, fault.ConfirmationRequired, "pool page 3", "domain/pool/authority"}
	AppConfirmations  = Row{"open_confirmations_per_app", 8, Count, fault.RateLimited, "ours: no app may use up the owner's questions", "domain/pool/authority"}
	OpenConfirmations = Row{"open_confirmations", 32, Count, fault.RateLimited, "pool page 3", "domain/pool/authority"}
	QuestionLife      = Row{"open_confirmation_s", 24 * 3600, Seconds, fault.ConfirmationRequired, "ours: as long as the tx that it was asked for; a no holds as long", "domain/pool/confirmation"}
	ResourcePerMinute = Row{"resource_calls_per_minute", 60, Count, fault.RateLimited, "draft, importer ceilings", "domain/pool/budget"}
	ResourceAtOnce    = Row{"resource_calls_at_once", 4, Count, fault.RateLimited, "draft, importer ceilings", "domain/pool/budget"}
	AccountAtOnce     = Row{"account_calls_at_once", 256, Count, fault.RateLimited, "pool page 7", "domain/pool/budget"}
	BudgetMost        = Row{"budget_most", 1 << 40, Count, fault.InvalidRequest, "pool page 3", "domain/pool/budget"}
	ItemKeyBytes      = Row{"item_key_bytes", 256, Bytes, fault.InvalidArgs, "pool page 10", "domain/pool/item"}
	ItemValueBytes    = Row{"item_value_bytes", 40 << 10, Bytes, fault.TooLarge, "pool page 10", "domain/pool/item"}
	PageRows          = Row{"page_rows", 100, Count, fault.InvalidRequest, "pool page 8", "adapters/store"}
	HTTPConnections   = Row{"http_connections", 8192, Count, fault.Unavailable, "threats, A69", "faces/httpguard"}
	HTTPHeaderBytes   = Row{"http_header_bytes", 16 << 10, Bytes, fault.TooLarge, "ours: twice what browsers send", "faces/httpguard"}
	HTTPHeader        = Row{"http_header_ms", 10_000, Milliseconds, fault.InvalidRequest, "threats, A69", "faces/httpguard"}
	HTTPRequest       = Row{"http_request_ms", 30_000, Milliseconds, fault.InvalidRequest, "threats, A69", "faces/httpguard"}
	HTTPIdle          = Row{"http_idle_s", 120, Seconds, fault.Unavailable, "ours: longer than people pause between two commands", "faces/httpguard"}
	HTTPWrite         = Row{"http_write_ms", 10_000, Milliseconds, fault.Unavailable, "threats, A69", "faces/rpc"}
	MCPApps           = Row{"mcp_apps", 4096, Count, fault.Unavailable, "pool page 9", "faces/mcp"}
	MCPSessions       = Row{"mcp_sessions", 1024, Count, fault.RateLimited, "pool page 9; proof page, R14", "faces/mcp"}
	MCPStreams        = Row{"mcp_streams", 1024, Count, fault.RateLimited, "pool page 9; proof page, R14", "faces/mcp"}
	MCPHeld           = Row{"mcp_held", 4096, Count, fault.RateLimited, "quality page 1, memory", "faces/mcp"}
	MCPCalls          = Row{"mcp_calls_at_once", 256, Count, fault.RateLimited, "pool page 9", "faces/mcp"}
	MCPListTools      = Row{"mcp_list_tools", 1000, Count, fault.TooLarge, "pool page 9", "faces/mcp"}
	MCPListBytes      = Row{"mcp_list_bytes", 4 << 20, Bytes, fault.TooLarge, "pool page 9", "faces/mcp"}
	MCPSessionIdle    = Row{"mcp_session_idle_s", 30 * 60, Seconds, fault.Unavailable, "pool page 9", "faces/mcp"}
	MCPRecheck        = Row{"mcp_recheck_ms", 2_000, Milliseconds, fault.Unavailable, "field faults, FF82", "faces/mcp"}
	MCPWrite          = Row{"mcp_write_ms", 10_000, Milliseconds, fault.Unavailable, "proof page, R14", "faces/mcp"}
)

var poolRows = []Row{
	JSONBytes, JSONDepth, JSONNodes, RequestBytes, RequestDepth, RequestNodes, AdminBytes, ClientFileBytes, ClientFileNodes, BridgeLineBytes, BridgeRequests, BridgeDrain, DiffCells, SettingsBytes, AnswerBytes, ResultBytes, ResultLinks, ResultDepth, ResultNodes,
	DescriptorBytes, ContractURLBytes, ContractMethods, SchemaBytes, SchemaDepth, SchemaNodes, SchemaProperties,
	SchemaEnum, TitleBytes, DescriptionBytes, LabelBytes, CallDeadline, CallGrace, StartDeadline, StopGrace,
	UpstreamLineBytes, RelistPause, RelistEvery, FirstLookLeast, FirstLookMost, LookEvery, LookAgain, ListingTools, ListingPages, ListingBytes, ListingDepth, ListingNodes, ToolBytes, StderrBytes,
	TxAhead, TxBack,
	ResultsKept, CallsKept, RepeatGuard, ConfirmationLife, AppConfirmations, OpenConfirmations, QuestionLife, ResourcePerMinute, ResourceAtOnce, AccountAtOnce, BudgetMost, ItemKeyBytes, ItemValueBytes, PageRows,
	HTTPConnections, HTTPHeaderBytes, HTTPHeader, HTTPRequest, HTTPIdle, HTTPWrite,
	MCPApps, MCPSessions, MCPStreams, MCPHeld, MCPCalls, MCPListTools, MCPListBytes, MCPSessionIdle, MCPRecheck, MCPWrite,
}
