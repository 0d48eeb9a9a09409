package resources

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/interview"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// filter says which of the methods that wait are looked at.
type filter struct {
	everything, changed, declined bool
	effect, outcome               string
}

func (f filter) keeps(m adminwire.Definition) bool {
	return sheet.Waits(m) && (f.declined || m.Answer != "no") && (!f.changed || m.Change != nil) &&
		(f.effect == "" || slices.Contains(m.Effects, f.effect)) && (f.outcome == "" || sheet.Outcome(m) == f.outcome)
}

// proposed is a row of the list of methods that wait.
type proposed struct {
	Resource string `json:"resource"`
	Shown    string `json:"shown"` // of the resource's review
	adminwire.Definition
}

// many looks at the methods of all resources, or of one, that pass the filter.
func (d verbs) many(ctx context.Context, ref string, r reviewing) error {
	var reviews []adminwire.Review
	all, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesList, adminwire.Empty{})
	if err != nil {
		return err
	}
	for _, res := range all.Resources {
		if ref != "" && ref != res.Label && ref != res.ID || sheet.WaitingCount(res)+res.Declined == 0 {
			continue
		}
		review, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: res.ID})
		if err != nil {
			return err
		}
		reviews = append(reviews, review)
	}
	list := []proposed{}
	for _, review := range reviews {
		for _, m := range review.Methods {
			if r.keeps(m) {
				list = append(list, proposed{review.Resource.Label, review.Shown, m})
			}
		}
	}
	if !d.JSON && !r.full && len(list) > 0 && outlet.Terminal(d.In) && outlet.Terminal(d.Out) {
		return d.sit(ctx, reviews, r.filter, "steward review --all-servers")
	}
	return desk.Show(d.Desk, map[string][]proposed{"methods": list}, func(map[string][]proposed) {
		switch {
		case len(list) == 0 && r.filter == filter{everything: true}:
			d.Say("Nothing waits for a review.")
			return
		case len(list) == 0:
			d.Say("No such method waits for a review.")
			return
		}
		t := paper.NewTable("resource", "method", "state", "effects", "import", "you said")
		for _, p := range list {
			t.Row(p.Resource, p.Method, p.State, strings.Join(p.Effects, ","), sheet.Outcome(p.Definition), p.Answer)
		}
		t.Fit(d.Out)
		d.Next("steward review " + paper.Word(list[0].Resource))
	})
}

// sit asks a person and does what is said.
func (d verbs) sit(ctx context.Context, reviews []adminwire.Review, f filter, again string) error {
	decisions := interview.New(ctx, d.In, d.Out).Sit(reviews, f.keeps)
	approved, yes, no := 0, 0, 0
	for _, decision := range decisions {
		approved += len(decision.Approve) + len(decision.Reaffirm)
		yes, no = yes+len(decision.Yes), no+len(decision.No)
		// Not a word is lost to an interrupt that came after it.
		if err := d.settle(context.WithoutCancel(ctx), decision); err != nil {
			return err
		}
	}
	switch {
	case approved > 0:
		return nil
	case yes > 0:
		return trouble.New(trouble.Failed, fmt.Sprintf("the review ended before its last yes, so that nothing was approved; kept until you go on: %d yes, %d no", yes, no), again)
	case no > 0:
		return trouble.New(trouble.Failed, fmt.Sprintf("nothing was approved; kept until the definitions change: %d no", no), again)
	}
	return trouble.New(trouble.Failed, "nothing was approved", again)
}

// settle tells the host what was said to the methods of one resource. The answers
// that change nothing go first, since an approval makes the resource another.
func (d verbs) settle(ctx context.Context, said interview.Decision) error {
	r := said.Review
	for _, a := range []struct {
		answer  string
		methods []string
	}{{"no", said.No}, {"later", said.Later}, {"yes", said.Yes}} {
		if len(a.methods) == 0 {
			continue
		}
		if _, err := desk.Ask(ctx, d.Desk, adminwire.ReviewDefer, adminwire.Defer{Resource: r.Resource.ID, Shown: r.Shown, Methods: a.methods, Answer: a.answer}); err != nil {
			return err
		}
	}
	if len(said.Reaffirm) > 0 {
		if err := d.sendReaffirmation(ctx, r, said.Reaffirm); err != nil {
			return err
		}
	}
	if len(said.Approve) == 0 {
		return nil
	}
	if len(said.Reaffirm) > 0 {
		fresh, err := d.same(ctx, r, said.Approve)
		if err != nil {
			return err
		}
		r = fresh
	}
	return d.sendApproval(ctx, r, said.Approve)
}

