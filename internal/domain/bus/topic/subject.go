package topic

import (
	"strings"

	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

const (
	root        = "b"
	rest        = ">" // the server's token for one or more segments
	brokerToken = "_broker"
)

// Principal is the owner whose context a message is about. The zero value is
// nobody and has no subject.
type Principal struct{ token string }

// PrincipalOf is the principal of an owner.
func PrincipalOf(owner id.Owner) Principal { return Principal{owner.Body()} }

// String is the principal's token of a subject.
func (p Principal) String() string { return p.token }

// IsZero reports whether there is no principal.
func (p Principal) IsZero() bool { return p.token == "" }

// Source is who says something: a capsule, or the broker. The zero value is
// nobody.
type Source struct{ token string }

// SourceOf is the source of a capsule: it follows from the tenant, the capsule's
// name and its publisher, and so outlives each build.
func SourceOf(tenant, name, publisher string) Source {
	bits := digest.Join(tenant, name, publisher).Sum(digest.Source).Bits128()
	return Source{id.Named[id.Source](bits).Body()}
}

// Broker is the source of the host's own requests. No capsule can have it.
func Broker() Source { return Source{brokerToken} }

// String is the source's token of a subject, and a capsule's id in topics.
func (s Source) String() string { return s.token }

// IsZero reports whether there is no source.
func (s Source) IsZero() bool { return s.token == "" }

// Subject is where a message goes, and at once who says it and for whom.
type Subject struct {
	Principal Principal
	Source    Source
	Topic     Topic
}

// String is the subject as the server knows it.
func (s Subject) String() string {
	return strings.Join([]string{root, s.Principal.token, s.Source.token, s.Topic.text}, ".")
}

// ParseSubject reads a subject. What is not of the form, such as one that holds
// a wildcard, is refused.
func ParseSubject(text string) (Subject, error) {
	parts := strings.SplitN(text, ".", 4)
	if len(parts) != 4 || parts[0] != root {
		return Subject{}, fault.New(fault.InvalidRequest, "not a subject of the bus")
	}
	if _, err := id.Parse[id.Owner]("own_" + parts[1]); err != nil {
		return Subject{}, fault.New(fault.InvalidRequest, "a subject without a principal")
	}
	if _, err := id.Parse[id.Source]("src_" + parts[2]); err != nil && parts[2] != brokerToken {
		return Subject{}, fault.New(fault.InvalidRequest, "a subject without a source")
	}
	t, err := Parse(parts[3])
	if err != nil {
		return Subject{}, err
	}
	return Subject{Principal{parts[1]}, Source{parts[2]}, t}, nil
}
