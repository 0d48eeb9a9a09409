package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/fault"
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

// Trouble is a failure as a person is told of it. Verbs that a Host hands in may
// return one to choose the exit code and the command that helps.
type Trouble struct {
	Exit int
	What string // one line without a full stop
	Next string // a command or an instruction, one line
}

func (t *Trouble) Error() string { return t.What }

func usage(next, format string, args ...any) error {
	return &Trouble{Usage, fmt.Sprintf(format, args...), next}
}

// outcome is what a code means to whoever typed the command. Next is what helps
// where the host did not say.
type outcome struct {
	exit int
	next string
}

const (
	nextLog    = "look into the log of steward up"
	nextAgain  = "try again in a moment"
	nextStatus = "steward status"
)

// outcomes has a row for every code of the fault table.
var outcomes = map[fault.Code]outcome{
	fault.InvalidRequest:       {Usage, "steward help"},
	fault.Unauthenticated:      {Failed, "steward apps add NAME"},
	fault.GrantRequired:        {Owner, "steward grants add APP RESOURCE METHOD"},
	fault.NeedsConsent:         {Owner, "steward review"},
	fault.ConfirmationRequired: {Owner, "steward confirm list"},
	fault.NotFound:             {Unknown, nextStatus},
	fault.TxInProgress:         {Later, nextAgain},
	fault.Conflict:             {Failed, nextStatus},
	fault.TxExpired:            {Failed, "leave --tx out, so that the call gets a new one"},
	fault.PreconditionFailed:   {Failed, "read the item again and give its version with --if"},
	fault.TooLarge:             {Failed, "send less"},
	fault.InvalidArgs:          {Failed, "steward resources show RESOURCE METHOD"},
	fault.TxMismatch:           {Failed, "leave --tx out, so that the call gets a new one"},
	fault.PreconditionRequired: {Failed, "give the version that you have seen with --if"},
	fault.RateLimited:          {Later, nextAgain},
	fault.BudgetExhausted:      {Later, "wait until the budget resets"},
	fault.Internal:             {Failed, nextLog},
	fault.Unsupported:          {Failed, "steward help"},
	fault.UpstreamFailed:       {Failed, "steward journal list"},
	fault.Unavailable:          {Later, nextAgain},
	fault.Indeterminate:        {Owner, "steward journal list --indeterminate"},
}

// conclude tells the trouble, if any, and gives the exit code.
func (d *desk) conclude(err error) int {
	if err == nil {
		return Done
	}
	t := d.trouble(err)
	if t.What != "" {
		fmt.Fprintf(d.err, "error: %s\n", paper.Line(t.What))
	}
	if t.Next != "" {
		fmt.Fprintf(d.err, "next: %s\n", paper.Line(d.here(t.Next)))
	}
	return t.Exit
}

func (d *desk) trouble(err error) *Trouble {
	var t *Trouble
	var f *fault.Fault
	switch {
	case errors.As(err, &t):
		return t
	case errors.As(err, &f):
		return ofFault(f)
	default:
		return &Trouble{Failed, err.Error(), nextStatus}
	}
}

// ofFault reads the rows of a fault's code.
func ofFault(f *fault.Fault) *Trouble {
	o := outcomes[f.Row().Code]
	t := &Trouble{o.exit, fmt.Sprintf("%s (%s)", f.Text, f.Code), o.next}
	if fix, ok := f.Details["fix"].(string); ok && fix != "" {
		t.Next = fix
	}
	return t
}

// here makes a command of ours work for the folder that this one was told.
func (d *desk) here(command string) string {
	rest, ours := strings.CutPrefix(command, "steward ")
	if !ours || d.homeFlag == "" {
		return command
	}
	return "steward --home " + paper.Word(d.homeFlag) + " " + rest
}
