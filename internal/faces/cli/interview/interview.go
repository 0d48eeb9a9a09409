// Package interview finds out to which methods the owner says yes: from the words
// of a command, or in a sitting at a terminal, where many are decided by one word
// and those that are odd one by one. It changes nothing. Nothing is chosen
// without a last yes, which the end of the input and an interrupt are not: what was
// answered until then is kept, and the next sitting goes on from there. One
// interview reads one input; it is not safe for concurrent use.
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
	over bool       // nobody answers any more
	rest []proposal // of a sitting, what is to be asked about one by one
}

// New returns an interview that ends when ctx does.
func New(ctx context.Context, in io.Reader, out io.Writer) *Interview {
	limited := &io.LimitedReader{R: in, N: bound.RequestBytes.Max}
	return &Interview{from: in, in: bufio.NewReader(limited), out: out, done: ctx.Done()}
}

// ask prints a question and gives the answer, and false where there is none. A
// read that an interrupt leaves behind ends with the process.
func (v *Interview) ask(format string, args ...any) (string, bool) {
	if v.over {
		return "", false
	}
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
		v.over = !ok
		return line, ok
	case <-v.done:
		v.over = true
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
	if in.Password {
		shown := read
		read = func() (string, bool) { return outlet.Unseen(v.from, shown) }
	}
	answer, ok := read()
	return answer, ok && (answer != "" || !in.Given)
}

const answers = "y approves it, n refuses it until it changes, s asks again another time, e changes its effects, d shows its schemas, q leaves."

// method asks about one method until the answer is one: y, n, s or q, and with
// which effects. False is no answer.
func (v *Interview) method(m adminwire.Definition) (said byte, effects []string, ok bool) {
	effects = proposal{m: m}.effects()
	for {
		answer, ok := v.ask("Approve %s with %s? [y]es, [n]o, [s]kip for now, [e]ffects, [d]etails, [q]uit:", paper.Line(m.Method), named(effects))
		if !ok {
			return 0, nil, false
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			if len(effects) > 0 {
				return 'y', effects, true
			}
			fmt.Fprintln(v.out, "First say which effects it has.")
		case "n", "no":
			return 'n', effects, true
		case "s", "skip":
			return 's', effects, true
		case "q", "quit":
			return 'q', effects, true
		case "e", "effects":
			if effects, ok = v.effects(effects); !ok {
				return 0, nil, false
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
