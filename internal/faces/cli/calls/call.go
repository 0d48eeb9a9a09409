// Package calls has the verbs about calls: call, confirm and journal. A call that
// nobody answered is told as one that may have happened. The verbs keep nothing.
package calls

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/argument"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Call is the verb that calls a method with the owner's own hand.
func Call(d *desk.Desk) *cobra.Command { return verbs{d}.call() }

// Confirm is confirm with its verbs.
func Confirm(d *desk.Desk) *cobra.Command { return verbs{d}.confirm() }

// Journal is journal with its verbs.
func Journal(d *desk.Desk) *cobra.Command { return verbs{d}.journal() }

type verbs struct{ *desk.Desk }

// calling is what call was told.
type calling struct {
	tx, ifVersion, ack string
	deadline           time.Duration
}

func (d verbs) call() *cobra.Command {
	var c calling
	cmd := d.WithJSON(&cobra.Command{
		Use: "call RESOURCE METHOD [JSON | - | @FILE]", Short: "call a method yourself, as the owner", Args: desk.Words(2, 3),
		Long: `Calls a method of a resource with your own hand, which needs no grant. The call is
journalled like any other. The arguments are a JSON object, - for standard input,
or @FILE; {} if left out. The result is printed as JSON.

A call has a tx, which is made for you. Sending the same call again under the same
--tx never executes it twice: it gives the recorded answer.`,
		Example: `  steward call notes read_note '{"title":"groceries"}'
  steward call @items put @item.json --if '{"absent":true}'`,
		RunE: func(cmd *cobra.Command, args []string) error { return d.runCall(cmd, args, c) },
	})
	d.Complete(cmd, desk.Resource, desk.Method)
	f := cmd.Flags()
	f.StringVar(&c.tx, "tx", "", "the call's transaction; to send the same call again")
	f.StringVar(&c.ifVersion, "if", "", "JSON of the precondition, for methods that need one")
	f.StringVar(&c.ack, "ack", "", "the tx of an equal call in doubt that you know about")
	f.DurationVar(&c.deadline, "deadline", 0, "how long it may take, such as 10s")
	return cmd
}

func (d verbs) runCall(cmd *cobra.Command, args []string, c calling) error {
	req := adminwire.Call{Tx: c.tx, Resource: args[0], Method: args[1], Ack: c.ack, DeadlineMS: c.deadline.Milliseconds()}
	if req.Tx == "" {
		req.Tx = id.NewTx(time.Now()).String()
	}
	var err error
	if req.Args, err = argument.Read("{}", d.In, args[2:]...); err != nil {
		return err
	}
	if c.ifVersion != "" {
		if req.If, err = argument.Read(c.ifVersion, d.In); err != nil {
			return err
		}
	}
	answer, err := d.send(cmd.Context(), &req, c.tx == "")
	var f *fault.Fault
	if err != nil && !errors.As(err, &f) {
		return trouble.Unheard(err, req.Tx)
	}
	if err != nil {
		return err
	}
	if d.JSON {
		err = d.Encode(answer)
	} else {
		d.printAnswer(answer)
	}
	h := desk.HintsOf(cmd)
	h.Form = "steward resources show " + paper.Word(req.Resource) + " " + paper.Word(req.Method)
	if answer.Error != nil && answer.Error.Code == string(fault.NotFound) {
		if _, bad := desk.Ask(cmd.Context(), d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: req.Resource}); bad == nil {
			h.List = "steward resources show " + paper.Word(req.Resource)
		}
	}
	return errors.Join(err, trouble.OfAnswer(answer, h))
}

// send makes the call under a tx of our own, so that it can be sent again when no
// answer comes. A host that was restored cannot tell such a tx from an old one for a
// while; it has not executed the call then, and mints one itself.
func (d verbs) send(ctx context.Context, req *adminwire.Call, ours bool) (adminwire.Answer, error) {
	answer, err := desk.Ask(ctx, d.Desk, adminwire.CallMethod, *req)
	if err == nil && ours && answer.Error != nil && answer.Error.Code == string(fault.TxExpired) && answer.Error.Details["accepted_from"] != nil {
		req.Tx = ""
		answer, err = desk.Ask(ctx, d.Desk, adminwire.CallMethod, *req)
	}
	return answer, err
}

func (d verbs) printAnswer(a adminwire.Answer) {
	if len(a.Result) > 0 {
		d.Say("%s", paper.JSON(a.Result, ""))
	}
	if a.Version != "" {
		d.Note("version %s", a.Version)
	}
	if a.Replayed {
		d.Note("this is the recorded answer of %s; nothing was executed now", a.Tx)
	}
	if a.Reconciled != nil {
		d.Note("the call was in doubt; reconciled by %s at %s", a.Reconciled.By, paper.Stamp(a.Reconciled.At))
	}
}
