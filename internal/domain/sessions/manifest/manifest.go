// Package manifest is what a turn was accepted with (guide, Accept the complete
// snapshot): descriptors, tools, who accepted and who executes. It is made once,
// stamped once, and never changes; acceptance, durable record, evidence, claims and
// lookups give the same value. No body, path or secret is in it.
//
// Its encoded field is at most bound.ManifestBytes and is taken off the turn's
// budget of assistant text. All functions are pure.
package manifest

import (
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Profile is the profile under which a manifest is made.
const Profile = "application_resources_v1"

// Manifest is what a turn was accepted with. The zero Manifest is none.
type Manifest struct {
	Profile            string                `json:"profile"`
	RegistryRevision   string                `json:"registry_revision"`
	Resources          []registry.Descriptor `json:"resources"`
	Tools              []Tool                `json:"tools"`
	AcceptedController registry.Attribution  `json:"accepted_controller"`
	AcceptedExecutor   *Executor             `json:"accepted_executor"`
}

// Tool is one tool that the turn may call.
type Tool struct {
	ResourceID     string `json:"resource_id"`
	RevisionID     string `json:"revision_id"`
	RevisionSHA256 string `json:"revision_sha256"`
	Name           string `json:"name"`
	TimeoutMS      int64  `json:"timeout_ms"`
}

// Executor is the executor of the turn at the instant of acceptance.
type Executor struct {
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
}

// Accepted is a stamped manifest with its encoding. A nil Accepted is a turn
// without application resources.
type Accepted struct {
	Manifest Manifest
	Encoded  strictjson.Raw
}

// field is the member under which a manifest is sent.
type field struct {
	Manifest strictjson.Raw `json:"application_manifest"`
}

// Stamp makes the manifest of a snapshot under the authority that accepted it; the
// executor is nil where there is no tool. The fault is limit_exceeded.
func Stamp(s *registry.Snapshot, by registry.Attribution, executor *Executor) (*Accepted, error) {
	m := Manifest{Profile: Profile, RegistryRevision: s.Revision, Resources: s.Descriptors(), Tools: []Tool{}, AcceptedController: by, AcceptedExecutor: executor}
	for _, e := range s.Tools() {
		d := e.Descriptor
		m.Tools = append(m.Tools, Tool{d.ResourceID, d.RevisionID, d.RevisionSHA256, d.Name, e.Resource.Timeout.Milliseconds()})
	}
	encoded, err := strictjson.Encode(m)
	if err != nil {
		return nil, err
	}
	a := &Accepted{Manifest: m, Encoded: encoded}
	if err := bound.ManifestBytes.Check(a.FieldBytes()); err != nil {
		return nil, err
	}
	return a, nil
}

// FieldBytes is the length of {application_manifest:...}; of nil it is 0.
func (a *Accepted) FieldBytes() int {
	if a == nil {
		return 0
	}
	whole, err := strictjson.Encode(field{a.Encoded})
	if err != nil { // it was encoded by us
		panic(err)
	}
	return len(whole)
}

// Raw is the manifest as it is sent; of nil it is null.
func (a *Accepted) Raw() strictjson.Raw {
	if a == nil {
		return strictjson.Raw("null")
	}
	return a.Encoded
}

// Check holds a snapshot to the catalog of this instant, a conflict where a name is
// reserved by now, and to its executor, which is there exactly where there are
// tools: else invalid_payload.
func Check(s *registry.Snapshot, executor *Executor, names []string) error {
	for _, e := range s.Entries {
		if registry.IsReserved(e.Descriptor.Name, names) {
			return fault.New(fault.Conflict, "a resource's name is reserved by now")
		}
	}
	if (executor == nil) != (len(s.Tools()) == 0) {
		return fault.New(fault.InvalidPayload, "an executor is there exactly where there are tools")
	}
	return nil
}

// Authorization is the controller's word for one exact revision of a tool.
type Authorization struct{ Resource, Revision, Hash string }

// Authorize holds the controller's word to the snapshot's tools: each once, none
// besides. A missing, extra or doubled one is invalid_payload; one of another
// revision, or of no resource here, is a conflict.
func Authorize(s *registry.Snapshot, words []Authorization) error {
	kinds := map[string]*registry.Entry{}
	for _, e := range s.Entries {
		kinds[e.Descriptor.ResourceID] = e
	}
	seen := map[string]bool{}
	for _, w := range words {
		e := kinds[w.Resource]
		switch {
		case seen[w.Resource]:
			return fault.New(fault.InvalidPayload, "a tool is authorized twice")
		case e == nil:
			return fault.New(fault.Conflict, "an authorized resource is not in the registry")
		case e.Descriptor.Kind != registry.Tool:
			return fault.New(fault.InvalidPayload, "a skill is authorized")
		case e.Descriptor.RevisionID != w.Revision || e.Descriptor.RevisionSHA256 != w.Hash:
			return fault.New(fault.Conflict, "an authorized tool has another revision")
		}
		seen[w.Resource] = true
	}
	if len(words) != len(s.Tools()) {
		return fault.New(fault.InvalidPayload, "a tool is not authorized")
	}
	return nil
}
