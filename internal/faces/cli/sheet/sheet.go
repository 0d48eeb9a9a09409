// Package sheet lays out what the owner says yes to: a resource, its methods as
// models will be told of them, and how far each differs from what the upstream
// offered. Whatever an upstream wrote is shown with its unseen characters as
// escapes and is never cut. The package decides nothing; its functions are pure
// but for what they write and are safe for concurrent use.
package sheet

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Waits reports whether a method waits for the owner's first or new yes.
func Waits(m adminwire.Definition) bool {
	return m.State == string(resource.Proposed) || m.State == string(resource.NeedsConsent)
}

// Waiting lists the methods of a review that wait.
func Waiting(r adminwire.Review) []adminwire.Definition {
	return slices.DeleteFunc(slices.Clone(r.Methods), func(m adminwire.Definition) bool { return !Waits(m) })
}

// WaitingCount counts the methods of a resource that wait and were not declined.
func WaitingCount(r adminwire.Resource) int {
	return r.Methods[string(resource.Proposed)] + r.Methods[string(resource.NeedsConsent)] - r.Declined
}

// States is a resource's count of methods by state: "3 active, 1 refused".
func States(counts map[string]int) string {
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	return strings.Join(parts, ", ")
}

// Resources is the table of what is in the pool.
func Resources(w io.Writer, all []adminwire.Resource) {
	t := paper.NewTable("resource", "alias", "state", "server", "methods", "id")
	for _, r := range all {
		server, state := "", r.State
		if r.Upstream != nil {
			if server = r.Upstream.Server; r.Upstream.State == "disabled" {
				state = r.Upstream.State
			}
		}
		t.Row(r.Label, r.Alias, state, server, States(r.Methods), r.ID)
	}
	t.Fit(w)
}

// Resource tells what a resource is.
func Resource(w io.Writer, r adminwire.Resource) {
	t := paper.NewTable()
	t.Row("resource", r.Label)
	t.Row("id", r.ID)
	if r.Alias != "" {
		t.Row("alias", r.Alias)
	}
	t.Row("kind", r.Kind+", "+r.State)
	if u := r.Upstream; u != nil {
		t.Row("server", fmt.Sprintf(`%s (%s, %s); it calls itself "%s", speaks %s, was listed %s`,
			u.Name, u.Kind, u.State, u.Server, u.Protocol, paper.Stamp(u.ListedAt)))
		if u.Origin != "" {
			t.Row("origin", u.Origin)
		}
		if u.Issuer != "" {
			t.Row("authorized by", u.Issuer)
		}
		if len(u.Wants) > 0 {
			t.Row("wants", strings.Join(u.Wants, " ")+" for some calls, which it refuses; let steward in for that too: steward resources authorize "+paper.Word(u.Name))
		}
		if u.Exception != "" {
			t.Row("exception", u.Exception+", which is not public: not conforming, and your own word")
		}
		if u.Connection != "" {
			t.Row("connection", strings.TrimSuffix(u.Connection+": "+u.Trouble, ": "))
		}
	}
	if r.Ceiling != nil {
		t.Row("ceiling", Ceiling(*r.Ceiling))
	}
	t.Row("data kept by", r.Storage)
	t.Row("revision", r.Revision)
	t.Write(w, "")
}

// Methods is the table of a resource's methods.
func Methods(w io.Writer, methods []adminwire.Definition) {
	t := paper.NewTable("method", "state", "effects", "title")
	for _, m := range methods {
		t.Row(m.Method, m.State, strings.Join(m.Effects, ","), m.Title)
	}
	t.Write(w, "")
}

// few is how many usual changes of one method are told without being asked for.
const few = 9

// pageWidth is what the narrowest usual terminal shows on one line.
const pageWidth = 80

