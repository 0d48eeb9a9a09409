package sessionwire

// Empty is a payload without members.
type Empty struct{}

// InitializePayload opens a connection.
type InitializePayload struct {
	Client                *Client  `json:"client,omitzero"`
	RequestedCapabilities []string `json:"requested_capabilities,omitzero"`
}

// Client names the program at the other end; it is shown, never trusted.
type Client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// CapabilityAnswer says what this daemon offers and what the connection selected.
type CapabilityAnswer struct {
	Server                 Client           `json:"server"`
	ProtocolVersion        int              `json:"protocol_version"`
	Transports             []string         `json:"transports"`
	Operations             []string         `json:"operations"` // the methods that this connection may call
	Events                 []string         `json:"events"`     // the events that it may see
	Activity               map[string]bool  `json:"activity"`
	Limits                 map[string]int64 `json:"limits"`
	NegotiatedCapabilities []string         `json:"negotiated_capabilities,omitzero"` // only where the profile is selected
	ApplicationCallbacks   *Callbacks       `json:"application_callbacks,omitzero"`   // only where the profile is selected
}

// Callbacks describes the profile.
type Callbacks struct {
	Profile           string           `json:"profile"`
	SourceKinds       []string         `json:"source_kinds"`
	Registry          bool             `json:"registry"`
	ReconnectEvidence bool             `json:"reconnect_evidence"`
	Bounds            map[string]int64 `json:"bounds"`
}

// StatusAnswer tells how the daemon is.
type StatusAnswer struct {
	Ready           bool   `json:"ready"` // false while it ends its work
	Version         string `json:"version"`
	Workspace       string `json:"workspace"`
	StateRoot       string `json:"state_root"`
	ActiveTurns     int    `json:"active_turns"`
	Connections     int    `json:"connections"`
	ClaimedSessions int    `json:"claimed_sessions"`
}

// ListPayload asks for a page: after is the last one's next, limit at most 50.
type ListPayload struct {
	After *string `json:"after,omitzero"`
	Limit *int    `json:"limit,omitzero"`
}

// SessionListAnswer is a page of sessions.
type SessionListAnswer struct {
	Sessions []SessionRow `json:"sessions"`
	Next     *string      `json:"next"`
}

// SessionRow is one stored session.
type SessionRow struct {
	SessionID string `json:"session_id"`
	Title     string `json:"title"`
	UpdatedAt string `json:"updated_at"`                                             // RFC 3339, UTC
	Ownership string `json:"ownership" enum:"none this_connection other_connection"` // who controls it
}

// CreatePayload makes a session.
type CreatePayload struct {
	Title *string `json:"title,omitzero"`
}

// CreateAnswer names the new session.
type CreateAnswer struct {
	SessionID string `json:"session_id"`
}

// ActiveAnswer lists the sessions in use.
type ActiveAnswer struct {
	Sessions []ActiveRow `json:"sessions"`
}

// ActiveRow is one session that is controlled or at work.
type ActiveRow struct {
	SessionID  string  `json:"session_id"`
	Generation int64   `json:"generation"`
	Controlled bool    `json:"controlled"`
	TurnID     *string `json:"turn_id"` // null while a turn is being prepared
	State      string  `json:"state" enum:"idle preparing running cancelling"`
}

// ClaimPayload takes control. Mode claim is refused where somebody has it.
type ClaimPayload struct {
	Mode               string `json:"mode" enum:"claim takeover"`
	ExpectedGeneration *int64 `json:"expected_generation,omitzero"`
}

// ClaimAnswer is the only place where a grant is told.
type ClaimAnswer struct {
	Control  Control  `json:"control"`
	Snapshot Snapshot `json:"snapshot"`
}

// ClaimKept is what a lookup keeps of a claim: no grant.
type ClaimKept struct {
	Generation int64 `json:"generation"`
}

// Snapshot is a session at the instant of a claim. What happened before is in it,
// what happens after is an event: nothing is lost and nothing comes twice.
type Snapshot struct {
	SessionID    string    `json:"session_id"`
	Generation   int64     `json:"generation"`
	LiveSequence int64     `json:"live_sequence"` // of the last event before it
	Turn         *Turn     `json:"turn"`          // the accepted turn, or null
	Terminal     *Terminal `json:"terminal"`      // the newest end of a turn, for 600 seconds, or null
}