// same shows a resource again and makes sure that methods are what they were.
func (d verbs) same(ctx context.Context, before adminwire.Review, chosen []adminwire.Choice) (adminwire.Review, error) {
	now, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: before.Resource.ID})
	if err != nil {
		return now, err
	}
	pin := func(r adminwire.Review, name string) string {
		for _, m := range r.Methods {
			if m.Method == name {
				return m.MethodDigest + m.BindingDigest
			}
		}
		return ""
	}
	for _, c := range chosen {
		if pin(before, c.Method) != pin(now, c.Method) {
			return now, trouble.New(trouble.Failed, c.Method+" changed since it was shown", "steward review "+paper.Word(now.Resource.Label))
		}
	}
	return now, nil
}

func (d verbs) sendReaffirmation(ctx context.Context, r adminwire.Review, methods []string) error {
	rep, err := desk.Ask(ctx, d.Desk, adminwire.ReviewReaffirm, adminwire.Reaffirm{Resource: r.Resource.ID, Shown: r.Shown, Methods: methods})
	if err != nil {
		return err
	}
	return desk.Show(d.Desk, rep, func(rep adminwire.Reaffirmed) {
		d.Say("%s of %s approved again, and %s on.", paper.Count(len(rep.Methods), "method"), paper.Line(r.Resource.Label), goesOn(rep.Grants))
	})
}

func goesOn(grants int) string {
	if grants == 1 {
		return "1 grant goes"
	}
	return paper.Count(grants, "grant") + " go"
}

// reaffirm is the yes to changes of words.
func (d verbs) reaffirm(ctx context.Context, r reviewing) error {
	review, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: r.reaffirm})
	if err != nil {
		return err
	}
	methods := r.methods
	for _, m := range review.Methods {
		if len(r.methods) == 0 && m.Change != nil && m.Change.Kind != "meaning" && m.Answer != "no" {
			methods = append(methods, m.Method)
		}
	}
	if len(methods) == 0 {
		return trouble.New(trouble.Failed, "no method of "+review.Resource.Label+" changed in words only", "steward review "+paper.Word(review.Resource.Label))
	}
	if err := r.unchanged(review); err != nil {
		return err
	}
	return d.sendReaffirmation(ctx, review, methods)
}

// decline is a no that holds until a definition changes.
func (d verbs) decline(ctx context.Context, r reviewing) error {
	if len(r.methods) == 0 {
		return trouble.UsageOf("steward review "+paper.Word(r.decline), "say which methods you decline: --methods METHOD,METHOD")
	}
	review, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: r.decline})
	if err != nil {
		return err
	}
	if err := r.unchanged(review); err != nil {
		return err
	}
	rep, err := desk.Ask(ctx, d.Desk, adminwire.ReviewDefer, adminwire.Defer{Resource: review.Resource.ID, Shown: review.Shown, Methods: r.methods, Answer: "no"})
	if err != nil {
		return err
	}
	return desk.Show(d.Desk, rep, func(adminwire.Empty) {
		d.Say("%s of %s declined until it changes.", paper.Count(len(r.methods), "method"), paper.Line(review.Resource.Label))
	})
}

// unchanged holds what is there to what the owner says was shown.
func (r reviewing) unchanged(review adminwire.Review) error {
	if r.shown != "" && r.shown != review.Shown {
		return trouble.New(trouble.Failed, "the definitions are not those that were shown as "+r.shown, "steward review "+paper.Word(review.Resource.Label))
	}
	return nil
}
