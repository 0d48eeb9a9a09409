package fault

// The codes of the pool wing (pool page, sections 5 and 7).
const (
	InvalidRequest       Code = "invalid_request"
	Unauthenticated      Code = "unauthenticated"
	GrantRequired        Code = "grant_required"
	NeedsConsent         Code = "needs_consent"
	ConfirmationRequired Code = "confirmation_required"
	NotFound             Code = "not_found"
	TxInProgress         Code = "tx_in_progress"
	Conflict             Code = "conflict"
	TxExpired            Code = "tx_expired"
	PreconditionFailed   Code = "precondition_failed"
	TooLarge             Code = "too_large"
	InvalidArgs          Code = "invalid_args"
	TxMismatch           Code = "tx_mismatch"
	PreconditionRequired Code = "precondition_required"
	RateLimited          Code = "rate_limited"
	BudgetExhausted      Code = "budget_exhausted"
	Internal             Code = "internal"
	Unsupported          Code = "unsupported"
	UpstreamFailed       Code = "upstream_failed"
	Unavailable          Code = "unavailable"
	Indeterminate        Code = "indeterminate"
)

// JSON-RPC has two numbers for us: what the caller got wrong or may not see,
// and everything else.
const (
	rpcCaller = -32602
	rpcHost   = -32603
)

var internalRow = Row{Internal, 500, rpcHost, SameTx, false, "The host itself failed before it could decide; nothing was dispatched."}

var poolRows = []Row{
	{InvalidRequest, 400, rpcCaller, Never, true, "The request is not of the wire's form."},
	{Unauthenticated, 401, rpcCaller, Never, false, "No live token for this door."},
	{GrantRequired, 403, rpcCaller, Never, true, "The caller holds some grant on the resource, but none for this method."},
	{NeedsConsent, 403, rpcCaller, Never, true, "A grant exists but what it pinned has changed or was suspended; the owner must approve anew."},
	{ConfirmationRequired, 403, rpcCaller, SameTx, true, "The owner must confirm this exact input once; details say how."},
	{NotFound, 404, rpcCaller, Never, false, "There is no such thing, or it is not the caller's to see."},
	{TxInProgress, 409, rpcHost, SameTx, true, "The same tx is being executed now."},
	{Conflict, 409, rpcHost, NewTx, true, "The state does not allow it; an equal call of unknown outcome may stand in the way."},
	{TxExpired, 410, rpcCaller, NewTx, true, "The tx is outside the accepted age and unknown; it was not executed."},
	{PreconditionFailed, 412, rpcCaller, NewTx, true, "The stored version is not the one that the precondition names."},
	{TooLarge, 413, rpcCaller, NewTx, true, "A named bound is exceeded."},
	{InvalidArgs, 422, rpcCaller, NewTx, true, "The arguments do not fit the method's schema."},
	{TxMismatch, 422, rpcCaller, Never, true, "The tx was used before with another request."},
	{PreconditionRequired, 428, rpcCaller, NewTx, true, "The method needs a precondition and none was given."},
	{RateLimited, 429, rpcHost, SameTx, true, "Too many calls; details say when the next is allowed."},
	{BudgetExhausted, 429, rpcHost, Never, true, "A budget of the grant is used up; details say when it resets."},
	internalRow,
	{Unsupported, 501, rpcHost, NewTx, true, "This host does not offer that."},
	{UpstreamFailed, 502, rpcHost, NewTx, true, "The upstream was called and answered with a failure."},
	{Unavailable, 503, rpcHost, SameTx, true, "It cannot be called now; this request sent no byte."},
	{Indeterminate, 504, rpcHost, AfterReconcile, true, "The call may have happened; it must not be repeated before it is reconciled."},
}
