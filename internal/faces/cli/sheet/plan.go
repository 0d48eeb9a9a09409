package sheet

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Planned tells of each method of imported resources what a dry run tells.
func Planned(reviews []adminwire.Review) (out []adminwire.PlannedTool) {
	for _, r := range reviews {
		for _, m := range r.Methods {
			if p, ok := imported(m); ok {
				p.Server = r.Resource.Label
				out = append(out, p)
			}
		}
	}
	return out
}

// imported is what the importer kept beside a method, which has the form of a dry
// run's row; false for a method that was not imported.
func imported(m adminwire.Definition) (p adminwire.PlannedTool, ok bool) {
	ok = len(m.Import) > 0 && strictjson.DecodeReply(m.Import, strictjson.Limits{}, &p) == nil
	return p, ok
}

// Usual reports whether a method differs from what its server says by usual bounds
// alone, or not at all.
func Usual(m adminwire.Definition) bool {
	p, ok := imported(m)
	return ok && len(p.Lost) == 0 && !slices.ContainsFunc(p.Decisions, func(d adminwire.Decision) bool { return d.Exception })
}

// Outcome is what an import made of a method: as_is, narrowed, lossy or refused,
// and empty for a method that was not imported.
func Outcome(m adminwire.Definition) string {
	p, _ := imported(m)
	return p.Outcome
}

// Plan tells for each server how many of its tools have which outcome, and for
// each tool that does not keep all of itself, why.
func Plan(w io.Writer, tools []adminwire.PlannedTool) {
	outcomes := []narrowing.Outcome{narrowing.AsIs, narrowing.Narrowed, narrowing.Lossy, narrowing.Refused}
	var servers []string
	count := map[string]map[narrowing.Outcome]int{}
	for _, t := range tools {
		if count[t.Server] == nil {
			servers = append(servers, t.Server)
			count[t.Server] = map[narrowing.Outcome]int{}
		}
		count[t.Server][narrowing.Outcome(t.Outcome)]++
	}
	table := paper.NewTable("server", "tools", "as it is", "narrowed", "lossy", "refused")
	for _, s := range servers {
		row, total := []string{s, ""}, 0
		for _, o := range outcomes {
			row = append(row, fmt.Sprint(count[s][o]))
			total += count[s][o]
		}
		row[1] = fmt.Sprint(total)
		table.Row(row...)
	}
	table.Write(w, "")
	explain(w, tools)
	exceptions(w, tools)
}

// explain says what the outcomes mean that are there.
func explain(w io.Writer, tools []adminwire.PlannedTool) {
	var meant []string
	for _, o := range []struct {
		outcome narrowing.Outcome
		meaning string
	}{
		{narrowing.Narrowed, "narrowed: bounds were added, which review tells"},
		{narrowing.Lossy, "lossy: something can no longer be given"},
		{narrowing.Refused, "refused: cannot be called"},
	} {
		if slices.ContainsFunc(tools, func(t adminwire.PlannedTool) bool { return t.Outcome == string(o.outcome) }) {
			meant = append(meant, o.meaning)
		}
	}
	if len(meant) > 0 {
		fmt.Fprintln(w, strings.Join(meant, "; "))
	}
}

func exceptions(w io.Writer, tools []adminwire.PlannedTool) {
	table := paper.NewTable("server", "tool", "outcome", "why")
	for _, t := range tools {
		for _, d := range slices.Concat(t.Decisions, t.Lost) {
			if d.Exception {
				table.Row(t.Server, t.Name, t.Outcome, narrowing.Decision(d).String())
			}
		}
		if t.Reason != nil {
			table.Row(t.Server, t.Name, t.Outcome, joined(*t.Reason))
		}
	}
	if table.Len() > 0 {
		fmt.Fprintln(w)
		table.Fit(w)
	}
}

func joined(r adminwire.Reason) string {
	if r.Pointer == "" {
		return r.Text
	}
	return r.Pointer + " " + r.Text
}

// Failed names servers that failed, with what they said themselves. Here makes a
// command work for the host's folder.
func Failed(w io.Writer, failed []adminwire.FailedServer, here func(command string) string) {
	for _, s := range failed {
		fmt.Fprintf(w, "%s: %s (%s)\n", paper.Line(s.Server), paper.Line(s.Error.Message), s.Error.Code)
		if said, ok := s.Error.Details["stderr"].(string); ok && said != "" {
			fmt.Fprintln(w, paper.Block(strings.TrimRight(said, "\n"), "  | "))
		}
		fix, _ := s.Error.Details["fix"].(string)
		if fix == "" && s.Error.Code == string(fault.Conflict) {
			fix = "steward import --refresh " + paper.Word(s.Server) // it has been imported before
		}
		if fix != "" {
			fmt.Fprintf(w, "  next: %s\n", paper.Line(here(fix)))
		}
	}
}
