package bound

import "github.com/stewardhost/steward/internal/ground/fault"

// The bounds of the bus wing.
var (
	TopicBytes         = Row{"topic_bytes", 256, Bytes, fault.InvalidRequest, "bus page 3", "domain/bus/topic"}
	TopicSegments      = Row{"topic_segments", 8, Count, fault.InvalidRequest, "bus page 3", "domain/bus/topic"}
	TopicSegmentBytes  = Row{"topic_segment_bytes", 64, Bytes, fault.InvalidRequest, "bus page 3", "domain/bus/topic"}
	CapsulePatterns    = Row{"capsule_patterns", 64, Count, fault.TooLarge, "ours: four times what a serving capsule needs", "domain/bus/topic"}
	CapsuleBytes       = Row{"capsule_payload_bytes", 1 << 20, Bytes, fault.TooLarge, "bus page 3", "protocol/capsulewire, adapters/natsbus"}
	CapsuleFrameBytes  = Row{"capsule_frame_bytes", 1<<20 + 16<<10, Bytes, fault.TooLarge, "ours: a payload and what stands around it", "protocol/capsulewire"}
	BusAggregateBytes  = Row{"bus_aggregate_bytes", 2 << 20, Bytes, fault.TooLarge, "bus page 3", "domain/bus/describe"}
	BusMessageBytes    = Row{"bus_message_bytes", 4 << 20, Bytes, fault.TooLarge, "bus page 3", "adapters/natsbus"}
	AnswerBytesBurst   = Row{"answer_burst_bytes", 4 << 20, Bytes, fault.RateLimited, "ours: two lists of bus_aggregate_bytes", "adapters/natsbus"}
	AnswerBytesSecond  = Row{"answer_second_bytes", 32 << 20, Bytes, fault.RateLimited, "ours: what a small part of one processor reads (bus reference, section 5.4)", "adapters/natsbus"}
	EnvelopeBytes      = Row{"bus_envelope_bytes", 1 << 10, Bytes, fault.TooLarge, "ours: several times the longest", "adapters/natsbus"}
	BusPendingBytes    = Row{"bus_pending_bytes", 8 << 20, Bytes, fault.RateLimited, "bus reference, experiments", "adapters/natsbus"}
	BusConnectionBytes = Row{"bus_connection_bytes", 64 << 20, Bytes, fault.RateLimited, "ours: as many full answers as a principal may have open reads", "adapters/natsbus"}
	BusWrite           = Row{"bus_write_ms", 2_000, Milliseconds, fault.Unavailable, "bus reference, experiments", "adapters/natsbus"}
	CalloutBytes       = Row{"callout_bytes", 64 << 10, Bytes, fault.TooLarge, "ours: many times a server's question with its certificates", "adapters/natsbus/callout"}
	SeatAnswers        = Row{"seat_answers_owed", 256, Count, fault.RateLimited, "ours: a principal's open reads and some that others answered", "adapters/natsbus"}
	BusURLs            = Row{"bus_urls", 16, Count, fault.TooLarge, "ours: more servers than a cluster of a bus has", "faces/cli/settings"}
	CapsuleDepth       = Row{"capsule_payload_depth", 16, Depth, fault.InvalidRequest, "ours: as deep as a request", "protocol/capsulewire"}
	CapsuleNodes       = Row{"capsule_payload_nodes", 65536, Count, fault.InvalidRequest, "ours: 256 full definitions", "protocol/capsulewire"}
	CapsuleArguments   = Row{"capsule_arguments_depth", 14, Depth, fault.InvalidRequest, "ours: capsule_payload_depth without the payload and the frame", "adapters/natsbus"}
	ReplyDefinitions   = Row{"reply_definitions", 256, Count, fault.TooLarge, "bus page 5", "domain/bus/describe"}
	ReplyDrops         = Row{"reply_drops", 512, Count, fault.TooLarge, "ours: as many as definitions", "domain/bus/describe"}
	ReadSnapshot       = Row{"read_snapshot_ms", 5_000, Milliseconds, fault.TimedOut, "bus reference 5.6", "service/broker"}
	OwnerDefinitions   = Row{"principal_definitions", 512, Count, fault.TooLarge, "bus page 5", "domain/bus/describe"}
	ResourceURIBytes   = Row{"resource_uri_bytes", 2 << 10, Bytes, fault.InvalidRequest, "bus page 5", "domain/bus/describe"}
	ServedTextBytes    = Row{"served_text_bytes", 4096, Bytes, fault.InvalidRequest, "bus page 5: name, title, description", "domain/bus/describe"}
	ResourceMetaBytes  = Row{"resource_meta_bytes", 8 << 10, Bytes, fault.InvalidRequest, "bus page 5", "domain/bus/describe"}
	ResourceIcons      = Row{"resource_icons", 8, Count, fault.InvalidRequest, "bus page 5", "domain/bus/describe"}
	ResourceIconBytes  = Row{"resource_icon_bytes", 16 << 10, Bytes, fault.InvalidRequest, "bus page 5", "domain/bus/describe"}
	ReadChunks         = Row{"read_chunks", 64, Count, fault.TooLarge, "bus page 5", "domain/bus/read"}
	ReadContentBytes   = Row{"read_content_bytes", 512 << 10, Bytes, fault.TooLarge, "bus page 5: raw bytes, before base64", "domain/bus/read"}
	ReadAnswerBytes    = Row{"read_answer_bytes", 1 << 20, Bytes, fault.TooLarge, "ours: read_content_bytes in base64, and what stands around it", "adapters/mcpupstream"}
	ReadErrorBytes     = Row{"read_error_bytes", 512, Bytes, fault.TooLarge, "bus page 5", "domain/bus/read"}
	DescribeWarm       = Row{"describe_warm_ms", 500, Milliseconds, fault.TimedOut, "bus page 4", "domain/bus/describe"}
	DescribeCold       = Row{"describe_cold_ms", 2_500, Milliseconds, fault.TimedOut, "bus page 4", "domain/bus/describe"}
	CapsuleYoung       = Row{"capsule_young_ms", 5_000, Milliseconds, fault.TimedOut, "bus page 4", "domain/bus/describe"}
	ReadDescribe       = Row{"read_describe_ms", 500, Milliseconds, fault.TimedOut, "bus page 4", "service/broker"}
	ReadBroadcast      = Row{"read_broadcast_ms", 1_000, Milliseconds, fault.TimedOut, "bus page 4", "domain/bus/read"}
	ReadConflict       = Row{"read_conflict_ms", 25, Milliseconds, fault.Conflict, "bus page 4", "domain/bus/read"}
	CapsuleDeadline    = Row{"capsule_deadline_ms", 9_500, Milliseconds, fault.TimedOut, "bus reference 5.7", "adapters/capsulehost"}
	BrokerDeadline     = Row{"broker_deadline_ms", 10_000, Milliseconds, fault.TimedOut, "bus page 4", "service/broker"}
	ResourceDeadline   = Row{"resource_deadline_ms", 12_000, Milliseconds, fault.TimedOut, "bus page 4", "faces/mcp"}
	OpenReads          = Row{"open_reads_per_principal", 64, Count, fault.RateLimited, "ours: no principal may use up the broker", "service/broker"}
	CapsulesInstalled  = Row{"capsules_installed", 256, Count, fault.TooLarge, "ours: 200 responders and some", "adapters/capsulehost"}
	CapsuleManifest    = Row{"capsule_manifest_bytes", 64 << 10, Bytes, fault.TooLarge, "ours: many times the longest", "adapters/capsulehost"}
	CapsuleCalls       = Row{"capsule_calls_at_once", 64, Count, fault.RateLimited, "ours: as many as a principal's open reads", "adapters/capsulehost"}
	CapsuleRestartWait = Row{"capsule_restart_s", 30, Seconds, fault.Unavailable, "ours: the longest pause before a capsule is started again", "adapters/capsulehost"}
	CapsuleFamilies    = Row{"capsule_families", 32, Count, fault.TooLarge, "ours: more than a capsule has subjects", "domain/bus/describe"}
	ModuleBytes        = Row{"module_bytes", 16 << 20, Bytes, fault.TooLarge, "ours: three times what Go makes of a small capsule", "adapters/capsulehost/sandbox"}
	ProgramBytes       = Row{"capsule_program_bytes", 512 << 20, Bytes, fault.TooLarge, "ours: it is read before each start, and more than any program", "adapters/capsulehost/folder"}
	ModuleMemory       = Row{"module_memory_bytes", 64 << 20, Bytes, fault.TooLarge, "bus reference 5.10; ours: many times what a request of 1 MiB needs", "adapters/capsulehost/sandbox"}
	ModuleOutput       = Row{"module_output_bytes", 1<<20 + 64<<10, Bytes, fault.TooLarge, "ours: a frame, and the one that says ready", "adapters/capsulehost/sandbox"}
	ModuleLocals       = Row{"module_locals", 1 << 20, Count, fault.TooLarge, "ours: many times what Go makes of a small capsule", "adapters/capsulehost/sandbox"}
	ModuleSignature    = Row{"module_signature", 1000, Count, fault.TooLarge, "ours: as the specification of its JavaScript interface", "adapters/capsulehost/sandbox"}
	ModuleTable        = Row{"module_table_entries", 1 << 18, Count, fault.TooLarge, "ours: many times what Go makes of a small capsule", "adapters/capsulehost/sandbox"}
	ModulesKept        = Row{"modules_kept", 32, Count, fault.TooLarge, "ours: more modules than a host has, at some 10 MiB each", "adapters/capsulehost/sandbox"}
	CapsuleInstances   = Row{"capsule_instances", 4, Count, fault.RateLimited, "bus reference 5.10; ours: requests of one module at once", "adapters/capsulehost/sandbox"}
	HostInstances      = Row{"host_instances", 8, Count, fault.RateLimited, "ours: half a GiB of memory", "adapters/capsulehost/sandbox"}
	CapsuleToolCalls   = Row{"capsule_tool_calls_at_once", 32, Count, fault.Unavailable, "ours: half of what a capsule takes, so that reads go on", "service/workbench"}
	CapsuleLate        = Row{"capsule_late_calls", 64, Count, fault.Unavailable, "ours: calls of a capsule that are over and may still be answered, twice what it has at once", "service/workbench, adapters/capsulehost"}
	CapsuleTools       = Row{"capsule_tools", 64, Count, fault.TooLarge, "ours: two contracts of methods", "protocol/capsulewire"}
)

