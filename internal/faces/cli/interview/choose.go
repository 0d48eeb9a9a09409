package interview

import (
	"maps"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Choose reads from the words of a command what the owner says yes to: the named
// methods or, with all, every one that waits. Effects holds CLASS+CLASS for those
// whose effects are not the shown ones.
func Choose(r adminwire.Review, methods []string, all bool, effects map[string]string) ([]adminwire.Choice, error) {
	look := "steward review " + paper.Word(r.Resource.Label)
	shown := map[string]adminwire.Definition{}
	for _, m := range r.Methods {
		shown[m.Method] = m
		if all && sheet.Waits(m) {
			methods = append(methods, m.Method)
		}
	}
	var out []adminwire.Choice
	for i, name := range methods {
		m, ok := shown[name]
		if !ok {
			return nil, trouble.New(trouble.Unknown, r.Resource.Label+" has no method "+paper.Word(name), look)
		}
		if slices.Contains(methods[:i], name) {
			return nil, trouble.UsageOf(look, "%s is named twice", paper.Word(name))
		}
		c := adminwire.Choice{Method: name, Effects: m.Effects}
		if text, ok := effects[name]; ok {
			set, err := effect.Parse(strings.ReplaceAll(text, "+", ","))
			if err != nil {
				return nil, trouble.UsageOf("steward review --help", "the effects of %s: %s", name, fault.From(err).Text)
			}
			c.Effects = names(set)
		}
		if len(c.Effects) == 0 {
			return nil, trouble.UsageOf(look+" --full, then add --effects "+name+"=CLASS+CLASS", "say what effects %s has", name)
		}
		out = append(out, c)
	}
	for _, name := range slices.Sorted(maps.Keys(effects)) {
		if !slices.Contains(methods, name) {
			return nil, trouble.UsageOf(look, "--effects names %s, which is not approved here", paper.Word(name))
		}
	}
	return out, nil
}

func names(set effect.Set) []string {
	var out []string
	for _, c := range set.Classes() {
		out = append(out, string(c))
	}
	return out
}
