package cli

import (
	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *desk) resources() *cobra.Command {
	list := d.withJSON(&cobra.Command{Use: "list", Short: "list what is in the pool", Args: words(0, 0)})
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := ask(cmd.Context(), d, adminwire.ResourcesList, adminwire.Empty{})
		if err != nil {
			return err
		}
		return show(d, all, func(all adminwire.Resources) { sheet.Resources(d.out, all.Resources) })
	}
	look := d.withJSON(&cobra.Command{Use: "show RESOURCE [METHOD]", Short: "show a resource, or one of its methods whole", Args: words(1, 2)})
	look.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := ask(cmd.Context(), d, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: args[0]})
		if err != nil {
			return err
		}
		if len(args) == 2 {
			return d.showMethod(r, args[1])
		}
		return show(d, r, func(r adminwire.Review) {
			sheet.Resource(d.out, r.Resource)
			d.say("")
			sheet.Methods(d.out, r.Methods)
			if len(sheet.Waiting(r)) > 0 {
				d.next("steward review " + paper.Word(r.Resource.Label))
			}
		})
	}
	return d.noun("resources", "see what is in the pool", list, look)
}

func (d *desk) showMethod(r adminwire.Review, name string) error {
	for _, m := range r.Methods {
		if m.Method == name {
			return show(d, m, func(m adminwire.Definition) { sheet.Method(d.out, m, true) })
		}
	}
	return trouble.New(trouble.Unknown, r.Resource.Label+" has no method "+paper.Word(name),
		"steward resources show "+paper.Word(r.Resource.Label))
}
