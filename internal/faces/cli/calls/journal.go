package calls

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d verbs) journal() *cobra.Command {
	return d.Noun("journal", "every call, and what is known of it", d.listJournal(), d.showJournal(), d.reconcile(), d.verify())
}

func (d verbs) listJournal() *cobra.Command {
	var req adminwire.ListJournal
	var doubtful, refused bool
	cmd := d.WithJSON(&cobra.Command{Use: "list", Short: "list calls, newest first", Args: desk.Words(0, 0),
		Annotations: map[string]string{desk.Looks: "steward apps list"}})
	f := cmd.Flags()
	f.BoolVar(&doubtful, "indeterminate", false, "only calls in doubt")
	f.StringVar(&req.State, "state", "", "only calls in this state, such as failed or not_dispatched")
	f.StringVar(&req.App, "app", "", "only calls of one app")
	f.StringVar(&req.Before, "before", "", "go on where a list ended")
	f.BoolVar(&refused, "denied", false, "the attempts that were refused and never became a call")
	f.IntVar(&req.Limit, "limit", 20, "how many")
	d.CompleteFlag(cmd, "app", desk.App)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if doubtful {
			req.State = "indeterminate"
		}
		if req.Limit < 1 {
			return trouble.UsageOf("steward journal list --limit 20", "--limit is at least 1")
		}
		if refused {
			return d.denied(cmd.Context(), req)
		}
		page, err := d.pages(cmd.Context(), req)
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, page, func(page adminwire.Journal) { d.printJournal(page, req, doubtful) })
	}
	return cmd
}

// denied lists what was refused before the journal saw it.
func (d verbs) denied(ctx context.Context, req adminwire.ListJournal) error {
	if req.State != "" || req.Before != "" {
		return trouble.UsageOf("steward journal list --denied", "--denied is by itself; only --app and --limit go with it")
	}
	limit := min(req.Limit, bound.PageRows.Int())
	if req.App != "" {
		limit = bound.PageRows.Int()
	}
	all, err := desk.Ask(ctx, d.Desk, adminwire.JournalDenied, adminwire.ListDenied{Limit: limit})
	if err != nil {
		return err
	}
	if req.App != "" {
		all.Denied = slices.DeleteFunc(all.Denied, func(r adminwire.Denial) bool { return r.App != req.App && r.AppID != req.App })
		all.Denied = all.Denied[:min(len(all.Denied), req.Limit)]
	}
	return desk.Show(d.Desk, all, func(all adminwire.Denied) {
		if len(all.Denied) == 0 {
			d.Say("Nothing was refused.")
			return
		}
		sheet.Denied(d.Out, all.Denied, d.Here)
	})
}

// pages reads as many pages as the limit takes.
func (d verbs) pages(ctx context.Context, req adminwire.ListJournal) (adminwire.Journal, error) {
	left := req.Limit
	out := adminwire.Journal{Invocations: []adminwire.Invocation{}}
	for {
		req.Limit = min(left, bound.PageRows.Int())
		page, err := desk.Ask(ctx, d.Desk, adminwire.JournalList, req)
		if err != nil {
			return out, err
		}
		out.Invocations = append(out.Invocations, page.Invocations...)
		out.Next, req.Before = page.Next, page.Next
		if left -= len(page.Invocations); left <= 0 || page.Next == "" || len(page.Invocations) == 0 {
			return out, nil
		}
		d.Progress("%s read", paper.Count(len(out.Invocations), "call"))
	}
}

func (d verbs) printJournal(page adminwire.Journal, req adminwire.ListJournal, doubtful bool) {
	switch {
	case len(page.Invocations) > 0:
		sheet.Calls(d.Out, page.Invocations)
	case doubtful:
		d.Say("No call is in doubt.")
	default:
		d.Say("There are no such calls.")
	}
	if doubtful && len(page.Invocations) > 0 {
		d.Next("steward journal show " + page.Invocations[0].ID)
	}
	if page.Next != "" {
		d.Next(sheet.MoreCalls(req, page.Next))
	}
}

func (d verbs) showJournal() *cobra.Command {
	cmd := d.WithJSON(&cobra.Command{Use: "show CALL", Short: "tell the story of one call, by its id or its tx", Args: desk.Words(1, 1)})
	d.Complete(cmd, desk.Call)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		call, err := desk.Ask(cmd.Context(), d.Desk, adminwire.JournalShow, adminwire.JournalRef{Invocation: args[0]})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, call, d.printCall)
	}
	return cmd
}

func (d verbs) printCall(call adminwire.Invocation) {
	sheet.Call(d.Out, call)
	if next := sheet.AfterCall(call); next != "" {
		d.Next(next)
	}
}

func (d verbs) reconcile() *cobra.Command {
	cmd := d.WithJSON(&cobra.Command{
		Use: "reconcile CALL happened|did-not|give-up", Short: "end a doubt by saying what you found out", Args: desk.Words(1, 2),
		Long: `A call in doubt may have happened. Only you can end the doubt: look at the other
side, and say what you found. The statement is kept and cannot be taken back.

  happened  it did; the same tx now answers ok
  did-not   it did not; an equal call may be made again
  give-up   nobody can find out; an equal call may be made again`,
		Example: "  steward journal reconcile inv_… did-not",
	})
	d.Complete(cmd, desk.Call)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return trouble.New(trouble.Owner, "say what you found out about "+args[0],
				"steward journal show "+args[0]+", then reconcile it as happened, did-not or give-up")
		}
		call, err := desk.Ask(cmd.Context(), d.Desk, adminwire.JournalReconcile, adminwire.Reconcile{Invocation: args[0], Statement: args[1]})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, call, d.printCall)
	}
	return cmd
}

func (d verbs) verify() *cobra.Command {
	cmd := d.WithJSON(&cobra.Command{
		Use: "verify", Short: "check the whole trail, row by row", Args: desk.Words(0, 0),
		Long: `Reads every row of the audit trail and every settled call, and checks that none was
changed, taken out or put in. It names the first row that does not hold.`,
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d.Progress("reading the trail")
		v, err := desk.Ask(cmd.Context(), d.Desk, adminwire.JournalVerify, adminwire.Empty{})
		if err != nil {
			return err
		}
		if err := desk.Show(d.Desk, v, func(v adminwire.Verification) { sheet.Verification(d.Out, v) }); err != nil {
			return err
		}
		if !v.Holds {
			return trouble.New(trouble.Failed, "the trail does not hold", "stop the host, keep a copy of its folder as it is, and find out who changed it")
		}
		return nil
	}
	return cmd
}
