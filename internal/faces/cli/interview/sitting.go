package interview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Decision is what the owner said to the proposals of one resource.
type Decision struct {
	Review    adminwire.Review
	Approve   []adminwire.Choice
	Reaffirm  []string // changes of words
	No, Later []string
	Yes       []string // to be remembered: nobody was there for the last yes
	before    []string // what it says yes to since an earlier sitting
}

// proposal is one method of a sitting.
type proposal struct {
	of *Decision
	m  adminwire.Definition
}

// few is how many proposals a person would rather read one by one.
const few = 8

// Sit goes through the proposals of all reviews that keep lets in. Where they are
// many, those that differ by the usual bounds alone are decided together, by what
// effects they have, and so are changes of words; the others are asked about one by
// one. A last yes is for the whole; without it nothing is approved. What the owner
// said is told in any case, so that the next sitting goes on from there: a yes to the
// definition as it is, which is all that is remembered of it, is not asked for again.
// Resources of which nothing was said are left out.
func (v *Interview) Sit(reviews []adminwire.Review, keep func(adminwire.Definition) bool) []Decision {
	decisions := make([]*Decision, len(reviews))
	var all []proposal
	for i, r := range reviews {
		decisions[i] = &Decision{Review: r}
		for _, m := range sheet.Waiting(r) {
			p := proposal{decisions[i], m}
			switch {
			case !keep(m):
			case m.Answer == "yes" && len(p.effects()) > 0:
				p.put('y', p.effects())
				p.of.before = append(p.of.before, m.Method)
			default:
				all = append(all, p)
			}
		}
	}
	// What was put off before comes last.
	slices.SortStableFunc(all, func(a, b proposal) int { return cmp.Compare(len(a.m.Answer), len(b.m.Answer)) })
	open := v.together(all) && v.oneByOne(v.rest)
	if !v.last(decisions, open) {
		for _, d := range decisions {
			d.withdraw(v.over)
		}
	}
	var out []Decision
	for _, d := range decisions {
		if len(d.Approve)+len(d.Reaffirm)+len(d.No)+len(d.Later)+len(d.Yes) > 0 {
			out = append(out, *d)
		}
	}
	return out
}

// withdraw takes back what would be approved. Where nobody is there any more the yes to
// a definition as it was shown is remembered; a last no forgets it, and what had been
// remembered before.
func (d *Decision) withdraw(unheard bool) {
	approve, reaffirm := d.Approve, d.Reaffirm
	d.Approve, d.Reaffirm = nil, nil
	if !unheard {
		d.Later = append(d.Later, d.before...)
		return
	}
	d.Yes = reaffirm
	for _, c := range approve {
		for _, m := range d.Review.Methods {
			if m.Method == c.Method && slices.Equal((proposal{d, m}).effects(), c.Effects) {
				d.Yes = append(d.Yes, c.Method)
			}
		}
	}
}

// effects are those that a yes to the proposal as it is shown is for.
func (p proposal) effects() []string {
	if p.m.Change != nil && p.m.Change.Kind != "meaning" {
		return p.m.Change.Effects
	}
	return p.m.Effects
}

// together decides what can be decided in groups and leaves the rest; false where
// the owner leaves.
func (v *Interview) together(all []proposal) bool {
	if v.rest = all; len(all) <= few {
		return true
	}
	var wording, plain, odd []proposal
	for _, p := range all {
		switch {
		case p.m.Change != nil && p.m.Change.Kind != "meaning":
			wording = append(wording, p)
		case p.m.Change == nil && len(p.m.Effects) > 0 && sheet.Usual(p.m):
			plain = append(plain, p)
		default:
			odd = append(odd, p)
		}
	}
	fmt.Fprintf(v.out, "%s wait: %d differ from what their servers say by the usual bounds alone,\n%d changed in words only, %d have something to look at.\n",
		paper.Count(len(all), "method"), len(plain), len(wording), len(odd))
	v.rest = odd
	if len(plain) > 0 {
		sheet.Legend(v.out)
		right, ok := v.choose(fmt.Sprintf("Are these bounds right for all %d? [y]es, [n]o, which asks about each:", len(plain)), "yn")
		if !ok {
			return false
		}
		if right == 'n' {
			v.rest = append(plain, odd...)
			plain = nil
		}
	}
	for _, group := range byEffects(plain) {
		if !v.group(group, "with the effects "+strings.Join(group[0].m.Effects, ",")) {
			return false
		}
	}
	return len(wording) == 0 || v.group(wording, "that changed in words only")
}

// byEffects puts together what has the same effects, the least grave first.
func byEffects(all []proposal) (groups [][]proposal) {
	at := map[string]int{}
	for _, p := range all {
		key := strings.Join(p.m.Effects, ",")
		if _, ok := at[key]; !ok {
			at[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], p)
	}
	slices.SortStableFunc(groups, func(a, b []proposal) int { return cmp.Compare(gravity(a[0]), gravity(b[0])) })
	return groups
}

