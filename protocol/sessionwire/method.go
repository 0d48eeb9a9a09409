package sessionwire

// Method is one row of the table of methods. Dispatch, early refusals, the lists
// of a capability answer and the generated page all read it.
type Method struct {
	Name      string
	Session   bool  // session_id is set, else null
	Control   bool  // control is set, else null
	Operation bool  // operation_id is set and fresh, else null
	Profile   bool  // only on a connection that selected the profile
	Payload   any   // the zero value of the request's payload
	Answer    any   // the zero value of the response's payload
	Kept      []any // zero values of what a lookup's result may be, beside null
	Does      string
}

// The names of the methods.
const (
	Initialize          = "initialize"
	Capabilities        = "capabilities"
	Status              = "status"
	SessionList         = "session.list"
	SessionCreate       = "session.create"
	SessionActive       = "session.active"
	SessionClaim        = "session.claim"
	SessionDetach       = "session.detach"
	SessionReplay       = "session.replay"
	TurnStart           = "turn.start"
	TurnCancel          = "turn.cancel"
	OperationLookup     = "operation.lookup"
	ResourcesList       = "session.resources.list"
	ResourcesRegister   = "session.resources.register"
	ResourcesUnregister = "session.resources.unregister"
	ResourcesClear      = "session.resources.clear"
	ExecutorCreate      = "executor.create"
	ExecutorConfirm     = "executor.confirm"
	ExecutorResume      = "executor.resume"
	ExecutorRotate      = "executor.rotate"
	ExecutorRotated     = "executor.rotate_confirm"
	ExecutorRelease     = "executor.release"
	ToolResult          = "turn.application_tool_result"
	Evidence            = "turn.application_evidence"
)

var methods = []Method{
	{Initialize, false, false, false, false, InitializePayload{}, CapabilityAnswer{}, nil,
		"Opens the connection and selects the profile, once."},
	{Capabilities, false, false, false, false, Empty{}, CapabilityAnswer{}, nil,
		"Repeats what initialize answered."},
	{Status, false, false, false, false, Empty{}, StatusAnswer{}, nil,
		"Tells how the daemon is."},
	{SessionList, false, false, false, false, ListPayload{}, SessionListAnswer{}, nil,
		"Lists stored sessions, a page at a time."},
	{SessionCreate, false, false, true, false, CreatePayload{}, CreateAnswer{}, []any{CreateAnswer{}},
		"Makes a session; its header is durable before the answer."},
	{SessionActive, false, false, false, false, Empty{}, ActiveAnswer{}, nil,
		"Lists the sessions that are controlled or at work."},
	{SessionClaim, true, false, true, false, ClaimPayload{}, ClaimAnswer{}, []any{ClaimKept{}},
		"Takes control of a session, from another controller only by takeover."},
	{SessionDetach, true, true, true, false, Empty{}, DetachAnswer{}, []any{DetachAnswer{}},
		"Gives control back; accepted work goes on."},
	{SessionReplay, true, false, false, false, ReplayPayload{}, ReplayAnswer{}, nil,
		"Reads the durable record of a session, a page at a time."},
	{TurnStart, true, true, true, false, StartPayload{}, StartAnswer{}, []any{StartAnswer{}, Terminal{}},
		"Starts the session's one turn; the answer comes once the input is durable."},
	{TurnCancel, true, true, true, false, TurnPayload{}, CancelAnswer{}, []any{CancelAnswer{}},
		"Stops a turn: the guide's Stop."},
	{OperationLookup, false, false, false, false, LookupPayload{}, LookupAnswer{}, nil,
		"Tells what is remembered of an operation; never a secret."},
	{ResourcesList, true, true, false, true, Empty{}, ResourcesListAnswer{}, nil,
		"Lists the session's resources, sorted by kind and name."},
	{ResourcesRegister, true, true, true, true, RegisterPayload{}, RegisterAnswer{}, []any{RegisterAnswer{}, RegisterKept{}},
		"Captures a source as a new resource or revision."},
	{ResourcesUnregister, true, true, true, true, UnregisterPayload{}, UnregisterAnswer{}, []any{UnregisterAnswer{}},
		"Removes a resource from later turns."},
	{ResourcesClear, true, true, true, true, ClearPayload{}, ClearAnswer{}, []any{ClearAnswer{}},
		"Removes every resource from later turns."},
	{ExecutorCreate, false, false, true, true, Empty{}, ExecutorSecretAnswer{}, []any{ExecutorAcknowledged{}},
		"Makes a provisional executor and its first proof."},
	{ExecutorConfirm, false, false, true, true, ExecutorProof{}, ExecutorResumedAnswer{}, []any{ExecutorAcknowledged{}},
		"Confirms the executor on the connection that made it."},
	{ExecutorResume, false, false, true, true, ExecutorProof{}, ExecutorResumedAnswer{}, []any{ExecutorAcknowledged{}},
		"Attaches the executor here, under the next generation, and fences its old connection."},
	{ExecutorRotate, false, false, true, true, ExecutorAt{}, ExecutorRotationAnswer{}, []any{ExecutorAcknowledged{}},
		"Gives a candidate proof; the old one stays."},
	{ExecutorRotated, false, false, true, true, ExecutorProofAt{}, ExecutorAt{}, []any{ExecutorAcknowledged{}},
		"Makes the candidate the one proof."},
	{ExecutorRelease, false, false, true, true, ExecutorAt{}, ExecutorAt{}, []any{ExecutorAcknowledged{}},
		"Ends the executor and its proofs; no call moves elsewhere."},
	{ToolResult, true, false, true, true, ResultPayload{}, ResultAnswer{}, []any{ResultAnswer{}},
		"Settles a call; answered once the result is durable."},
	{Evidence, true, true, false, true, TurnPayload{}, EvidenceAnswer{}, nil,
		"Tells what ran of a turn and what did not, without arguments or results."},
}

