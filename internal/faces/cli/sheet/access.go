package sheet

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Apps is the table of apps.
func Apps(w io.Writer, apps []adminwire.App) {
	t := paper.NewTable("app", "kind", "state", "grants", "since", "id")
	for _, a := range apps {
		state := "connected"
		switch {
		case !a.Connected:
			state = "disconnected"
		case Tokenless(a):
			state = "no good token"
		}
		t.Row(a.Name, a.Kind, state, fmt.Sprint(a.Grants), paper.Stamp(a.CreatedAt), a.ID)
	}
	t.Fit(w)
}

// Tokenless reports whether an app cannot call because all of its tokens ended.
func Tokenless(a adminwire.App) bool { return a.Connected && a.Tokens == 0 && a.Kind == "app" }

// NewTokens is what gives an app tokens again.
func NewTokens(a adminwire.App) string {
	return "steward apps rotate " + paper.Word(a.Name) + ", or where steward connect keeps its tokens, steward connect CLIENT --write --rotate"
}

// TokenFile is the text of a file with an app's tokens, as shells and service
// managers read it.
func TokenFile(tokens []adminwire.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		fmt.Fprintf(&b, "%s=%s\n", variable(t), t.Token)
	}
	return b.String()
}

func variable(t adminwire.Token) string {
	return "STEWARD_" + strings.ToUpper(t.Audience) + "_TOKEN"
}

// AddedApp tells an app's tokens, or the file that they are in, and how each
// door is used.
func AddedApp(w io.Writer, a adminwire.AddedApp, doors []string, tokenFile string) {
	fmt.Fprintf(w, "%s (%s) is connected. It may call nothing yet.\n", paper.Line(a.Name), a.ID)
	tokens(w, a, doors, tokenFile)
}

// RotatedApp tells the new tokens of an app in the same way.
func RotatedApp(w io.Writer, a adminwire.AddedApp, doors []string, tokenFile string) {
	fmt.Fprintf(w, "%s (%s) has new tokens, and its old ones have ended. Its grants are as they were.\n", paper.Line(a.Name), a.ID)
	tokens(w, a, doors, tokenFile)
}

func tokens(w io.Writer, a adminwire.AddedApp, doors []string, tokenFile string) {
	t := paper.NewTable()
	bearer := map[string]string{}
	slices.SortStableFunc(a.Tokens, func(a, b adminwire.Token) int { return cmp.Compare(a.Audience, b.Audience) }) // most need the one for /mcp
	for _, token := range a.Tokens {
		t.Row("token for /"+map[string]string{"mcp": "mcp", "rpc": "rpc/v1"}[token.Audience], token.Token)
		bearer[token.Audience] = "Bearer " + token.Token
		if tokenFile != "" {
			bearer[token.Audience] = "Bearer ${" + variable(token) + "}"
		}
	}
	if tokenFile != "" {
		fmt.Fprintf(w, "Its tokens are in %s, for you alone.\n", paper.Line(tokenFile))
	} else {
		t.Write(w, "  ")
		fmt.Fprintln(w, "These are told this once.")
	}
	if len(doors) == 0 {
		return
	}
	fmt.Fprintf(w, "\nFor a client that reads an mcpServers file:\n%s\n", paper.JSON(snippet(doors[0]+"/mcp", bearer["mcp"]), "  "))
	fmt.Fprintf(w, "For an app that calls by HTTP: POST %s/rpc/v1 with\n  Authorization: %s\n", doors[0], bearer["rpc"])
}

func snippet(url, authorization string) []byte {
	type entry struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	raw, err := strictjson.Encode(map[string]map[string]entry{
		"mcpServers": {"steward": {"http", url, map[string]string{"Authorization": authorization}}}})
	if err != nil {
		panic("sheet: cannot encode a snippet: " + err.Error()) // plain strings of the host
	}
	return raw
}

// Grants is the table of rows of authority.
func Grants(w io.Writer, rows []adminwire.Grant) {
	bounded := slices.ContainsFunc(rows, func(g adminwire.Grant) bool { return g.Budget != nil })
	head := []string{"app", "resource", "method", "state", "effects", "confirm", "expires"}
	if bounded {
		head = append(head, "budget")
	}
	t := paper.NewTable(append(head, "tool", "grant")...)
	for _, g := range rows {
		expires := ""
		if !g.ExpiresAt.IsZero() {
			expires = paper.Stamp(g.ExpiresAt)
		}
		cells := []string{g.App, g.Resource, g.Method, g.State, strings.Join(g.Effects, ","), g.Confirm, expires}
		if bounded {
			cells = append(cells, budgetOf(g))
		}
		t.Row(append(cells, g.Tool, g.ID)...)
	}
	t.Fit(w)
}

// budgetOf tells a grant's bounds, and what the day has taken of them.
func budgetOf(g adminwire.Grant) string {
	if g.Budget == nil {
		return ""
	}
	b, today := *g.Budget, adminwire.Today{}
	if g.Today != nil {
		today = *g.Today
	}
	var parts []string
	add := func(n int64, form string, more ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(form, append(more, n)...))
		}
	}
	add(b.AtOnce, "%d at once")
	add(b.PerMinute, "%d a minute")
	add(b.PerDay, "%d of %d today", today.Calls)
	add(b.SpendPerDay, "%d of %d "+b.Currency+" (minor units) today", today.Spent)
	return strings.Join(parts, ", ")
}

// Confirmation tells who asks for what, with the whole exact arguments.
func Confirmation(w io.Writer, c adminwire.Confirmation) {
	fmt.Fprintf(w, "%s  %s\n", c.ID, c.State)
	fmt.Fprintf(w, "  %s asks to call %s of %s, at %s, with ", paper.Line(c.App), paper.Line(c.Method), paper.Line(c.Resource), paper.Stamp(c.AskedAt))
	if len(c.Args) > 0 {
		fmt.Fprintf(w, "exactly:\n%s\n", paper.JSON(c.Args, "    "))
	} else {
		fmt.Fprintln(w, "arguments that are no longer kept")
	}
	if !c.DecidedAt.IsZero() {
		fmt.Fprintf(w, "  decided at %s\n", paper.Stamp(c.DecidedAt))
	}
	if c.UsedBy != "" {
		fmt.Fprintf(w, "  used by %s\n", c.UsedBy)
	}
}

// Decided tells what a decision means for the app.
func Decided(w io.Writer, c adminwire.Confirmation) {
	switch confirmation.State(c.State) {
	case confirmation.Approved:
		fmt.Fprintf(w, "%s is approved: exactly this call of %s may happen once, until %s.\n", c.ID, paper.Line(c.Method), paper.Stamp(c.GoodUntil))
	case confirmation.Denied:
		fmt.Fprintf(w, "%s is denied: exactly this call of %s stays refused, and is not asked again before %s.\n", c.ID, paper.Line(c.Method), paper.Stamp(c.RefusedTo))
	default:
		fmt.Fprintf(w, "%s is %s.\n", c.ID, c.State)
	}
}