// gravity orders sets of effects by their gravest.
func gravity(p proposal) (most int) {
	for _, e := range p.m.Effects {
		most = max(most, slices.Index([]string{"compute", "read", "write", "delete", "communicate", "spend"}, e))
	}
	return most
}

// group asks about proposals together; false where the owner leaves.
func (v *Interview) group(all []proposal, what string) bool {
	for {
		said, ok := v.choose(fmt.Sprintf("Approve the %s %s? [y]es, [n]o, [s]kip for now, [o]ne by one, [l]ist, [q]uit:", paper.Count(len(all), "method"), what), "ynsolq")
		if !ok || said == 'q' {
			return false
		}
		switch said {
		case 'l':
			v.list(all)
			continue
		case 'o':
			v.rest = append(v.rest, all...)
			return true
		}
		for _, p := range all {
			p.put(said, p.m.Effects)
		}
		return true
	}
}

func (v *Interview) list(all []proposal) {
	t := paper.NewTable("resource", "method", "title")
	for _, p := range all {
		t.Row(p.of.Review.Resource.Label, p.m.Method, p.m.Title)
	}
	t.Write(v.out, "  ")
	for _, p := range all {
		if p.m.Change != nil {
			fmt.Fprintln(v.out)
			sheet.Method(v.out, p.m, false)
		}
	}
}

// put files an answer.
func (p proposal) put(said byte, effects []string) {
	d, name := p.of, p.m.Method
	switch {
	case said == 'n':
		d.No = append(d.No, name)
	case said == 's':
		d.Later = append(d.Later, name)
	case p.m.Change != nil && p.m.Change.Kind != "meaning" && slices.Equal(effects, p.m.Change.Effects):
		d.Reaffirm = append(d.Reaffirm, name)
	default:
		d.Approve = append(d.Approve, adminwire.Choice{Method: name, Effects: effects})
	}
}

// oneByOne asks about each; false where the owner leaves.
func (v *Interview) oneByOne(all []proposal) bool {
	for i, p := range all {
		fmt.Fprintln(v.out)
		if len(all) > few {
			fmt.Fprintf(v.out, "%d of %d, of %s:\n", i+1, len(all), paper.Line(p.of.Review.Resource.Label))
		}
		sheet.Method(v.out, p.m, false)
		said, effects, ok := v.method(p.m)
		if !ok || said == 'q' {
			return false
		}
		p.put(said, effects)
	}
	return true
}

// choose asks until the answer begins with one of the letters; false is no answer.
func (v *Interview) choose(question, letters string) (byte, bool) {
	for {
		answer, ok := v.ask("%s", question)
		if !ok {
			return 0, false
		}
		if answer = strings.ToLower(answer); answer != "" && strings.ContainsRune(letters, rune(answer[0])) {
			return answer[0], true
		}
		fmt.Fprintf(v.out, "One of the letters %s, please.\n", strings.Join(strings.Split(letters, ""), ", "))
	}
}

// last shows what was said yes to and asks for a yes to the whole.
func (v *Interview) last(decisions []*Decision, finished bool) bool {
	var of []*Decision
	methods, words := 0, 0
	for _, d := range decisions {
		if len(d.Approve)+len(d.Reaffirm) > 0 {
			of = append(of, d)
			methods, words = methods+len(d.Approve), words+len(d.Reaffirm)
		}
	}
	if len(of) == 0 {
		return true
	}
	fmt.Fprintln(v.out)
	switch {
	case v.over:
		return false
	case !finished:
		fmt.Fprintln(v.out, "So far you said yes to these:")
	}
	list := paper.NewTable()
	for _, d := range of {
		if len(of) > 1 {
			list.Row(d.Review.Resource.Label, paper.Count(len(d.Approve)+len(d.Reaffirm), "method"))
			continue
		}
		for _, c := range d.Approve {
			what := strings.Join(c.Effects, ",")
			if slices.Contains(d.before, c.Method) {
				what += ", as you said before"
			}
			list.Row(c.Method, what)
		}
		for _, m := range d.Reaffirm {
			list.Row(m, "as before, with its new words")
		}
	}
	list.Write(v.out, "  ")
	where := fmt.Sprintf("%d resources", len(of))
	if len(of) == 1 {
		where = paper.Line(of[0].Review.Resource.Label) + ", shown as " + of[0].Review.Shown
	}
	said, ok := v.choose(fmt.Sprintf("Approve %s of %s? [y/n]", paper.Count(methods+words, "method"), where), "yn")
	return ok && said == 'y'
}
