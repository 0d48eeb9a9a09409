package resources

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/interview"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// reviewing is what review was told.
type reviewing struct {
	approve, shown string
	methods        []string
	effects        map[string]string
	all, full      bool
}

func (d verbs) review() *cobra.Command {
	var r reviewing
	cmd := d.WithJSON(&cobra.Command{
		Use: "review [RESOURCE]", Short: "read what a resource's methods are, and say yes to them", Args: desk.Words(0, 1),
		Long: `Without RESOURCE, lists what waits for your review. With it, shows each method as
models will be told of it, the effects that it is taken to have, and how its
arguments were narrowed. In a terminal it then asks method by method.

--approve says yes without questions. It approves what is there when the command
runs; --shown makes it fail if that is not what you read before.`,
		Example: `  steward review notes
  steward review --approve notes --methods read_note,write_note
  steward review --approve notes --all --effects send_note=write+communicate`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.runReview(cmd.Context(), strings.Join(args, ""), r)
		},
	})
	f := cmd.Flags()
	f.StringVar(&r.approve, "approve", "", "the resource whose methods you approve")
	f.StringSliceVar(&r.methods, "methods", nil, "each `METHOD` that you approve, with commas")
	f.BoolVar(&r.all, "all", false, "approve every method that waits")
	f.StringToStringVar(&r.effects, "effects", nil, "`METHOD=CLASS+CLASS` for methods whose effects differ from the shown ones, with commas")
	f.Lookup("effects").DefValue = "" // it would be told as []
	f.StringVar(&r.shown, "shown", "", "approve only if this is still the digest of what is there")
	f.BoolVar(&r.full, "full", false, "show each usual bound, the schemas and the tools as they were received")
	return cmd
}

func (d verbs) runReview(ctx context.Context, ref string, r reviewing) error {
	switch {
	case r.approve == "" && (len(r.methods) > 0 || r.all || len(r.effects) > 0 || r.shown != ""):
		return trouble.UsageOf("steward review --approve RESOURCE --methods METHOD,METHOD", "say which resource you approve: --approve RESOURCE")
	case r.approve != "" && ref != "":
		return trouble.UsageOf("steward review --help", "name the resource once, with --approve")
	case r.approve != "":
		return d.approve(ctx, r)
	case ref == "":
		return d.reviewList(ctx)
	}
	review, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: ref})
	if err != nil {
		return err
	}
	if !d.JSON && !r.full && len(sheet.Waiting(review)) > 0 && outlet.Terminal(d.In) && outlet.Terminal(d.Out) {
		return d.interview(ctx, review)
	}
	return desk.Show(d.Desk, review, func(review adminwire.Review) { d.printReview(review, r.full) })
}

// reviewList tells which resources have methods that wait.
func (d verbs) reviewList(ctx context.Context) error {
	all, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesList, adminwire.Empty{})
	if err != nil {
		return err
	}
	all.Resources = slices.DeleteFunc(all.Resources, func(r adminwire.Resource) bool { return sheet.WaitingCount(r) == 0 })
	return desk.Show(d.Desk, all, func(all adminwire.Resources) {
		if len(all.Resources) == 0 {
			d.Say("Nothing waits for a review.")
			return
		}
		t := paper.NewTable("resource", "methods", "read them with")
		for _, r := range all.Resources {
			t.Row(r.Label, sheet.States(r.Methods), d.Here("steward review "+paper.Word(r.Label)))
		}
		t.Write(d.Out, "")
	})
}

func (d verbs) printReview(r adminwire.Review, full bool) {
	d.Say("%s (%s), %s", paper.Line(r.Resource.Label), r.Resource.ID, sheet.States(r.Resource.Methods))
	sheet.Methods(d.Out, r.Methods)
	for _, m := range r.Methods {
		d.Say("")
		sheet.Method(d.Out, m, full)
	}
	d.Say("")
	sheet.Legend(d.Out)
	d.Say("shown: %s", r.Shown)
	if len(sheet.Waiting(r)) > 0 {
		d.Next("steward review --approve " + paper.Word(r.Resource.Label) + " --all --shown " + r.Shown)
	}
}

func (d verbs) interview(ctx context.Context, r adminwire.Review) error {
	sheet.Methods(d.Out, r.Methods)
	sheet.Legend(d.Out)
	chosen := interview.New(ctx, d.In, d.Out).Approve(r)
	if len(chosen) == 0 {
		return trouble.New(trouble.Failed, "nothing was approved", "steward review "+paper.Word(r.Resource.Label))
	}
	return d.sendApproval(ctx, r, chosen)
}

func (d verbs) approve(ctx context.Context, r reviewing) error {
	if len(r.methods) == 0 && !r.all {
		return trouble.UsageOf("steward review "+paper.Word(r.approve), "say which methods you approve: --methods METHOD,METHOD or --all")
	}
	if len(r.methods) > 0 && r.all {
		return trouble.UsageOf("steward review --help", "--methods and --all exclude each other")
	}
	review, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: r.approve})
	if err != nil {
		return err
	}
	look := "steward review " + paper.Word(review.Resource.Label)
	if r.shown != "" && r.shown != review.Shown {
		return trouble.New(trouble.Failed, "the definitions are not those that were shown as "+r.shown, look)
	}
	chosen, err := interview.Choose(review, r.methods, r.all, r.effects)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		return trouble.New(trouble.Failed, "no method of "+review.Resource.Label+" waits for approval", look)
	}
	return d.sendApproval(ctx, review, chosen)
}

// sendApproval carries back the digest of what was shown.
func (d verbs) sendApproval(ctx context.Context, r adminwire.Review, chosen []adminwire.Choice) error {
	rep, err := desk.Ask(ctx, d.Desk, adminwire.ReviewApprove, adminwire.Approve{Resource: r.Resource.ID, Shown: r.Shown, Methods: chosen})
	if err != nil {
		return err
	}
	return desk.Show(d.Desk, rep, func(rep adminwire.Approved) {
		names := sheet.Chosen(d.Out, r.Shown, chosen)
		d.Say("%s is at revision %s. No app can call it before you grant it.", paper.Line(r.Resource.Label), rep.Revision)
		d.Next("steward grants add APP " + paper.Word(r.Resource.Label) + " " + strings.Join(names, " "))
	})
}
