package sheet

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Calls is the table of journalled calls.
func Calls(w io.Writer, calls []adminwire.Invocation) {
	t := paper.NewTable("time", "app", "resource", "method", "state", "effects", "code", "call")
	for _, c := range calls {
		t.Row(paper.Stamp(c.ReservedAt), c.App, c.Resource, c.Method, c.State, c.Effects, c.Code, c.ID)
	}
	t.Fit(w)
}

// Denied is the table of refused attempts, and what the newest of each kind came of, with
// the commands that help.
func Denied(w io.Writer, all []adminwire.Denial, here func(command string) string) {
	t := paper.NewTable("time", "app", "resource", "method", "code", "times", "about")
	reasons, seen := []string{}, map[string]bool{}
	for _, d := range all {
		app := cmp.Or(d.App, "nobody known")
		t.Row(paper.Stamp(d.At), app, cmp.Or(d.Resource, d.ResourceID), d.Method, d.Code, fmt.Sprint(d.Count), d.Subject)
		line := d.Code + ": " + d.Reason
		if fix := helps(d); fix != "" {
			line += " What helps: " + here(fix)
		}
		if !seen[line] && d.Reason != "" && len(seen) < fewReasons {
			seen[line], reasons = true, append(reasons, line)
		}
	}
	t.Fit(w)
	for _, line := range reasons {
		fmt.Fprintln(w, paper.Line(line))
	}
}

// fewReasons is how many different ones a person reads.
const fewReasons = 12

// helps is the command that helps an app that was refused, if one does.
func helps(d adminwire.Denial) string {
	named := d.Resource != "" && d.Offered
	switch fault.Code(d.Code) {
	case fault.GrantRequired, fault.NotFound:
		if named && d.App != "" {
			return "steward grants add " + paper.Word(d.App) + " " + paper.Word(d.Resource) + " " + paper.Word(d.Method)
		}
		if d.Resource != "" {
			return "steward resources show " + paper.Word(d.Resource)
		}
		return "steward resources list"
	case fault.NeedsConsent:
		if named {
			return "steward review " + paper.Word(d.Resource)
		}
		return "steward review"
	case fault.ConfirmationRequired:
		return "steward confirm list"
	case fault.Conflict:
		return "steward journal list --indeterminate"
	case fault.InvalidArgs, fault.PreconditionRequired:
		if named {
			return "steward resources show " + paper.Word(d.Resource) + " " + paper.Word(d.Method)
		}
	case fault.RateLimited, fault.BudgetExhausted:
		if d.App != "" {
			return "steward grants list --app " + paper.Word(d.App)
		}
	case fault.Unauthenticated:
		return "steward apps list"
	}
	return ""
}

// MoreCalls is the command that goes on where a list of calls ended.
func MoreCalls(req adminwire.ListJournal, next string) string {
	more := fmt.Sprintf("steward journal list --before %s --limit %d", paper.Word(next), req.Limit)
	if req.State != "" {
		more += " --state " + paper.Word(req.State)
	}
	if req.App != "" {
		more += " --app " + paper.Word(req.App)
	}
	return more
}

// meanings says what a state tells a person.
var meanings = map[invocation.State]string{
	invocation.Reserved:            "it waits for its executor; nothing was sent",
	invocation.Dispatching:         "it is out, and no answer is there yet",
	invocation.Succeeded:           "the executor answered, and the answer was recorded before it was passed on",
	invocation.Failed:              "the executor answered with a failure",
	invocation.NotDispatched:       "nothing was sent; it did not happen",
	invocation.Indeterminate:       "IT MAY HAVE HAPPENED: no clean answer came back",
	invocation.ReconciledSucceeded: "it was in doubt; it is now known that it happened",
	invocation.ReconciledFailed:    "it was in doubt; it is now known that it did not happen or failed",
	invocation.Abandoned:           "it was in doubt, and the owner gave up finding out; it may have happened",
}

var effectWords = map[effect.Outcome]string{
	effect.None:          "none: it had no effect",
	effect.NotDispatched: "not_dispatched: nothing was sent",
	effect.Reported:      "reported: the executor answered",
	effect.Uncertain:     "uncertain: it may have happened",
}

