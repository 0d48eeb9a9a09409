package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

func (d *desk) review() *cobra.Command {
	var r reviewing
	cmd := d.withJSON(&cobra.Command{
		Use: "review [RESOURCE]", Short: "read what a resource's methods are, and say yes to them", Args: words(0, 1),
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

func (d *desk) runReview(ctx context.Context, ref string, r reviewing) error {
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
	review, err := ask(ctx, d, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: ref})
	if err != nil {
		return err
	}
	if !d.json && !r.full && len(sheet.Waiting(review)) > 0 && outlet.Terminal(d.in) && outlet.Terminal(d.out) {
		return d.interview(ctx, review)
	}
	return show(d, review, func(review adminwire.Review) { d.printReview(review, r.full) })
}

// reviewList tells which resources have methods that wait.
func (d *desk) reviewList(ctx context.Context) error {
	all, err := ask(ctx, d, adminwire.ResourcesList, adminwire.Empty{})
	if err != nil {
		return err
	}
	all.Resources = slices.DeleteFunc(all.Resources, func(r adminwire.Resource) bool { return sheet.WaitingCount(r) == 0 })
	return show(d, all, func(all adminwire.Resources) {
		if len(all.Resources) == 0 {
			d.say("Nothing waits for a review.")
			return
		}
		t := paper.NewTable("resource", "methods", "read them with")
		for _, r := range all.Resources {
			t.Row(r.Label, sheet.States(r.Methods), d.here("steward review "+paper.Word(r.Label)))
		}
		t.Write(d.out, "")
	})
}

func (d *desk) printReview(r adminwire.Review, full bool) {
	d.say("%s (%s), %s", paper.Line(r.Resource.Label), r.Resource.ID, sheet.States(r.Resource.Methods))
	sheet.Methods(d.out, r.Methods)
	for _, m := range r.Methods {
		d.say("")
		sheet.Method(d.out, m, full)
	}
	d.say("")
	sheet.Legend(d.out)
	d.say("shown: %s", r.Shown)
	if len(sheet.Waiting(r)) > 0 {
		d.next("steward review --approve " + paper.Word(r.Resource.Label) + " --all --shown " + r.Shown)
	}
}

func (d *desk) interview(ctx context.Context, r adminwire.Review) error {
	sheet.Methods(d.out, r.Methods)
	sheet.Legend(d.out)
	chosen := interview.New(ctx, d.in, d.out).Approve(r)
	if len(chosen) == 0 {
		return trouble.New(trouble.Failed, "nothing was approved", "steward review "+paper.Word(r.Resource.Label))
	}
	return d.sendApproval(ctx, r, chosen)
}

func (d *desk) approve(ctx context.Context, r reviewing) error {
	if len(r.methods) == 0 && !r.all {
		return trouble.UsageOf("steward review "+paper.Word(r.approve), "say which methods you approve: --methods METHOD,METHOD or --all")
	}
	if len(r.methods) > 0 && r.all {
		return trouble.UsageOf("steward review --help", "--methods and --all exclude each other")
	}
	review, err := ask(ctx, d, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: r.approve})
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
func (d *desk) sendApproval(ctx context.Context, r adminwire.Review, chosen []adminwire.Choice) error {
	rep, err := ask(ctx, d, adminwire.ReviewApprove, adminwire.Approve{Resource: r.Resource.ID, Shown: r.Shown, Methods: chosen})
	if err != nil {
		return err
	}
	return show(d, rep, func(rep adminwire.Approved) {
		names := sheet.Chosen(d.out, r.Shown, chosen)
		d.say("%s is at revision %s. No app can call it before you grant it.", paper.Line(r.Resource.Label), rep.Revision)
		d.next("steward grants add APP " + paper.Word(r.Resource.Label) + " " + strings.Join(names, " "))
	})
}
