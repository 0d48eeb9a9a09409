package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/argument"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// calling is what call was told.
type calling struct {
	tx, ifVersion, ack string
	deadline           time.Duration
}

func (d *desk) call() *cobra.Command {
	var c calling
	cmd := d.withJSON(&cobra.Command{
		Use: "call RESOURCE METHOD [JSON | - | @FILE]", Short: "call a method yourself, as the owner", Args: words(2, 3),
		Long: `Calls a method of a resource with your own hand, which needs no grant. The call is
journalled like any other. The arguments are a JSON object, - for standard input,
or @FILE; {} if left out. The result is printed as JSON.

A call has a tx, which is made for you. Sending the same call again under the same
--tx never executes it twice: it gives the recorded answer.`,
		Example: `  steward call notes read_note '{"title":"groceries"}'
  steward call @items put @item.json --if '{"absent":true}'`,
		RunE: func(cmd *cobra.Command, args []string) error { return d.runCall(cmd, args, c) },
	})
	f := cmd.Flags()
	f.StringVar(&c.tx, "tx", "", "the call's transaction; to send the same call again")
	f.StringVar(&c.ifVersion, "if", "", "JSON of the precondition, for methods that need one")
	f.StringVar(&c.ack, "ack", "", "the tx of an equal call in doubt that you know about")
	f.DurationVar(&c.deadline, "deadline", 0, "how long it may take, such as 10s")
	return cmd
}

func (d *desk) runCall(cmd *cobra.Command, args []string, c calling) error {
	req := adminwire.Call{Tx: c.tx, Resource: args[0], Method: args[1], Ack: c.ack, DeadlineMS: c.deadline.Milliseconds()}
	if req.Tx == "" {
		req.Tx = id.NewTx(time.Now()).String()
	}
	var err error
	if req.Args, err = argument.Read("{}", d.in, args[2:]...); err != nil {
		return err
	}
	if c.ifVersion != "" {
		if req.If, err = argument.Read(c.ifVersion, d.in); err != nil {
			return err
		}
	}
	answer, err := ask(cmd.Context(), d, adminwire.CallMethod, req)
	var f *fault.Fault
	if err != nil && !errors.As(err, &f) {
		return trouble.Unheard(err, req.Tx)
	}
	if err != nil {
		return err
	}
	if d.json {
		err = d.encode(answer)
	} else {
		d.printAnswer(answer)
	}
	h := hints(cmd)
	h.Form = "steward resources show " + paper.Word(req.Resource) + " " + paper.Word(req.Method)
	return errors.Join(err, trouble.OfAnswer(answer, h))
}

func (d *desk) printAnswer(a adminwire.Answer) {
	if len(a.Result) > 0 {
		d.say("%s", paper.JSON(a.Result, ""))
	}
	if a.Version != "" {
		d.note("version %s", a.Version)
	}
	if a.Replayed {
		d.note("this is the recorded answer of %s; nothing was executed now", a.Tx)
	}
	if a.Reconciled != nil {
		d.note("the call was in doubt; reconciled by %s at %s", a.Reconciled.By, paper.Stamp(a.Reconciled.At))
	}
}
