// Package consent keeps what the owner was shown and said. A record is
// evidence: it is written once, together with the rows that it made, and
// nothing reads authority from it (pool page, section 3).
package consent

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Kind says what was consented to.
type Kind string

// The kinds of consent records.
const (
	Activation Kind = "activation" // the owner approved methods of a resource
	Granting   Kind = "granting"   // the owner gave a client rows of authority
)

// Record is one consent. Shown is the JSON of what the owner saw, and Digest is the
// digest of those bytes: an approval that carries another one is refused (invariant
// I34), and the row of the audit trail has it.
type Record struct {
	ID       id.Consent
	Owner    id.Owner
	Client   id.Client // zero for an activation
	Resource id.Resource
	Kind     Kind
	Shown    []byte
	Digest   digest.Digest
	At       time.Time
}
