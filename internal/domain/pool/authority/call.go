package authority

import (
	"errors"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Call asks for one execution under one tx. The fresh ids are used only if the
// decision needs them.
type Call struct {
	Caller   Caller
	Tx       id.Tx
	Target   invocation.Target
	Contract digest.Digest // the document that the caller has in mind; zero: any
	Request  digest.Digest // of resource, contract, method, canonical args and `if`
	Input    digest.Digest // what the repeat guard and confirmations compare
	Args     []byte        // canonical, for the owner's eyes when a confirmation is asked
	HasIf    bool
	Minted   bool            // the host itself made the tx for this call, so that nobody has sent it before
	Ack      id.Tx           // the tx in doubt that the caller knows of, or zero
	Confirm  id.Confirmation // the one that the caller was given, or zero
	Deadline time.Duration   // from now; at most bound.CallDeadline

	// CheckedAgainst is the method whose schema the arguments were held against
	// before the transaction, and ArgsFault what came of it; both matter only once
	// the caller is authorized.
	CheckedAgainst digest.Digest
	ArgsFault      *fault.Fault

	// Ready says that the executor can take the call at once, so that the reserve
	// and the dispatch mark are one commit.
	Ready bool

	Node            id.Node
	Epoch           int64
	NewInvocation   id.Invocation
	NewConfirmation id.Confirmation
}

// CallFacts is what the decision about a call looks at. Use is what was used so
// far of all that Need bounds, and looked at only where the call is authorized.
type CallFacts struct {
	Standing      Standing
	Row           *invocation.Row // of this (owner, client, tx)
	Held          *invocation.Row // the client's newest row in doubt with equal input and target
	Confirmations []confirmation.Row
	Need          budget.Need
	Use           budget.Usage
	OpenQuestions int // that wait for this owner
	AppQuestions  int // those of them that this client caused

	// Restored is when the store was last restored, zero for never. What was called
	// between the copy and that moment has no row here.
	Restored time.Time
}

// Action is what the dispatcher does next.
type Action string

// The actions of a call that was not refused.
const (
	Dispatch Action = "dispatch" // the mark is in the changes; send it
	Wait     Action = "wait"     // reserved; make the executor ready, then Mark
	Replay   Action = "replay"   // answer from the row; never dispatches
)

// CallChanges is what a decision writes. A refusal may change something too: it
// may ask the owner a question.
type CallChanges struct {
	Action Action
	Row    invocation.Row // to write for Dispatch and Wait, to answer from for Replay
	Taken  bool           // Row replaces the not_dispatched row of the same tx
	Use    id.Confirmation
	Ask    *confirmation.Row
	Known  effect.Outcome // of a refused resend: what is known of the call's effects
}

// DecideCall decides about one call (pool page, sections 5 to 7). Order matters:
// identity, then the tx's own past, then authority, then age, arguments, the
// repeat guard, budget, confirmation. A refusal has used nothing of a budget, and
// what is used up asks the owner no question.
func DecideCall(f CallFacts, c Call, now time.Time) (CallChanges, *fault.Fault) {
	if ch, bad, over := past(f, c, now); over {
		return ch, bad
	}
	if bad := admissible(f, c, now); bad != nil {
		return CallChanges{}, bad
	}
	use, ask, bad := confirmed(f, c, now)
	if bad != nil {
		return CallChanges{Ask: ask}, bad
	}
	ch := CallChanges{Action: Wait, Row: newRow(f, c, now), Taken: f.Row != nil, Use: use}
	if c.Ready {
		ch.Action = Dispatch
		ch.Row.State, ch.Row.DispatchedAt = invocation.Dispatching, now
	}
	return ch, nil
}

// past decides what the caller's authority and the tx's own past decide alone;
// false where nothing of the tx was sent and it may be executed.
func past(f CallFacts, c Call, now time.Time) (CallChanges, *fault.Fault, bool) {
	if bad := Authenticate(f.Standing, c.Caller, now); bad != nil {
		return CallChanges{}, bad, true
	}
	if f.Row != nil && f.Row.Request != c.Request {
		return CallChanges{Known: effectsOf(f, c, now)}, fault.New(fault.TxMismatch, "this tx was used before with another request"), true
	}
	if bad := Authorize(f.Standing, c.Caller, now); bad != nil {
		return CallChanges{Known: effectsTold(bad, f.Row)}, withSettled(mended(bad, c.Caller, c.Target), f.Row), true
	}
	if f.Row != nil && f.Row.State.Unresolved() {
		return CallChanges{Known: f.Row.Answer().Effects}, fault.New(fault.TxInProgress, "this tx is being executed"), true
	}
	if f.Row != nil && f.Row.State != invocation.NotDispatched {
		return CallChanges{Action: Replay, Row: *f.Row}, nil, true
	}
	if bad := checkRestored(f.Restored, c); bad != nil {
		return CallChanges{Known: effect.Uncertain}, bad, true
	}
	return CallChanges{}, nil, false
}

// mended adds to a refusal for want of a grant the command that gives it. It is made of
// what the caller itself named, so that it is the same where there is no such method;
// only words that a shell takes as they are stand in it (field faults, FF78).
func mended(f *fault.Fault, c Caller, t invocation.Target) *fault.Fault {
	if f.Code != fault.GrantRequired || contract.CheckMethodID(t.Method) != nil {
		return f
	}
	return f.With("fix", "steward grants add "+c.Client.String()+" "+t.Resource.String()+" "+t.Method)
}

// withSettled tells a caller who has lost its authority whether its own call is
// over, and nothing else of it (decision 7). Unavailable promises that nothing was
// sent, so it is no answer about a call that was.
func withSettled(f *fault.Fault, row *invocation.Row) *fault.Fault {
	if row == nil || f.Code == fault.NotFound || f.Code == fault.Unauthenticated {
		return f
	}
	if f.Code == fault.Unavailable && row.Answer().Effects != effect.NotDispatched {
		f = needsConsent(f.Text)
	}
	return f.With("settled", row.State.Settled())
}

// effectsOf is what a caller may know of the effects of its own tx, which the answer to
// another request under it must not take back.
func effectsOf(f CallFacts, c Call, now time.Time) effect.Outcome {
	if lost := Authorize(f.Standing, c.Caller, now); lost != nil {
		return effectsTold(lost, f.Row)
	}
	return f.Row.Answer().Effects
}

// effectsTold is what a caller without authority may know of the effects of its
// own call: a refusal must not say that a call which was executed had none.
func effectsTold(f *fault.Fault, row *invocation.Row) effect.Outcome {
	if row == nil || f.Code == fault.NotFound || f.Code == fault.Unauthenticated {
		return ""
	}
	return row.Answer().Effects
}

// errStale is the cause of a refusal that IsStale knows.
var errStale = errors.New("the definition is no longer the stored one")

// IsStale reports whether a call was refused only because its arguments had been
// held against a definition that is no longer the stored one. The attempt is not
// over then: whoever made the command looks at the definition again.
func IsStale(err error) bool {
	return errors.Is(err, errStale)
}

func admissible(f CallFacts, c Call, now time.Time) *fault.Fault {
	s := f.Standing
	if f.Row == nil {
		if bad := checkAge(c.Tx, now); bad != nil {
			return bad
		}
	}
	if !c.Contract.IsZero() && c.Contract != s.Method.Document {
		return fault.New(fault.NeedsConsent, "the contract is not the one that the digest names").
			With("contract_digest", s.Method.Document.String())
	}
	if s.pin().Method != c.CheckedAgainst {
		return fault.New(fault.NeedsConsent, "the method changed while the call was on its way").Because(errStale)
	}
	if c.ArgsFault != nil {
		return c.ArgsFault
	}
	if s.Method.Definition.Precondition && !c.HasIf {
		return fault.New(fault.PreconditionRequired, `the method needs a precondition: give "if"`)
	}
	if bad := heldBack(f, c, now); bad != nil {
		return bad
	}
	return budget.Admit(f.Need, f.Use, now)
}

// checkAge refuses a tx that the journal may have forgotten, or that comes from
// a clock too far ahead (invariant I60).
func checkAge(tx id.Tx, now time.Time) *fault.Fault {
	at := id.MintedAt(tx)
	if now.Sub(at) >= bound.TxBack.Duration() {
		return fault.New(fault.TxExpired, "the tx is too old; it was not executed, mint a new one")
	}
	if at.Sub(now) > bound.TxAhead.Duration() {
		return fault.New(fault.TxExpired, "the tx is from the future; set the clock and mint a new one")
	}
	return nil
}

// checkRestored refuses a tx that may have been executed by the host that the store
// is a copy of. A client's clock may be ahead of ours by as much as a tx may be, so
// that the time in a tx proves nothing before the restore is older than that
// (threats, A32).
func checkRestored(at time.Time, c Call) *fault.Fault {
	from := at.Add(bound.TxAhead.Duration())
	if at.IsZero() || c.Minted || !id.MintedAt(c.Tx).Before(from) {
		return nil
	}
	return fault.New(fault.TxExpired, "the tx is older than the restore of this host, and may have been executed before it; mint a new one").
		With("accepted_from", from.UTC().Format(time.RFC3339))
}

// heldBack keeps an equal call from running while nobody knows whether the first
// one did (pool page, section 6; threats, A28).
func heldBack(f CallFacts, c Call, now time.Time) *fault.Fault {
	h := f.Held
	if h == nil || h.Tx == c.Tx || h.State != invocation.Indeterminate {
		return nil
	}
	ownerOnly := h.Classes.NeedsConfirmation()
	young := now.Before(h.SettledAt.Add(bound.RepeatGuard.Duration()))
	if !ownerOnly && (!young || c.Ack == h.Tx) {
		return nil
	}
	held := fault.New(fault.Conflict, "an equal call may already have happened; find out before you repeat it").
		With("held_by", h.Tx.String())
	if ownerOnly {
		return held.With("fix", "steward journal reconcile "+h.ID.String())
	}
	return held.With("fix", `send the call with "ack" naming the held tx, or wait`)
}

// confirmed finds the owner's fresh yes where the grant asks for one, or puts
// the question. A no that holds is not asked again, whichever question the caller
// names; the one that it names comes first, and one that is over is as none, or an app
// that goes on naming it would be asked about over and over.
func confirmed(f CallFacts, c Call, now time.Time) (id.Confirmation, *confirmation.Row, *fault.Fault) {
	g := f.Standing.Grant
	if g == nil || !g.Asks() {
		return id.Confirmation{}, nil, nil
	}
	pin := f.Standing.pin()
	var retake id.Tx
	if f.Row != nil { // nothing of it was sent, or the decision would not be here
		retake = f.Row.Tx
	}
	var good, open, no *confirmation.Row
	for i, r := range f.Confirmations {
		if r.Refuses(c.Input, g.ID, pin, now) {
			no = &f.Confirmations[i]
		}
		if r.Good(c.Input, g.ID, pin, retake, now) && (good == nil || r.ID == c.Confirm) {
			good = &f.Confirmations[i]
		}
		if r.StateAt(now) == confirmation.Open && r.Input == c.Input && r.Grant == g.ID && r.Pin == pin && (open == nil || open.ID != c.Confirm) {
			open = &f.Confirmations[i]
		}
	}
	if good != nil {
		return good.ID, nil, nil
	}
	if no != nil {
		return id.Confirmation{}, nil, deniedFault(*no)
	}
	if open != nil {
		return id.Confirmation{}, nil, askFault(open.ID)
	}
	if bad := mayAsk(f); bad != nil {
		return id.Confirmation{}, nil, bad
	}
	ask := &confirmation.Row{ID: c.NewConfirmation, Key: keyOf(c), Grant: g.ID, Pin: pin, Input: c.Input,
		Args: c.Args, State: confirmation.Open, AskedAt: now}
	return id.Confirmation{}, ask, askFault(ask.ID)
}

// mayAsk bounds what may wait for the owner, so that no app can shut the others'
// questions out (decision 9).
func mayAsk(f CallFacts) *fault.Fault {
	row := bound.AppConfirmations
	if f.AppQuestions < row.Int() {
		row = bound.OpenConfirmations
		if f.OpenQuestions < row.Int() {
			return nil
		}
	}
	return row.Exceeded().With("fix", "steward confirm list")
}

func askFault(which id.Confirmation) *fault.Fault {
	return fault.New(fault.ConfirmationRequired, "the owner must confirm this call; then send the same call again").
		With("confirmation", which.String()).With("fix", "steward confirm approve "+which.String())
}

func deniedFault(no confirmation.Row) *fault.Fault {
	until := no.RefusedUntil().UTC().Format(time.RFC3339)
	return fault.Newf(fault.ConfirmationRequired, "the owner said no to exactly this call, which is not asked again before %s", until).
		With("confirmation", no.ID.String()).With("refused_until", until)
}

func keyOf(c Call) grant.Key {
	return grant.Key{Owner: c.Caller.Owner, Client: c.Caller.Client, Resource: c.Target.Resource,
		Contract: c.Target.Contract, Method: c.Target.Method}
}

func newRow(f CallFacts, c Call, now time.Time) invocation.Row {
	r := invocation.Row{
		ID: c.NewInvocation, Owner: c.Caller.Owner, Client: c.Caller.Client, Tx: c.Tx, Target: c.Target,
		Request: c.Request, Input: c.Input, Revision: f.Standing.Resource.Revision,
		Classes: f.Standing.Method.Definition.Effects, State: invocation.Reserved, Node: c.Node, Epoch: c.Epoch,
		Attempt: 1, ReservedAt: now, DeadlineAt: now.Add(f.Standing.Method.Binding.Patience(c.Deadline)),
		Outcome: invocation.Outcome{Effects: effect.None},
	}
	if g := f.Standing.Grant; g != nil {
		r.Grant = g.ID
	}
	if f.Row != nil {
		r.ID, r.Attempt = f.Row.ID, f.Row.Attempt+1
	}
	return r
}
