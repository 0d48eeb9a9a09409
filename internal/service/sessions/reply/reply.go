// Package reply is what the coordinator of sessions answers and tells, in no wire's
// form: the answers of its commands and the events of its connections. The values
// are plain and are not changed once they were handed over; those with a secret
// give it to who renders the one answer.
package reply

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/domain/sessions/operation"
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// The answers of commands, in no wire's form. What a lookup keeps of one is the
// same value, or the one named beside it.
type (
	// Counts answers Status.
	Counts struct {
		Ready                                     bool // it takes new work
		ActiveTurns, Connections, ClaimedSessions int
	}

	// Page answers List.
	Page struct {
		Sessions []Owned
		Next     string // empty: there is no more
	}

	// Created answers Create.
	Created struct{ Session string }

	// InUse answers Active.
	InUse struct{ Sessions []Used }

	// Claimed answers Claim; Regained is kept.
	Claimed struct {
		Grant    secret.Secret
		Snapshot Snapshot
	}

	// Regained is what is kept of a claim: no grant.
	Regained struct{ Generation int64 }

	// Detached answers Detach.
	Detached struct{ Generation int64 }

	// Replayed answers Replay.
	Replayed struct {
		Events []transcript.Event
		Next   string // empty: there is no more
	}

	// Started answers Start once the turn is accepted; it is kept until the turn
	// ends, then its turn.Terminal is.
	Started struct {
		Turn     string
		Accepted *manifest.Accepted
	}

	// CancelRequested answers Cancel.
	CancelRequested struct{ Turn string }

	// Looked answers Lookup.
	Looked struct{ Entry operation.Entry }

	// Resources answers ListResources.
	Resources struct {
		Revision string
		Entries  []registry.Descriptor
	}

	// Registered answers Register.
	Registered struct {
		Revision string
		Entry    registry.Descriptor
	}

	// Unregistered answers Unregister.
	Unregistered struct{ Resource, Removed, Revision string }

	// Cleared answers Clear.
	Cleared struct {
		Revision string
		Removed  int
	}

	// Lent answers CreateExecutor; Acknowledged is kept.
	Lent struct {
		ID         string
		Generation int64
		Secret     secret.Secret
	}

	// Resumed answers ConfirmExecutor and ResumeExecutor; Acknowledged is kept.
	Resumed struct {
		ID         string
		Generation int64
		Calls      []callback.Open
	}

	// Rotation answers RotateExecutor; Acknowledged is kept.
	Rotation struct {
		ID         string
		Generation int64
		Secret     secret.Secret
		PendingMS  int64
	}

	// Held answers RotatedExecutor and ReleaseExecutor; Acknowledged is kept.
	Held struct {
		ID         string
		Generation int64
	}

	// Acknowledged is what is kept of every executor method.
	Acknowledged struct {
		Status     string // completed or rotation_pending
		ID         string
		Generation int64
		PendingMS  int64 // 0: was not answered
	}

	// Settled answers Result.
	Settled struct{ Call string }
)

// Owned is one stored session and who controls it.
type Owned struct {
	Session    string
	Title      string
	Updated    time.Time
	Controller string // none, this_connection or other_connection
}

// Used is one session that is controlled or at work.
type Used struct {
	Session    string
	Generation int64
	Controlled bool
	Turn       string // empty while it is prepared, and without one
	State      string // idle or a turn.State
}

// Snapshot is a session at the instant of a claim.
type Snapshot struct {
	Session    string
	Generation int64
	Sequence   int64          // of the last event before it
	Turn       *Ongoing       // accepted, else nil
	Terminal   *turn.Terminal // the newest, where there is no turn
}

// Ongoing is the accepted turn of a session.
type Ongoing struct {
	Turn, Operation string
	State           turn.State
	Text            string
	Accepted        *manifest.Accepted
}

// Event tells a connection what happened. Its payload is one of the structs
// below; Operation, Generation and Sequence are empty where there are none.
type Event struct {
	Session    string
	Operation  string
	Generation int64
	Sequence   int64
	Payload    any
}

// The payloads of events; the end of a turn is a turn.Terminal.
type (
	// Began says that the turn runs.
	Began struct{ Turn string }

	// Delta is more of what the assistant says.
	Delta struct{ Turn, Text string }

	// Activity tells what is being done.
	Activity struct{ Turn, Kind, Name, Summary string }

	// Revoked tells why control is gone.
	Revoked struct {
		Reason     string
		Generation int64
	}

	// Dispatched asks the executor to run a call, once.
	Dispatched struct {
		Turn, Call, ProviderCall       string
		Executor                       string
		Generation                     int64 // that counts now
		Resource, Revision, Hash, Name string
		Arguments                      string
		TimeoutMS                      int64
	}

	// Withdrawn says that a dispatched call counts no more.
	Withdrawn struct {
		Turn, Call, Executor string
		Generation           int64
		Reason               string // cancelled or tool_timeout
	}
)
