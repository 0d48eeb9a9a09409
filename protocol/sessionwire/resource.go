package sessionwire

// ResourcesListAnswer is a session's registry without bodies and paths.
type ResourcesListAnswer struct {
	RegistryRevision string       `json:"registry_revision"`
	Entries          []Descriptor `json:"entries"`
}

// RegisterPayload creates a resource, or replaces the revision that it names.
type RegisterPayload struct {
	ExpectedRevision *string  `json:"expected_revision"` // null creates
	Resource         Resource `json:"resource"`
}

// Resource is what a controller lends to the session.
type Resource struct {
	Kind        string `json:"kind" enum:"tool skill"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      Source `json:"source"`
}

// Source says where the content comes from: {kind:"inline", content} or
// {kind:"workspace_file", path}. Of a tool it is JSON with input_schema,
// output_schema and optionally timeout_ms; of a skill it is plain text.
type Source struct {
	Kind    string  `json:"kind" enum:"inline workspace_file"`
	Content *string `json:"content,omitzero"`
	Path    *string `json:"path,omitzero"`
}

// RegisterAnswer describes the new revision.
type RegisterAnswer struct {
	RegistryRevision string     `json:"registry_revision"`
	Entry            Descriptor `json:"entry"`
}

// RegisterKept is what a lookup on an ordinary connection tells of a registration.
type RegisterKept struct {
	RegistryRevision string `json:"registry_revision"`
	ResourceID       string `json:"resource_id"`
	RevisionID       string `json:"revision_id"`
}

// Descriptor is one revision of a resource, for everybody who may list it.
type Descriptor struct {
	ResourceID     string      `json:"resource_id"`
	RevisionID     string      `json:"revision_id"`
	Kind           string      `json:"kind" enum:"tool skill"`
	Name           string      `json:"name"`
	Description    string      `json:"description"`
	ContentSHA256  string      `json:"content_sha256"`  // 64 lower-case hexadecimal digits, over the captured bytes
	RevisionSHA256 string      `json:"revision_sha256"` // the same form; see the guide for what it covers
	CapturedBytes  int         `json:"captured_bytes"`
	RegisteredBy   Attribution `json:"registered_by"`
}

// Attribution is the connection's action that something is due to; it is no
// verified person.
type Attribution struct {
	InstanceID      string `json:"instance_id"`
	ConnectionID    string `json:"connection_id"`
	OperationID     string `json:"operation_id"`
	GrantGeneration int64  `json:"grant_generation"`
}

// UnregisterPayload removes one resource.
type UnregisterPayload struct {
	ResourceID       string `json:"resource_id"`
	ExpectedRevision string `json:"expected_revision"`
}

// UnregisterAnswer tells what was removed.
type UnregisterAnswer struct {
	ResourceID       string `json:"resource_id"`
	RemovedRevision  string `json:"removed_revision"`
	RegistryRevision string `json:"registry_revision"`
}

// ClearPayload removes everything.
type ClearPayload struct {
	ExpectedRegistryRevision string `json:"expected_registry_revision"`
}

// ClearAnswer tells how much was removed.
type ClearAnswer struct {
	RegistryRevision string `json:"registry_revision"`
	RemovedCount     int    `json:"removed_count"`
}

// Manifest is what a turn was accepted with. It never changes.
type Manifest struct {
	Profile            string            `json:"profile"`
	RegistryRevision   string            `json:"registry_revision"`
	Resources          []Descriptor      `json:"resources"`
	Tools              []ToolManifest    `json:"tools"`
	AcceptedController Attribution       `json:"accepted_controller"`
	AcceptedExecutor   *AcceptedExecutor `json:"accepted_executor"` // null where there is no tool
}

// ToolManifest is one tool that the turn may call.
type ToolManifest struct {
	ResourceID     string `json:"resource_id"`
	RevisionID     string `json:"revision_id"`
	RevisionSHA256 string `json:"revision_sha256"`
	Name           string `json:"name"`
	TimeoutMS      int64  `json:"timeout_ms"`
}

// AcceptedExecutor is the executor of the turn, at the instant of acceptance.
type AcceptedExecutor struct {
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
}
