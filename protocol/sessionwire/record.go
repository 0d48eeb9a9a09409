package sessionwire

// ReplayPayload asks for a page of the durable record: after is the last one's
// next.
type ReplayPayload struct {
	After *string `json:"after,omitzero"`
	Limit *int    `json:"limit,omitzero"`
}

// ReplayAnswer is a page of the durable record, at most 24 KiB.
type ReplayAnswer struct {
	Events []Recorded `json:"events"`
	Next   *string    `json:"next"`
}

// Recorded is one durable record, or one part of a long one. What its data is
// depends on its kind; the table of kinds says how.
type Recorded struct {
	EventID string `json:"event_id"`
	At      string `json:"at"` // RFC 3339, UTC
	Kind    string `json:"kind"`
	Data    Raw    `json:"data"`
}

// TitleData is the head of a session.
type TitleData struct {
	SessionID string  `json:"session_id"`
	Title     *string `json:"title"`
}

// InputData is a prompt, or a part of it.
type InputData struct {
	TurnID              string `json:"turn_id"`
	OperationID         string `json:"operation_id,omitzero"` // with the first part
	Text                string `json:"text"`
	More                bool   `json:"more"`                          // the text goes on in the next event
	ApplicationManifest Raw    `json:"application_manifest,omitzero"` // Manifest or null, with the first part; absent on ordinary connections
}

// ChunkData is what the assistant said, or a part of it.
type ChunkData struct {
	TurnID string `json:"turn_id"`
	Text   string `json:"text"`
	More   bool   `json:"more"` // the text goes on in the next event
}

// ToolCallData is a call, without its arguments.
type ToolCallData struct {
	TurnID         string `json:"turn_id"`
	CallID         string `json:"call_id"`
	ProviderCallID string `json:"provider_call_id"`
	Name           string `json:"name"`
	Source         string `json:"source" enum:"application builtin mcp"`
}

// ToolResultData is the end of a call, without its result.
type ToolResultData struct {
	TurnID  string `json:"turn_id"`
	CallID  string `json:"call_id"`
	Status  string `json:"status" enum:"succeeded failed cancelled"`
	Effects string `json:"effects" enum:"none not_dispatched reported uncertain"`
	Code    string `json:"code"` // of a failure, else empty
}

// TurnStatusData is the end of a turn.
type TurnStatusData struct {
	TurnID string `json:"turn_id"`
	Status string `json:"status" enum:"completed failed cancelled"`
	Code   string `json:"code"` // of what is not completed, else empty
}
