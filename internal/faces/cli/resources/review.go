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
	approve, decline, reaffirm, shown string
	methods                           []string
	effects                           map[string]string
	all, full                         bool
	deadlines                         map[string]string
	filter
}

func (d verbs) review() *cobra.Command {
	var r reviewing
	cmd := d.WithJSON(&cobra.Command{
		Use: "review [RESOURCE]", Short: "read what a resource's methods are, and say yes to them", Args: desk.Words(0, 1),
		Long: `Without RESOURCE, lists what waits for your review. With it, shows each method as
models will be told of it, the effects that it is taken to have, and how its
arguments were narrowed. In a terminal it then asks: where many wait, those that
differ by the usual bounds alone are decided together, by their effects, and the
others one by one. What you skip is asked again another time, and what you refuse
when it changes. --all-servers does so for everything that waits.

--approve says yes without questions. It approves what is there when the command
runs; --shown makes it fail if that is not what you read before. --reaffirm is the
yes to changes of words, under which grants go on, and --decline a no that holds
until the definition changes.`,
		Example: `  steward review notes
  steward review --all-servers --effect read
  steward review --changed
  steward review --approve notes --methods read_note,write_note
  steward review --approve notes --all --effects send_note=write+communicate
  steward review --reaffirm notes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.runReview(cmd.Context(), strings.Join(args, ""), r)
		},
	})
	d.Complete(cmd, desk.Resource)
	f := cmd.Flags()
	f.StringVar(&r.approve, "approve", "", "the resource whose methods you approve")
	f.StringVar(&r.reaffirm, "reaffirm", "", "the resource of which you approve every method that changed in words only, or those of --methods")
	f.StringVar(&r.decline, "decline", "", "the resource whose methods you refuse until they change")
	f.StringSliceVar(&r.methods, "methods", nil, "each `METHOD` that you speak of, with commas")
	f.BoolVar(&r.all, "all", false, "approve every method that waits and that you did not decline")
	f.StringToStringVar(&r.effects, "effects", nil, "`METHOD=CLASS+CLASS` for methods whose effects differ from the shown ones, with commas")
	f.Lookup("effects").DefValue = "" // it would be told as []
	f.StringToStringVar(&r.deadlines, "deadline", nil, "`METHOD=TIME`, such as 5s, for methods whose calls may take no longer than that, with commas")
	f.Lookup("deadline").DefValue = ""
	f.StringVar(&r.shown, "shown", "", "approve only if this is still the digest of what is there")
	f.BoolVar(&r.full, "full", false, "show each usual bound, the schemas and the tools as they were received")
	f.BoolVar(&r.everything, "all-servers", false, "look at the methods of all servers")
	f.StringVar(&r.effect, "effect", "", "only methods with this effect, such as read")
	f.StringVar(&r.outcome, "outcome", "", "only methods that were imported as_is, narrowed or lossy")
	f.BoolVar(&r.changed, "changed", false, "only methods that changed since you approved them")
	f.BoolVar(&r.declined, "declined", false, "those that you declined, too")
	for _, flag := range []string{"approve", "reaffirm", "decline"} {
		d.CompleteFlag(cmd, flag, desk.Resource)
	}
	return cmd
}

// said counts the words of a command that say something already.
func (r reviewing) said() (n int) {
	for _, s := range []string{r.approve, r.decline, r.reaffirm} {
		if s != "" {
			n++
		}
	}
	return n
}

func (d verbs) runReview(ctx context.Context, ref string, r reviewing) error {
	switch {
	case r.said() == 0 && (len(r.methods) > 0 || r.all || len(r.effects) > 0 || r.shown != ""):
		return trouble.UsageOf("steward review --approve RESOURCE --methods METHOD,METHOD", "say which resource you approve: --approve RESOURCE")
	case r.said() == 1 && ref != "" && len(r.methods) > 0:
		return trouble.UsageOf("write them as --methods "+paper.Word(strings.Join(append(slices.Clone(r.methods), ref), ",")), "methods have commas between them, and %s stands alone", paper.Word(ref))
	case r.said() > 1 || r.said() == 1 && (ref != "" || r.filter != filter{}):
		return trouble.UsageOf("steward review --help", "say one of --approve, --reaffirm and --decline, and name the resource with it")
	case r.approve != "":
		return d.approve(ctx, r)
	case r.decline != "":
		return d.decline(ctx, r)
	case r.reaffirm != "":
		return d.reaffirm(ctx, r)
	case ref == "" && r.filter == filter{}:
		return d.reviewList(ctx)
	case ref == "" || r.filter != filter{}:
		return d.many(ctx, ref, r)
	}
	review, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: ref})
	if err != nil {
		return err
	}
	if !d.JSON && !r.full && len(undecided(review)) > 0 && outlet.Terminal(d.In) && outlet.Terminal(d.Out) {
		sheet.Methods(d.Out, review.Methods)
		sheet.Legend(d.Out)
		return d.sit(ctx, []adminwire.Review{review}, r.filter, "steward review "+paper.Word(review.Resource.Label))
	}
	return desk.Show(d.Desk, review, func(review adminwire.Review) { d.printReview(review, r.full) })
}

// undecided lists the methods that wait and that the owner did not decline.
func undecided(r adminwire.Review) []adminwire.Definition {
	return slices.DeleteFunc(sheet.Waiting(r), func(m adminwire.Definition) bool { return m.Answer == "no" })
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
		waiting := 0
		for _, r := range all.Resources {
			t.Row(r.Label, sheet.States(r.Methods), d.Here("steward review "+paper.Word(r.Label)))
			waiting += sheet.WaitingCount(r)
		}
		t.Write(d.Out, "")
		if len(all.Resources) > 1 {
			d.Say("All of the %s in one sitting: %s", paper.Count(waiting, "method"), d.Here("steward review --all-servers"))
		}
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
	d.nextApproval(r)
}

// nextApproval proposes the yes to what only reads, if there is such; what changes
// or sends something is for the owner to name.
func (d verbs) nextApproval(r adminwire.Review) {
	all := undecided(r)
	var reads []string
	for _, m := range all {
		if len(m.Effects) > 0 && !slices.ContainsFunc(m.Effects, func(e string) bool { return e != "read" && e != "compute" }) {
			reads = append(reads, paper.Word(m.Method))
		}
	}
	command := "steward review --approve " + paper.Word(r.Resource.Label)
	switch {
	case len(all) == 0:
		return
	case len(reads) == len(all):
		d.Next(command + " --all --shown " + r.Shown)
	case len(reads) == 0:
		d.Next(command + " --methods " + paper.Word(all[0].Method) + " --shown " + r.Shown)
	default:
		d.Next(command + " --methods " + strings.Join(reads, ",") + " --shown " + r.Shown)
	}
	if len(reads) < len(all) {
		d.Say("The others change or send something: name those that you want too, or say --all.")
	}
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
	if err := r.unchanged(review); err != nil {
		return err
	}
	of := review
	if r.all {
		of.Methods = slices.DeleteFunc(slices.Clone(review.Methods), func(m adminwire.Definition) bool { return m.Answer == "no" })
	}
	chosen, err := interview.Choose(of, r.methods, r.all, r.effects)
	if err != nil {
		return err
	}
	if chosen, err = limited(chosen, r.deadlines); err != nil {
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
