package invocation

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Target names what a call is for. It comes from a request or from a tool's
// mapping and is nothing but a claim until it was authorized.
type Target struct {
	Resource id.Resource
	Contract string // URL
	Method   string
}

// Reference names a method as a door received it. Resource is an id or one of the
// host's aliases and is resolved inside the owner; an empty Contract is the one
// that has a method of that name.
type Reference struct {
	Resource string
	Contract string
	Method   string
}

// Resolved is a reference as it stands in the pool; it grants nothing.
type Resolved struct {
	Target Target
	Method resource.Method
}

// Outcome is what a settled row says. It never changes but by reconciliation.
type Outcome struct {
	Code    fault.Code     // empty for success
	Text    string         // public message of a failure
	Reason  string         // details.reason
	Effects effect.Outcome //
	Result  []byte         // raw JSON, may be nil
	Version string         // of the item that a built-in changed, else empty
	Detail  string         // for the owner's eyes: what the adapter saw
	Removed digest.Digest  // of a result that was kept long enough and is gone
}

// Why the host itself is in doubt of a call, as details.reason tells it. What the
// executor was seen to do has its reasons in Classify.
const (
	Restart        = "restart"         // the process that had sent it died
	StoreRestored  = "restored"        // the store is a copy of an older time
	JournalUnknown = "journal_unknown" // the journal did not say whether it took the row
)

// Doubt is the outcome of a call of which nobody knows whether it had an effect.
func Doubt(reason string) Outcome {
	return Outcome{Code: fault.Indeterminate, Reason: reason, Effects: effect.Uncertain}
}

// Reconciliation is how a doubt ended.
type Reconciliation struct {
	By string // "owner" or "late_answer"
	At time.Time
}

// Row is one journal row: everything durable about one call. Times are UTC with
// millisecond precision; a zero time means that it has not happened.
type Row struct {
	ID           id.Invocation
	Owner        id.Owner
	Client       id.Client
	Tx           id.Tx
	Target       Target
	Request      digest.Digest // resource, contract, method, canonical args and `if`
	Input        digest.Digest // the same without anything that tells two equal calls apart
	Grant        id.Grant      // zero for the owner's own calls
	Revision     id.Revision
	Classes      effect.Set
	State        State
	Node         id.Node
	Epoch        int64
	Attempt      int64 // how often the row was taken up; at most one take-up is dispatched
	ReservedAt   time.Time
	DispatchedAt time.Time
	DeadlineAt   time.Time
	SettledAt    time.Time
	Outcome      Outcome
	Reconciled   Reconciliation
}

// Status is the first word of an answer.
type Status string

// The statuses (pool page, section 5).
const (
	OK       Status = "ok"
	Error    Status = "error"
	InDoubt  Status = "indeterminate"
	Underway Status = "pending"
)

// Answer is what a caller is told about one call. For a settled row it is a pure
// function of the row, so that the same tx gives the same answer for ever.
type Answer struct {
	Tx         id.Tx
	Invocation id.Invocation
	Status     Status
	Result     []byte // raw JSON or nil
	Fault      *fault.Fault
	Effects    effect.Outcome
	Replayed   bool
	Revision   id.Revision
	Version    string
	Millis     int64           // from the dispatch mark to the outcome
	Reconciled *Reconciliation // set where a doubt ended well
}

// Refusal is the answer to a call that never became a row or did not leave it.
func Refusal(tx id.Tx, f *fault.Fault, effects effect.Outcome) Answer {
	return Answer{Tx: tx, Status: Error, Fault: f, Effects: effects}
}

// Answer tells what the row says.
func (r Row) Answer() Answer {
	a := Answer{Tx: r.Tx, Invocation: r.ID, Revision: r.Revision, Effects: r.Outcome.Effects, Version: r.Outcome.Version}
	if !r.SettledAt.IsZero() && !r.DispatchedAt.IsZero() {
		a.Millis = r.SettledAt.Sub(r.DispatchedAt).Milliseconds()
	}
	if !r.Outcome.Removed.IsZero() {
		a.Status = Error
		a.Fault = fault.New(fault.TxExpired, "the call is over and was not executed again; its result is no longer kept").
			With("settled", true).With("state", string(r.State))
		return a
	}
	switch r.State {
	case Reserved, Dispatching:
		a.Status, a.Effects = Underway, effect.None
		if r.State == Dispatching {
			a.Effects = effect.Uncertain
		}
	case Succeeded:
		a.Status, a.Result = OK, r.Outcome.Result
	case Indeterminate, Abandoned:
		a.Status, a.Fault = InDoubt, r.doubt()
	case ReconciledSucceeded:
		a.Status, a.Result, a.Reconciled = OK, r.Outcome.Result, &r.Reconciled
	case Failed, NotDispatched, ReconciledFailed:
		a.Status, a.Result = Error, r.Outcome.Result
		a.Fault = r.failure()
	}
	return a
}

func (r Row) failure() *fault.Fault {
	f := fault.New(r.Outcome.Code, r.Outcome.Text)
	if r.Outcome.Reason != "" {
		f = f.With("reason", r.Outcome.Reason)
	}
	if r.State == ReconciledFailed {
		f = f.With("reconciled", r.Reconciled.Details())
	}
	return f
}

// doubt is the one look of "it may have happened" (proof, "What indeterminate
// must look like").
func (r Row) doubt() *fault.Fault {
	f := fault.New(fault.Indeterminate, "the call may have happened; do not repeat it, ask the owner").
		With("reason", r.Outcome.Reason).
		With("attempt", int64(1)).
		With("reconcile", "owner").
		With("dispatched_at", stamp(r.DispatchedAt)).
		With("deadline_at", stamp(r.DeadlineAt))
	if r.State == Abandoned { // as much in doubt as before, and nothing more to wait for
		f = f.With("reconciled", r.Reconciled.Details()).With("reconcile", "none")
		f.Text = "the call may have happened, and the owner gave up finding out"
	}
	return f
}

// Details is the form in which an answer carries a reconciliation.
func (c Reconciliation) Details() map[string]any {
	return map[string]any{"by": c.By, "at": stamp(c.At)}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// sum is the digest of the result, which outlives it; zero where there was none.
func (o Outcome) sum() digest.Digest {
	if !o.Removed.IsZero() || len(o.Result) == 0 {
		return o.Removed
	}
	return digest.Of(digest.Result, o.Result)
}

// Forget takes the result out of a settled row and keeps what pins it. A row that has
// none stays as it is (pool page, section 6).
func (r Row) Forget() Row {
	r.Outcome.Removed, r.Outcome.Result = r.Outcome.sum(), nil
	return r
}

// Digest pins everything of a settled row, all of which an answer or the owner is
// told, so that the audit trail can tell when any of it was edited.
func (r Row) Digest() digest.Digest {
	return digest.Join(
		r.ID.String(), r.Owner.String(), r.Client.String(), r.Tx.String(), r.Target.Resource.String(), r.Target.Contract,
		r.Target.Method, r.Request.String(), r.Input.String(), r.Grant.String(), r.Revision.String(), r.Classes.String(), string(r.State),
		r.Node.String(), stamp(r.ReservedAt), stamp(r.DispatchedAt), stamp(r.DeadlineAt), stamp(r.SettledAt),
		string(r.Outcome.Code), r.Outcome.Text, r.Outcome.Reason, string(r.Outcome.Effects), r.Outcome.sum().String(), r.Outcome.Version,
		r.Outcome.Detail, r.Reconciled.By, stamp(r.Reconciled.At)).Int(r.Epoch).Int(r.Attempt).Sum(digest.Outcome)
}