var busRows = []Row{
	TopicBytes, TopicSegments, TopicSegmentBytes, CapsulePatterns, CapsuleBytes, CapsuleFrameBytes, BusAggregateBytes, BusMessageBytes, AnswerBytesBurst, AnswerBytesSecond, EnvelopeBytes, BusPendingBytes,
	BusConnectionBytes, BusWrite, CalloutBytes, SeatAnswers, BusURLs, CapsuleDepth, CapsuleNodes, CapsuleArguments, ReplyDefinitions, ReplyDrops, ReadSnapshot, OwnerDefinitions, ResourceURIBytes, ServedTextBytes, ResourceMetaBytes,
	ResourceIcons, ResourceIconBytes, ReadChunks, ReadContentBytes, ReadAnswerBytes, ReadErrorBytes, DescribeWarm, DescribeCold, CapsuleYoung,
	ReadDescribe, ReadBroadcast, ReadConflict, CapsuleDeadline, BrokerDeadline, ResourceDeadline, OpenReads, CapsulesInstalled,
	CapsuleManifest, CapsuleCalls, CapsuleRestartWait, CapsuleFamilies, CapsuleTools, CapsuleToolCalls, CapsuleLate,
	ModuleBytes, ProgramBytes, ModuleMemory, ModuleOutput, ModuleLocals, ModuleSignature, ModuleTable, ModulesKept, CapsuleInstances, HostInstances,
}
