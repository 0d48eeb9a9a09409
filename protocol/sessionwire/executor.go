package sessionwire

// ExecutorSecretAnswer is one of the two places where a proof is told.
type ExecutorSecretAnswer struct {
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"` // 1
	ResumeSecret       string `json:"resume_secret"`       // 32 random bytes in base64url
}

// ExecutorProof shows that the sender holds an executor.
type ExecutorProof struct {
	ExecutorID   string `json:"executor_id"`
	ResumeSecret string `json:"resume_secret"`
}

// ExecutorAt names an executor under the generation that counts now.
type ExecutorAt struct {
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
}

// ExecutorProofAt is a proof under a generation.
type ExecutorProofAt struct {
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	ResumeSecret       string `json:"resume_secret"`
}

// ExecutorResumedAnswer tells which calls are open; never their arguments.
type ExecutorResumedAnswer struct {
	ExecutorID         string        `json:"executor_id"`
	ExecutorGeneration int64         `json:"executor_generation"`
	PendingCalls       []PendingCall `json:"pending_calls"`
}

// PendingCall is one call of this executor that is not settled.
type PendingCall struct {
	SessionID      string `json:"session_id"`
	TurnID         string `json:"turn_id"`
	CallID         string `json:"call_id"`
	ProviderCallID string `json:"provider_call_id"`
	Name           string `json:"name"`
	ResourceID     string `json:"resource_id"`
	RevisionID     string `json:"revision_id"`
	RevisionSHA256 string `json:"revision_sha256"`
	Status         string `json:"status" enum:"waiting_for_executor pending"`
	Effects        string `json:"external_effects" enum:"not_dispatched uncertain"`
	WaitKind       string `json:"wait_kind" enum:"availability execution"`
	RemainingMS    int64  `json:"remaining_ms"`
}

// ExecutorRotationAnswer is the other place where a proof is told.
type ExecutorRotationAnswer struct {
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	ResumeSecret       string `json:"resume_secret"`
	Status             string `json:"status" enum:"rotation_pending"`
	PendingTimeoutMS   int64  `json:"pending_timeout_ms"`
}

// ExecutorAcknowledged is what a lookup keeps of every executor method.
type ExecutorAcknowledged struct {
	Status             string `json:"status" enum:"completed rotation_pending"`
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	PendingTimeoutMS   *int64 `json:"pending_timeout_ms,omitzero"`
}

// CallPayload asks the executor to run one call, once. The session is in the
// envelope.
type CallPayload struct {
	TurnID             string `json:"turn_id"`
	CallID             string `json:"call_id"`
	ProviderCallID     string `json:"provider_call_id"`
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	ResourceID         string `json:"resource_id"`
	RevisionID         string `json:"revision_id"`
	RevisionSHA256     string `json:"revision_sha256"`
	Name               string `json:"name"`
	Arguments          Raw    `json:"arguments"`
	TimeoutMS          int64  `json:"timeout_ms"`
}

// CallCancelPayload says that a dispatched call counts no more.
type CallCancelPayload struct {
	TurnID             string `json:"turn_id"`
	CallID             string `json:"call_id"`
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	Reason             string `json:"reason" enum:"cancelled tool_timeout"`
}

// ResultPayload settles a call. It repeats the binding of the call, with the
// generation that the executor has now.
type ResultPayload struct {
	TurnID             string        `json:"turn_id"`
	CallID             string        `json:"call_id"`
	ExecutorID         string        `json:"executor_id"`
	ExecutorGeneration int64         `json:"executor_generation"`
	ResourceID         string        `json:"resource_id"`
	RevisionID         string        `json:"revision_id"`
	RevisionSHA256     string        `json:"revision_sha256"`
	Outcome            ResultOutcome `json:"outcome"`
}

// ResultOutcome is {status:"success", value} or {status:"error", code, message}.
type ResultOutcome struct {
	Status  string  `json:"status" enum:"success error"`
	Value   Raw     `json:"value,omitzero"`
	Code    *string `json:"code,omitzero" enum:"execution_failed permission_denied"`
	Message *string `json:"message,omitzero"`
}

// ResultAnswer says that the result is durable.
type ResultAnswer struct {
	CallID string `json:"call_id"`
	Status string `json:"status" enum:"accepted"`
}

// EvidenceAnswer tells what ran of a turn.
type EvidenceAnswer struct {
	TurnID              string      `json:"turn_id"`
	ApplicationManifest Raw         `json:"application_manifest"` // Manifest or null
	Calls               []CallProof `json:"calls"`
}

// CallProof is one call of a turn.
type CallProof struct {
	CallID             string  `json:"call_id"`
	ProviderCallID     string  `json:"provider_call_id"`
	Name               string  `json:"name"`
	ExecutorID         string  `json:"executor_id"` // as accepted with the turn
	ExecutorGeneration int64   `json:"executor_generation"`
	ResourceID         string  `json:"resource_id"`
	RevisionID         string  `json:"revision_id"`
	RevisionSHA256     string  `json:"revision_sha256"`
	Status             string  `json:"status" enum:"waiting_for_executor pending succeeded failed cancelled"`
	ExternalEffects    string  `json:"external_effects" enum:"not_dispatched uncertain reported"`
	WaitKind           *string `json:"wait_kind" enum:"availability execution"` // null once settled
	RemainingMS        *int64  `json:"remaining_ms"`                            // null once settled
}
