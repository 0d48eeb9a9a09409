package fault

// The codes of the sessions wing (sessions page, section 6) beside Conflict,
// which it shares with the pool. On the Unix wire the meaning is the message;
// the HTTP and JSON-RPC columns serve where a fault is passed on by a door of
// the pool.
const (
	MalformedRecord       Code = "malformed_record"
	RecordTooLarge        Code = "record_too_large"
	InvalidEnvelope       Code = "invalid_envelope"
	UnsupportedVersion    Code = "unsupported_version"
	NotInitialized        Code = "not_initialized"
	AlreadyInitialized    Code = "already_initialized"
	StaleConnection       Code = "stale_connection"
	DuplicateRequest      Code = "duplicate_request"
	UnknownMethod         Code = "unknown_method"
	UnsupportedCapability Code = "unsupported_capability"
	InvalidPayload        Code = "invalid_payload"
	OperationAlreadyKnown Code = "operation_already_known"
	UnknownSession        Code = "unknown_session"
	SessionBusy           Code = "session_busy"
	StaleControl          Code = "stale_control"
	ResourceNotFound      Code = "resource_not_found"
	UnknownTurn           Code = "unknown_turn"
	ConfigurationBusy     Code = "configuration_busy"
	LimitExceeded         Code = "limit_exceeded"
	PersistenceFailed     Code = "persistence_failed"
	ShuttingDown          Code = "shutting_down"
	InternalError         Code = "internal_error"
)

var sessionRows = []Row{
	{MalformedRecord, 400, rpcCaller, Never, true, "The record is not one line of strict JSON in UTF-8; the connection is closed."},
	{RecordTooLarge, 413, rpcCaller, Never, true, "The record is longer than a record may be; the connection is closed."},
	{InvalidEnvelope, 400, rpcCaller, Never, false, "The record is not an envelope of a request, or sets a member that the method leaves null."},
	{UnsupportedVersion, 400, rpcCaller, Never, false, "Only version 2 of the protocol is spoken here."},
	{NotInitialized, 409, rpcCaller, NewTx, false, "The connection is not initialized yet."},
	{AlreadyInitialized, 409, rpcCaller, Never, false, "The connection is initialized already; its selection does not change."},
	{StaleConnection, 403, rpcCaller, Never, false, "The instance, connection, executor generation or proof is not the one that counts now."},
	{DuplicateRequest, 409, rpcCaller, NewTx, false, "The request ID is in use by a request that is not answered yet."},
	{UnknownMethod, 404, rpcCaller, Never, false, "There is no such method in this protocol."},
	{UnsupportedCapability, 501, rpcCaller, Never, true, "The connection has not selected what this needs, or it is not offered any more."},
	{InvalidPayload, 422, rpcCaller, NewTx, true, "The payload is not of the form that the method asks for."},
	{OperationAlreadyKnown, 409, rpcCaller, Never, false, "The operation ID was used before; look the operation up instead of repeating it."},
	{UnknownSession, 404, rpcCaller, Never, false, "There is no such session."},
	{SessionBusy, 409, rpcHost, NewTx, false, "Another process writes to the session now."},
	{StaleControl, 403, rpcCaller, Never, false, "The control token is not the one that counts now."},
	{ResourceNotFound, 404, rpcCaller, Never, false, "The registry has no such resource."},
	{UnknownTurn, 404, rpcCaller, Never, false, "There is no such turn or call that this could be about now."},
	{ConfigurationBusy, 409, rpcHost, NewTx, true, "Another source is being captured, or the capture took longer than the request may take."},
	{LimitExceeded, 429, rpcCaller, NewTx, true, "A bound of the sessions wing is reached; nothing was changed."},
	{PersistenceFailed, 503, rpcHost, NewTx, false, "It could not be made durable and was not acknowledged."},
	{ShuttingDown, 503, rpcHost, NewTx, true, "The daemon is stopping and takes no new work."},
	{InternalError, 500, rpcHost, NewTx, true, "The daemon itself failed; its log has the reason."},
}

// SessionRows returns the rows of the sessions wing. The caller owns the slice.
func SessionRows() []Row { return append([]Row(nil), sessionRows...) }
