package sheet

import (
	"fmt"
	"io"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/difference"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// kinds say what a change is to a person.
var kinds = map[string]string{
	"back":    "it is again what you approved; a yes brings its grants back",
	"wording": "in words only; with a yes its grants go on",
	"meaning": "in more than words; a yes is a new one, and so are grants",
}

// changed tells how a drifted method differs from what was approved, words among
// words and the rest line by line. Nothing is told of one that has not drifted.
func changed(w io.Writer, c *adminwire.Change, indent string) {
	if c == nil {
		return
	}
	fmt.Fprintf(w, "%s%-12s %s\n", indent, "changed", kinds[c.Kind])
	for _, d := range c.Differences {
		fmt.Fprintf(w, "%s  %s:\n", indent, paper.Line(d.Pointer))
		if d.Words {
			fmt.Fprintln(w, paper.Wrapped(marked(difference.Words(d.Before, d.After)), indent+"    | ", pageWidth))
			continue
		}
		for _, line := range []struct{ sign, text string }{{"-", d.Before}, {"+", d.After}} {
			if line.text != "" {
				fmt.Fprintln(w, paper.Wrapped(line.text, indent+"    "+line.sign+" ", pageWidth))
			}
		}
	}
	if c.More > 0 {
		fmt.Fprintf(w, "%s  and %s, which --full shows in the tool as it was received\n", indent, paper.Count(c.More, "more place"))
	}
}

// signs keeps a text from writing the marks itself.
var signs = strings.NewReplacer("[-", `[\-`, "-]", `-\]`, "{+", `{\+`, "+}", `+\}`)

// marked is a text with what is gone in [-…-] and what is new in {+…+}.
func marked(parts []difference.Part) string {
	var out strings.Builder
	for _, p := range parts {
		p.Text = signs.Replace(p.Text)
		switch p.Kind {
		case difference.Gone:
			out.WriteString("[-" + p.Text + "-]")
		case difference.New:
			out.WriteString("{+" + p.Text + "+}")
		default:
			out.WriteString(p.Text)
		}
	}
	return out.String()
}
