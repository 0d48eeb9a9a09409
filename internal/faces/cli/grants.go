package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/argument"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *desk) grants() *cobra.Command {
	return d.noun("grants", "who may call what", d.listGrants(), d.addGrants(), d.revokeGrants())
}

func (d *desk) listGrants() *cobra.Command {
	var app string
	cmd := d.withJSON(&cobra.Command{Use: "list", Short: "list the grants, ended ones too", Args: words(0, 0),
		Annotations: map[string]string{looks: "steward apps list"}})
	cmd.Flags().StringVar(&app, "app", "", "only those of one app")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := ask(cmd.Context(), d, adminwire.GrantsList, adminwire.ListGrants{App: app})
		if err != nil {
			return err
		}
		return show(d, all, func(all adminwire.Grants) {
			if len(all.Grants) == 0 {
				d.say("Nobody may call anything.")
				d.next("steward grants add APP RESOURCE METHOD")
				return
			}
			sheet.Grants(d.out, all.Grants)
		})
	}
	return cmd
}

func (d *desk) addGrants() *cobra.Command {
	var confirm, expires string
	cmd := d.withJSON(&cobra.Command{
		Use: "add APP RESOURCE METHOD...", Short: "let an app call methods of a resource, each by its name", Args: words(3, many),
		Long: `Gives an app a grant for each named method: all of them or none. There is no
wildcard; a method that comes later is not granted. A grant holds for the method
as you approved it, and stops when the definition changes.`,
		Annotations: map[string]string{looks: "steward apps list, and steward resources list"},
		Example:     "  steward grants add assistant notes read_note write_note\n  steward grants add assistant notes send_note --confirm always --expires 7d",
	})
	cmd.Flags().StringVar(&confirm, "confirm", "by_effect", "when a call asks you afresh: always, never, or by_effect, which asks for communicate and spend")
	cmd.Flags().StringVar(&expires, "expires", "", "when the grants end: 30d, 12h or 2027-01-31; never if left out")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := argument.Expiry(expires, time.Now())
		if err != nil {
			return err
		}
		rows, err := ask(cmd.Context(), d, adminwire.GrantsAdd, adminwire.AddGrants{
			App: args[0], Resource: args[1], Methods: args[2:], Confirm: confirm, ExpiresAt: at})
		if fault.Is(err, fault.NotFound) {
			return d.noMethod(cmd.Context(), args[1], args[2:], err)
		}
		if err != nil {
			return err
		}
		return show(d, rows, func(rows adminwire.Grants) { sheet.Grants(d.out, rows.Grants) })
	}
	return cmd
}

// noMethod names the first method that a resource has not, if that is what is wrong.
func (d *desk) noMethod(ctx context.Context, ref string, methods []string, wrong error) error {
	r, err := ask(ctx, d, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: ref})
	for _, name := range methods {
		if err == nil && !slices.ContainsFunc(r.Methods, func(m adminwire.Definition) bool { return m.Method == name }) {
			return d.showMethod(r, name)
		}
	}
	return wrong
}

func (d *desk) revokeGrants() *cobra.Command {
	var req adminwire.RevokeGrants
	cmd := d.withJSON(&cobra.Command{
		Use: "revoke [GRANT]", Short: "take a right away, at once", Args: words(0, 1),
		Example: "  steward grants revoke grn_…\n  steward grants revoke --app assistant --resource notes",
	})
	cmd.Flags().StringVar(&req.App, "app", "", "with --resource: every grant of this app on that resource")
	cmd.Flags().StringVar(&req.Resource, "resource", "", "see --app")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			req.Grant = args[0]
		}
		if byPair := req.App != "" && req.Resource != ""; byPair == (req.Grant != "") || !byPair && req.App+req.Resource != "" {
			return trouble.UsageOf("steward grants list", "name one GRANT, or both --app and --resource")
		}
		rep, err := ask(cmd.Context(), d, adminwire.GrantsRevoke, req)
		if err != nil {
			return err
		}
		return show(d, rep, func(rep adminwire.Revoked) {
			if rep.Revoked == 0 {
				d.say("There was nothing left to revoke.")
				return
			}
			d.say("%s revoked. Calls under it are refused from now on.", paper.Count(rep.Revoked, "grant"))
		})
	}
	return cmd
}
