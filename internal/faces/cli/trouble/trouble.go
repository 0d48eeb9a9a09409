// Package trouble turns a failure into what a person is told and what a script
// can test: one line that says what is wrong, one that says what to do next, and
// the exit code (faces page, section 1). Every code of the fault table has a
// row. Values are plain and safe for concurrent use.
package trouble

import (
	"errors"
	"fmt"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// The exit codes of every verb (faces page, section 1).
const (
	Done    = 0
	Failed  = 1  // or refused
	Usage   = 2  // the words make no sense
	Unsafe  = 3  // endpoint or configuration
	Later   = 10 // or busy, or no host is running
	Owner   = 11 // the owner must act
	Unknown = 12 // id
)

// Trouble is a failure as a person is told of it. Verbs that are handed in to the
// command line may return one to choose the exit code and the command that helps.
type Trouble struct {
	Exit int
	What string // one line without a full stop
	Next string // a command or an instruction, one line
}

func (t *Trouble) Error() string { return t.What }

// New makes a trouble.
func New(exit int, what, next string) error { return &Trouble{exit, what, next} }

// UsageOf is the trouble of words that make no sense.
func UsageOf(next, format string, args ...any) error {
	return &Trouble{Usage, fmt.Sprintf(format, args...), next}
}

// outcome is what a code means to whoever typed the command. Next is what helps
// where the host did not say; theList, theHelp and theForm are the command's hints.
type outcome struct {
	exit int
	next string
}

const (
	theList = "list"
	theHelp = "help"
	theForm = "form"
)

const (
	nextLog    = "look into the log of steward up"
	nextAgain  = "try again in a moment"
	nextStatus = "steward status"
)

// outcomes has a row for every code of the pool.
var outcomes = map[fault.Code]outcome{
	fault.InvalidRequest:       {Usage, theHelp},
	fault.Unauthenticated:      {Failed, "steward apps add NAME"},
	fault.GrantRequired:        {Owner, "steward grants list"},
	fault.NeedsConsent:         {Owner, "steward review"},
	fault.ConfirmationRequired: {Owner, "steward confirm list"},
	fault.NotFound:             {Unknown, theList},
	fault.TxInProgress:         {Later, nextAgain},
	fault.Conflict:             {Failed, theList},
	fault.TxExpired:            {Failed, "leave --tx out, so that the call gets a new one"},
	fault.PreconditionFailed:   {Failed, "read the item again and give its version with --if"},
	fault.TooLarge:             {Failed, "send less"},
	fault.InvalidArgs:          {Failed, theForm},
	fault.TxMismatch:           {Failed, "leave --tx out, so that the call gets a new one"},
	fault.PreconditionRequired: {Failed, "give the version that you have seen with --if"},
	fault.RateLimited:          {Later, nextAgain},
	fault.BudgetExhausted:      {Later, "wait until the budget resets"},
	fault.Internal:             {Failed, nextLog},
	fault.Unsupported:          {Failed, theHelp},
	fault.UpstreamFailed:       {Failed, "steward journal list"},
	fault.Unavailable:          {Later, nextAgain},
	fault.Indeterminate:        {Owner, "steward journal list --indeterminate"},
	fault.CapabilityDenied:     {Failed, "let the manifest of the capsule name the topic"},
	fault.TimedOut:             {Later, nextAgain},
}

// Hints are what helps with the command at hand.
type Hints struct {
	List string // shows what there is, such as steward apps list
	Help string // shows how the command is written
	Form string // shows what a method takes
}

// Of gives the trouble in an error that is not nil.
func Of(err error, h Hints) *Trouble {
	var t *Trouble
	var f *fault.Fault
	switch {
	case errors.As(err, &t):
		return t
	case errors.As(err, &f):
		return ofFault(f, h)
	default:
		return &Trouble{Failed, err.Error(), nextStatus}
	}
}

// ofFault reads the row of a fault's code.
func ofFault(f *fault.Fault, h Hints) *Trouble {
	o := outcomeOf(f.Row().Code)
	t := &Trouble{o.exit, fmt.Sprintf("%s (%s)", f.Text, f.Code), o.next}
	switch o.next {
	case theList:
		t.Next = h.List
	case theHelp:
		t.Next = h.Help
	case theForm:
		t.Next = h.Form
	}
	if fix, ok := f.Details["fix"].(string); ok && fix != "" {
		t.Next = fix
	}
	return t
}

// Unheard is the trouble of a call whose answer did not come. Tx is empty where the
// host was to mint it.
func Unheard(err error, tx string) error {
	t := Of(err, Hints{})
	if t.Exit == Unsafe {
		return t
	}
	what := "no answer came, and the call may have happened: " + t.What
	if tx == "" {
		return New(Owner, what, "steward journal list")
	}
	return New(Owner, what, "steward journal show "+tx+", or send the same call again with --tx "+tx)
}

// Unprinted is the trouble of a command that did its work and could not tell of
// it, or nil for nil.
func Unprinted(err error) error {
	if err == nil {
		return nil
	}
	return New(Failed, "it is done, but could not be printed: "+err.Error(), nextStatus)
}

// TokensLost is the trouble of tokens that were made and reached nobody.
func TokensLost(err error, app string) error {
	return New(Failed, "the tokens could not be written: "+err.Error(), "steward apps rotate "+app)
}

// OfAnswer is nil for an answer that is ok.
func OfAnswer(a adminwire.Answer, h Hints) error {
	if a.Error == nil {
		return nil
	}
	f := fault.New(fault.Code(a.Error.Code), a.Error.Message)
	for name, value := range a.Error.Details {
		f = f.With(name, value)
	}
	t := Of(f, h)
	reason, _ := f.Details["reason"].(string)
	switch {
	case a.Status == "indeterminate":
		t.Next = "find out what happened, then steward journal reconcile " + a.Invocation + " happened, did-not or give-up"
	case f.Code == fault.UpstreamFailed && a.Invocation != "":
		t.Next = "steward journal show " + a.Invocation
	}
	if reason != "" {
		t.What += ", reason " + reason
	}
	return t
}