// Method tells all that an approval of one method says yes to. With whole it
// also tells each usual change, however many there are, and the schemas.
func Method(w io.Writer, m adminwire.Definition, whole bool) {
	fmt.Fprintf(w, "%s  %s\n", paper.Line(m.Method), m.State)
	const indent = "  "
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s%-12s %s\n", indent, name, paper.Line(value))
		}
	}
	field("title", m.Title)
	if m.Description != "" {
		fmt.Fprintf(w, "%sdescription, as models will be told:\n%s\n", indent, paper.Wrapped(m.Description, indent+"  | ", pageWidth))
	}
	field("effects", strings.Join(m.Effects, ","))
	if m.DeadlineMS > 0 {
		field("at most", (time.Duration(m.DeadlineMS)*time.Millisecond).String()+" a call")
	}
	if m.Precondition {
		field("needs", "a precondition with each call (--if)")
	}
	if m.Tool != m.Method {
		field("tool", m.Tool)
	}
	field("why", m.Reason)
	if m.Answer != "" {
		field("you said", map[string]string{"no": "no, to just this", "later": "not yet", "yes": "yes, to be confirmed at the end"}[m.Answer])
	}
	changed(w, m.Change, indent)
	if p, ok := imported(m); ok {
		narrowed(w, p, whole, indent)
	}
	if whole {
		document(w, "input", m.Input, indent)
		document(w, "output", m.Output, indent)
		document(w, "the tool as it was received", m.Upstream, indent)
	}
}

func document(w io.Writer, name string, raw []byte, indent string) {
	if len(raw) > 0 {
		fmt.Fprintf(w, "%s%s:\n%s\n", indent, name, paper.JSON(raw, indent+"  "))
	}
}

// narrowed tells the difference to what the upstream accepts: how many changes
// there are, the usual ones if they are few, and each exception.
func narrowed(w io.Writer, p adminwire.PlannedTool, whole bool, indent string) {
	if p.Outcome == string(narrowing.Refused) {
		return // the method's reason says it
	}
	var usual, odd []adminwire.Decision
	for _, d := range p.Decisions {
		if d.Exception {
			odd = append(odd, d)
		} else {
			usual = append(usual, d)
		}
	}
	line := "none; the schema is taken as it is"
	if strange := len(odd) + len(p.Lost); strange > 0 {
		line = fmt.Sprintf("%s of the usual kind, %d to look at", paper.Count(len(usual), "change"), strange)
	} else if len(usual) > 0 {
		line = paper.Count(len(usual), "change") + " of the usual kind"
	}
	fmt.Fprintf(w, "%s%-12s %s\n", indent, "narrowing", line)
	if whole || len(usual) <= few {
		decisions(w, "+", usual, indent)
	}
	decisions(w, "!", odd, indent)
	decisions(w, "-", p.Lost, indent)
}

func decisions(w io.Writer, sign string, list []adminwire.Decision, indent string) {
	for _, d := range list {
		fmt.Fprintf(w, "%s  %s %s\n", indent, sign, paper.Line(narrowing.Decision(d).String()))
	}
}

// Chosen tells what was approved and gives the methods as words of a command.
func Chosen(w io.Writer, shown string, chosen []adminwire.Choice) []string {
	fmt.Fprintf(w, "Approved, as shown in %s:\n", shown)
	t := paper.NewTable("method", "effects")
	names := make([]string, len(chosen))
	for i, c := range chosen {
		names[i] = paper.Word(c.Method)
		t.Row(c.Method, strings.Join(c.Effects, ","))
	}
	t.Write(w, "  ")
	return names
}

// Legend explains the signs of a narrowing and the usual bounds.
func Legend(w io.Writer) {
	p := narrowing.Default()
	fmt.Fprintf(w, "The usual changes: texts to %d characters, texts with a name like content to\n"+
		"%d, lists to %d entries, whole numbers to ±(2^53-1), objects to their named\n"+
		"members. + is such a change, ! one to look at, - what can no longer be given.\n",
		p.Text, p.LongText, p.List)
}
