// Package resources has the verbs about what is in the pool: resources list and
// show, and review, which says yes to methods as they were shown. The verbs keep
// nothing.
package resources

import (
	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Noun is resources with its verbs.
func Noun(d *desk.Desk) *cobra.Command { return verbs{d}.resources() }

// Review is the verb that says yes to methods.
func Review(d *desk.Desk) *cobra.Command { return verbs{d}.review() }

type verbs struct{ *desk.Desk }

func (d verbs) resources() *cobra.Command {
	list := d.WithJSON(&cobra.Command{Use: "list", Short: "list what is in the pool", Args: desk.Words(0, 0)})
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := desk.Ask(cmd.Context(), d.Desk, adminwire.ResourcesList, adminwire.Empty{})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, all, func(all adminwire.Resources) { sheet.Resources(d.Out, all.Resources) })
	}
	look := d.WithJSON(&cobra.Command{Use: "show RESOURCE [METHOD]", Short: "show a resource, or one of its methods whole", Args: desk.Words(1, 2)})
	look.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := desk.Ask(cmd.Context(), d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: args[0]})
		if err != nil {
			return err
		}
		if len(args) == 2 {
			return d.showMethod(r, args[1])
		}
		return desk.Show(d.Desk, r, func(r adminwire.Review) {
			sheet.Resource(d.Out, r.Resource)
			d.Say("")
			sheet.Methods(d.Out, r.Methods)
			if len(sheet.Waiting(r)) > 0 {
				d.Next("steward review " + paper.Word(r.Resource.Label))
			}
		})
	}
	return d.Noun("resources", "see what is in the pool", list, d.Complete(look, desk.Resource, desk.Method), d.Complete(d.authorize(), desk.Resource))
}

func (d verbs) showMethod(r adminwire.Review, name string) error {
	for _, m := range r.Methods {
		if m.Method == name {
			return desk.Show(d.Desk, m, func(m adminwire.Definition) { sheet.Method(d.Out, m, true) })
		}
	}
	return NoMethod(r, name)
}

// NoMethod is the trouble of a name that is no method of a resource.
func NoMethod(r adminwire.Review, name string) error {
	return trouble.New(trouble.Unknown, r.Resource.Label+" has no method "+paper.Word(name),
		"steward resources show "+paper.Word(r.Resource.Label))
}