// Methods returns the table, in the order of the documents. The caller owns the
// slice.
func Methods() []Method { return append([]Method(nil), methods...) }

// EventRow is one row of the table of events.
type EventRow struct {
	Name    string
	Profile bool // only on connections that selected the profile
	Payload any  // the zero value of its payload
	Does    string
}

// The names of the events.
const (
	TurnStarted    = "turn.started"
	TurnDelta      = "turn.delta"
	TurnActivity   = "turn.activity"
	TurnTerminal   = "turn.terminal"
	ControlRevoked = "control.revoked"
	ToolCall       = "turn.application_tool_call"
	ToolCancel     = "turn.application_tool_cancel"
)

var events = []EventRow{
	{TurnStarted, false, TurnPayload{}, "The turn runs."},
	{TurnDelta, false, DeltaPayload{}, "The assistant said this, at most 8 KiB at a time."},
	{TurnActivity, false, ActivityPayload{}, "Something is being done for the turn."},
	{TurnTerminal, false, TerminalPayload{}, "The turn has ended, and its end is durable."},
	{ControlRevoked, false, RevokedPayload{}, "The control token counts no more."},
	{ToolCall, true, CallPayload{}, "The executor is to run this call, once; the binding is durable."},
	{ToolCancel, true, CallCancelPayload{}, "The call counts no more. Advisory: what ran is not undone."},
}

// KindRow is one row of the table of the durable record's kinds.
type KindRow struct {
	Name string
	Data any // the zero value of the data of a replayed event
	Does string
}

var kinds = []KindRow{
	{"session_title", TitleData{}, "The session was made."},
	{"user_input", InputData{}, "A turn was accepted with this prompt."},
	{"assistant_chunk", ChunkData{}, "The assistant said this."},
	{"tool_call", ToolCallData{}, "The agent called a tool."},
	{"tool_result", ToolResultData{}, "The call has ended, and what is known of its effects."},
	{"turn_status", TurnStatusData{}, "The turn has ended."},
}

// Kinds returns the table of kinds. The caller owns the slice.
func Kinds() []KindRow { return append([]KindRow(nil), kinds...) }

// Events returns the table of events. The caller owns the slice.
func Events() []EventRow { return append([]EventRow(nil), events...) }
