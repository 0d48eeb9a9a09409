// Package control says who controls a session (sessions page, section 4).
//
//	free --claim--> held --detach, disconnect--> free
//	                held --takeover (revoked, then given anew)--> held
//
// The generation of a session grows by one with each grant that is given and with
// each that is revoked, and by nothing else; it outlives grants. A grant is known
// by its hash only. A claim that would leave no room for its own revocation is
// refused.
//
// A Book has one owner. Nothing here depends on time.
package control

import (
	"maps"
	"slices"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Token is what a request shows.
type Token struct {
	Grant      secret.Hash
	Generation int64
}

// Claim asks for a session.
type Claim struct {
	Session    string
	Connection string
	Takeover   bool
	Expected   *int64      // the generation that the claimant last saw; nil is any
	Grant      secret.Hash // of the fresh grant
}

// Revoked tells of a grant that counts no more.
type Revoked struct {
	Session    string
	Connection string // that held it
	Held       int64  // its generation
	Generation int64  // of the session after the revocation
}

// seat is one session's control.
type seat struct {
	generation int64
	sequence   int64
	connection string // empty: free
	grant      secret.Hash
}

// Book holds the control of every session that was ever claimed. Use New.
type Book struct {
	seats map[string]*seat
	held  int
}

// New returns an empty book.
func New() *Book { return &Book{seats: map[string]*seat{}} }

// Claim gives control and tells the new generation and, of a takeover, whose
// grant it ended. The faults are conflict and limit_exceeded.
func (b *Book) Claim(c Claim) (int64, *Revoked, error) {
	s := b.seats[c.Session]
	if s == nil {
		s = &seat{}
	}
	if c.Expected != nil && *c.Expected != s.generation {
		return 0, nil, fault.New(fault.Conflict, "the session has another generation")
	}
	taken := s.connection != ""
	if taken && !c.Takeover {
		return 0, nil, fault.New(fault.Conflict, "the session is controlled")
	}
	steps := int64(2)
	if taken {
		steps = 3
	} else if err := bound.AttachedSessions.Check(b.held + 1); err != nil {
		return 0, nil, err
	}
	if s.generation > strictjson.MaxSafe-steps {
		return 0, nil, fault.New(fault.LimitExceeded, "the session has no generation left")
	}
	if b.seats[c.Session] == nil {
		if err := bound.RememberedSessions.Check(len(b.seats) + 1); err != nil {
			return 0, nil, err
		}
		b.seats[c.Session] = s
	}
	var revoked *Revoked
	if taken {
		r := b.revoke(c.Session, s)
		revoked = &r
	}
	s.generation++
	s.connection, s.grant = c.Connection, c.Grant
	b.held++
	return s.generation, revoked, nil
}

func (b *Book) revoke(session string, s *seat) Revoked {
	r := Revoked{Session: session, Connection: s.connection, Held: s.generation}
	s.generation++
	r.Generation = s.generation
	s.connection, s.grant = "", secret.Hash{}
	b.held--
	return r
}

// Check holds a token to the grant that counts. Every way to be wrong gives the
// same stale_control.
func (b *Book) Check(session, connection string, t Token) error {
	s := b.seats[session]
	if s == nil || s.connection == "" || s.connection != connection || s.generation != t.Generation || !secret.Equal(s.grant, t.Grant) {
		return fault.New(fault.StaleControl, "the control token does not count")
	}
	return nil
}

// Detach ends the grant of a session that is held, and tells whether it was.
func (b *Book) Detach(session string) (Revoked, bool) {
	s := b.seats[session]
	if s == nil || s.connection == "" {
		return Revoked{}, false
	}
	return b.revoke(session, s), true
}

// Disconnect ends every grant of a connection, in the order of the sessions.
func (b *Book) Disconnect(connection string) []Revoked {
	var out []Revoked
	for _, session := range slices.Sorted(maps.Keys(b.seats)) {
		if s := b.seats[session]; s.connection == connection {
			out = append(out, b.revoke(session, s))
		}
	}
	return out
}

// At tells the generation of a session and who controls it; empty is nobody.
func (b *Book) At(session string) (generation int64, connection string) {
	if s := b.seats[session]; s != nil {
		return s.generation, s.connection
	}
	return 0, ""
}

// Sequence is the number of the last event of a session.
func (b *Book) Sequence(session string) int64 {
	if s := b.seats[session]; s != nil {
		return s.sequence
	}
	return 0
}

// Number gives the next event of a session its number. Of a session that nobody
// ever claimed there are no events.
func (b *Book) Number(session string) int64 {
	s := b.seats[session]
	s.sequence++
	return s.sequence
}

// Held lists the sessions that are controlled, sorted.
func (b *Book) Held() []string {
	var out []string
	for session, s := range b.seats {
		if s.connection != "" {
			out = append(out, session)
		}
	}
	slices.Sort(out)
	return out
}