// Call tells the story of one call in the order in which it happened.
func Call(w io.Writer, c adminwire.Invocation) {
	fmt.Fprintf(w, "%s called %s of %s\n", paper.Line(c.App), paper.Line(c.Method), paper.Line(c.Resource))
	t := paper.NewTable()
	t.Row("call", c.ID)
	t.Row("tx", c.Tx)
	t.Row("contract", c.Contract)
	t.Row("approved effects", strings.Join(c.Classes, ","))
	t.Row("allowed by", allowedBy(c))
	t.Row("deadline", paper.Fine(c.DeadlineAt))
	t.Row("state", c.State)
	t.Row("meaning", meanings[invocation.State(c.State)])
	t.Row("effects", effectWord(c))
	t.Write(w, "  ")
	fmt.Fprintln(w)
	timeline(w, c)
	if c.Message != "" {
		fmt.Fprintf(w, "\n%s: %s\n", c.Code, paper.Line(c.Message))
	}
	if c.Reason != "" {
		fmt.Fprintf(w, "reason: %s\n", paper.Line(c.Reason))
	}
	if c.Detail != "" {
		fmt.Fprintf(w, "what the host saw:\n%s\n", paper.Block(c.Detail, "  | "))
	}
	if len(c.Args) > 0 {
		fmt.Fprintf(w, "what was sent:\n%s\n", paper.JSON(c.Args, "  "))
	}
	if c.Version != "" {
		fmt.Fprintf(w, "version: %s\n", paper.Line(c.Version))
	}
	if len(c.Result) > 0 {
		fmt.Fprintf(w, "result:\n%s\n", paper.JSON(c.Result, "  "))
	}
}

func allowedBy(c adminwire.Invocation) string {
	if c.Grant == "" {
		return "the owner's own hand"
	}
	return c.Grant
}

func effectWord(c adminwire.Invocation) string {
	if !c.ReconciledAt.IsZero() && c.ReconciledBy == "owner" {
		return c.Effects + ": by the owner's statement" // no executor has said so
	}
	if text, ok := effectWords[effect.Outcome(c.Effects)]; ok {
		return text
	}
	return c.Effects
}

func timeline(w io.Writer, c adminwire.Invocation) {
	t := paper.NewTable("time", "what happened", "what it means")
	if !c.ConfirmedAt.IsZero() {
		t.Row(paper.Fine(c.ConfirmedAt), "confirmed", "you said yes to exactly this call: "+c.Confirmation)
	}
	t.Row(paper.Fine(c.ReservedAt), "reserved", "the call was on record before anything was sent")
	if !c.DispatchedAt.IsZero() {
		t.Row(paper.Fine(c.DispatchedAt), "dispatched", "it was marked as going out; from here on it may have happened")
	}
	if !c.SettledAt.IsZero() {
		state := settledAs(c)
		t.Row(paper.Fine(c.SettledAt), "settled: "+string(state), meanings[state])
	}
	if !c.ReconciledAt.IsZero() {
		t.Row(paper.Fine(c.ReconciledAt), "reconciled: "+c.State, "the doubt was ended by "+strings.ReplaceAll(c.ReconciledBy, "_", " "))
	}
	if !c.LateAt.IsZero() {
		t.Row(paper.Fine(c.LateAt), "answered late", "IT DID HAPPEN, says the executor; the statement before stays as it was made")
	}
	t.Write(w, "")
}

// settledAs is the state in which a call was before a reconciliation.
func settledAs(c adminwire.Invocation) invocation.State {
	if c.ReconciledAt.IsZero() {
		return invocation.State(c.State)
	}
	return invocation.Indeterminate
}

// AfterCall is what the owner has to do about a call, if anything.
func AfterCall(c adminwire.Invocation) string {
	switch invocation.State(c.State) {
	case invocation.Indeterminate:
		return "look at " + paper.Line(c.Resource) + " whether it happened, then steward journal reconcile " + c.ID + " happened, did-not or give-up"
	case invocation.Reserved, invocation.Dispatching:
		return "steward journal show " + c.ID
	}
	return ""
}

// Verification tells what a check of the trail found.
func Verification(w io.Writer, v adminwire.Verification) {
	fmt.Fprintf(w, "%s and %s were checked.\n", paper.Count(int(v.Rows), "row"), paper.Count(int(v.Invocations), "settled call"))
	if v.Holds {
		fmt.Fprintf(w, "The trail holds. Its last row has the hash %s.\n", v.Last)
		return
	}
	if b := v.Break; b != nil {
		fmt.Fprintf(w, "The first row that does not hold: node %s, epoch %d, row %d: %s\n", b.Node, b.Epoch, b.Seq, paper.Line(b.What))
	}
	for _, m := range v.Mismatches {
		fmt.Fprintf(w, "Does not hold: %s\n", paper.Line(m))
	}
}
