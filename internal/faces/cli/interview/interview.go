// Package interview finds out to which methods the owner says yes: from the words
// of a command, or method by method in a terminal. It changes nothing. In a
// terminal the end of the input, an interrupt and q all mean that nothing is
// chosen. One interview reads one input; it is not
// safe for concurrent use.
package interview

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Interview is a person at a terminal.
type Interview struct {
	from io.Reader
	in   *bufio.Reader
	out  io.Writer
	done <-chan struct{}
}

// New returns an interview that ends when ctx does.
func New(ctx context.Context, in io.Reader, out io.Writer) *Interview {
	limited := &io.LimitedReader{R: in, N: bound.RequestBytes.Max}
	return &Interview{in, bufio.NewReader(limited), out, ctx.Done()}
}

// ask prints a question and gives the answer, and false where there is none. A
// read that an interrupt leaves behind ends with the process.
func (v *Interview) ask(format string, args ...any) (string, bool) {
	fmt.Fprintf(v.out, format+" ", args...)
	answer := make(chan string, 1)
	go func() {
		defer close(answer)
		if line, err := v.in.ReadString('\n'); err == nil {
			answer <- strings.TrimSpace(line)
		}
	}()
	select {
	case line, ok := <-answer:
		return line, ok
	case <-v.done:
		return "", false
	}
}

// Input asks for a value that a client's file leaves to its user; a secret one is
// not shown as it is typed. False is no answer; an empty one takes the usual value.
func (v *Interview) Input(in clientconfig.Input) (string, bool) {
	what := "A value for " + paper.Line(in.ID)
	if in.Description != "" {
		what += " (" + paper.Line(in.Description) + ")"
	}
	if in.Given {
		what += ", or nothing for " + paper.Line(in.Default)
	}
	read := func() (string, bool) { return v.ask("%s:", what) }
	answer, ok := "", false
	if in.Password {
		answer, ok = outlet.Unseen(v.from, read)
	} else {
		answer, ok = read()
	}
	return answer, ok && (answer != "" || !in.Given)
}

// Approve goes through the methods that wait and returns what the owner said yes
// to, after a last yes to the whole.
func (v *Interview) Approve(r adminwire.Review) []adminwire.Choice {
	var chosen []adminwire.Choice
	for _, m := range sheet.Waiting(r) {
		fmt.Fprintln(v.out)
		sheet.Method(v.out, m, false)
		choice, yes, ok := v.method(m)
		if !ok {
			return nil
		}
		if yes {
			chosen = append(chosen, choice)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	fmt.Fprintln(v.out)
	list := paper.NewTable()
	for _, c := range chosen {
		list.Row(c.Method, strings.Join(c.Effects, ","))
	}
	list.Write(v.out, "  ")
	last, ok := v.ask("Approve %s of %s, shown as %s? [y/n]", paper.Count(len(chosen), "method"), paper.Line(r.Resource.Label), r.Shown)
	if !ok || !strings.EqualFold(last, "y") {
		return nil
	}
	return chosen
}

const answers = "y approves it, n leaves it as it is, e changes its effects, d shows its schemas, q leaves and approves nothing."

// method asks about one method until the answer is one; ok is false where the
// owner leaves.
func (v *Interview) method(m adminwire.Definition) (choice adminwire.Choice, yes, ok bool) {
	choice = adminwire.Choice{Method: m.Method, Effects: m.Effects}
	for {
		answer, ok := v.ask("Approve %s with %s? [y]es, [n]o, [e]ffects, [d]etails, [q]uit:", paper.Line(m.Method), named(choice.Effects))
		if !ok {
			return choice, false, false
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			if len(choice.Effects) > 0 {
				return choice, true, true
			}
			fmt.Fprintln(v.out, "First say which effects it has.")
		case "n", "no":
			return choice, false, true
		case "q", "quit":
			return choice, false, false
		case "e", "effects":
			if choice.Effects, ok = v.effects(choice.Effects); !ok {
				return choice, false, false
			}
		case "d", "details":
			sheet.Method(v.out, m, true)
		default:
			fmt.Fprintln(v.out, answers)
		}
	}
}

func (v *Interview) effects(before []string) ([]string, bool) {
	answer, ok := v.ask("Its effects, with commas (compute, read, write, delete, communicate, spend):")
	if !ok {
		return before, false
	}
	set, err := effect.Parse(strings.ReplaceAll(answer, "+", ","))
	if err != nil {
		fmt.Fprintf(v.out, "%s.\n", fault.From(err).Text)
		return before, true
	}
	return names(set), true
}

func named(effects []string) string {
	if len(effects) == 0 {
		return "no effects known"
	}
	return strings.Join(effects, ",")
}
