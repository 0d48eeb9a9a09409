// Package confirmation holds the owner's fresh yes for one exact input. It is
// bound to the input digest, which leaves the tx out, lets one call out, and lives
// five minutes from the approval (pool page, section 3; invariant I49). A no is bound
// in the same way and holds for as long as a question waits, so that an app gets no
// other answer by asking again.
package confirmation

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// State is where a confirmation stands. Whether an approved one is still good, and
// whether an open one still waits, is derived from the time.
type State string

// The states: open may be approved or denied, approved may be used. Expired is an
// open one that nobody answered in time, and is never stored.
const (
	Open     State = "open"
	Approved State = "approved"
	Denied   State = "denied"
	Used     State = "used"
	Expired  State = "expired"
)

// Row is one question to the owner. Args is the exact input, for the owner's
// eyes.
type Row struct {
	ID        id.Confirmation
	Key       grant.Key
	Grant     id.Grant
	Pin       grant.Pin
	Input     digest.Digest
	Args      []byte
	State     State
	AskedAt   time.Time
	DecidedAt time.Time
	UsedBy    id.Tx
}

// Good reports whether the row lets a call with this input under this grant
// through now. At the exact end of its life it does not. A used row is still good
// for the tx that it was used by, while nothing of that was sent: retake is that tx
// when it is taken up again, else zero.
func (r Row) Good(input digest.Digest, g id.Grant, pin grant.Pin, retake id.Tx, now time.Time) bool {
	unused := r.State == Approved || r.State == Used && r.UsedBy == retake && !retake.IsZero()
	return unused && r.Input == input && r.Grant == g && r.Pin == pin &&
		now.Before(r.DecidedAt.Add(bound.ConfirmationLife.Duration()))
}

// Refuses reports whether the row is a no that still holds for this input under this
// grant. At the exact end of its life it does not.
func (r Row) Refuses(input digest.Digest, g id.Grant, pin grant.Pin, now time.Time) bool {
	return r.State == Denied && r.Input == input && r.Grant == g && r.Pin == pin && now.Before(r.RefusedUntil())
}

// RefusedUntil is when a no ends.
func (r Row) RefusedUntil() time.Time { return r.DecidedAt.Add(bound.QuestionLife.Duration()) }

// StateAt derives where the row stands now. A question waits as long as the tx that
// it was asked for could be sent again; at the exact end it does not.
func (r Row) StateAt(now time.Time) State {
	if r.State == Open && !r.AskedAt.After(WaitsSince(now)) {
		return Expired
	}
	return r.State
}

// WaitsSince is the time at which the oldest question that waits now was not yet
// asked.
func WaitsSince(now time.Time) time.Time { return now.Add(-bound.QuestionLife.Duration()) }

// Decide moves an open row. Deciding the same way twice changes nothing and is
// no fault (field faults, FF100).
func (r Row) Decide(approve bool, now time.Time) (Row, error) {
	want := Denied
	if approve {
		want = Approved
	}
	if r.State == want {
		return r, nil
	}
	if state := r.StateAt(now); state != Open {
		return r, fault.Newf(fault.Conflict, "the confirmation is already %s", state)
	}
	r.State, r.DecidedAt = want, now
	return r, nil
}