// Turn is the accepted turn of a session.
type Turn struct {
	TurnID              string `json:"turn_id"`
	OperationID         string `json:"operation_id"`
	State               string `json:"state" enum:"running cancelling"`
	AssistantText       string `json:"assistant_text"`
	ApplicationManifest Raw    `json:"application_manifest,omitzero"` // Manifest or null; absent on ordinary connections
}

// Terminal is the end of a turn.
type Terminal struct {
	TurnID              string `json:"turn_id"`
	OperationID         string `json:"operation_id"`
	Status              string `json:"status" enum:"completed failed cancelled"`
	Error               *Error `json:"error"`
	AssistantText       string `json:"assistant_text"`
	ApplicationManifest Raw    `json:"application_manifest,omitzero"` // Manifest or null; absent on ordinary connections
}

// DetachAnswer says that control was given back.
type DetachAnswer struct {
	Status     string `json:"status" enum:"detached"`
	Generation int64  `json:"generation"`
}

// StartPayload starts a turn.
type StartPayload struct {
	Prompt      string     `json:"prompt"`
	Application *Selection `json:"application,omitzero"`
}

// Selection names the registry that the turn is to see, as it was listed, who
// executes its tools, and that the controller allows each of them.
type Selection struct {
	ExpectedRegistryRevision string          `json:"expected_registry_revision"`
	ExecutorID               *string         `json:"executor_id"`         // null where there is no tool
	ExecutorGeneration       *int64          `json:"executor_generation"` // null where there is no tool
	ToolAuthorizations       []Authorization `json:"tool_authorizations"`
}

// Authorization is the controller's word for one exact revision of a tool.
type Authorization struct {
	ResourceID     string `json:"resource_id"`
	RevisionID     string `json:"revision_id"`
	RevisionSHA256 string `json:"revision_sha256"`
}

// StartAnswer says that the turn is accepted and its input durable.
type StartAnswer struct {
	Status              string `json:"status" enum:"accepted"`
	TurnID              string `json:"turn_id"`
	ApplicationManifest Raw    `json:"application_manifest,omitzero"` // Manifest or null; absent on ordinary connections
}

// TurnPayload names a turn.
type TurnPayload struct {
	TurnID string `json:"turn_id"`
}

// CancelAnswer says that the turn was told to stop.
type CancelAnswer struct {
	Status string `json:"status" enum:"cancel_requested"`
	TurnID string `json:"turn_id"`
}

// LookupPayload names an operation of anybody on this daemon.
type LookupPayload struct {
	OperationID string `json:"operation_id"`
}

// LookupAnswer is what is remembered of an operation. Result is what the method's
// row in the table keeps of its answer, without secrets and without what only its
// caller may know; of a turn that has ended it is the Terminal. It is null where
// nothing has been answered yet, or nothing is remembered any more.
type LookupAnswer struct {
	OperationID string  `json:"operation_id"`
	State       string  `json:"state" enum:"pending accepted settled expired unknown"`
	Method      *string `json:"method"`
	SessionID   *string `json:"session_id"`
	Result      Raw     `json:"result"`
	Error       *Error  `json:"error"`
}

// DeltaPayload is more of what the assistant says.
type DeltaPayload struct {
	TurnID string `json:"turn_id"`
	Text   string `json:"text"`
}

// ActivityPayload tells what is being done.
type ActivityPayload struct {
	TurnID  string `json:"turn_id"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// TerminalPayload is the end of a turn, live.
type TerminalPayload struct {
	TurnID              string `json:"turn_id"`
	Status              string `json:"status" enum:"completed failed cancelled"`
	Error               *Error `json:"error"`
	AssistantText       string `json:"assistant_text"`
	ApplicationManifest Raw    `json:"application_manifest,omitzero"` // Manifest or null; absent on ordinary connections
}

// RevokedPayload tells why control is gone.
type RevokedPayload struct {
	Reason     string `json:"reason" enum:"takeover"`
	Generation int64  `json:"generation"` // of the session after the revocation
}
