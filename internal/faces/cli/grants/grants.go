// Package grants has the verbs about who may call what: grants list, add and
// revoke. Each method is named; there is no wildcard. The verbs keep nothing.
package grants

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/argument"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/resources"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Noun is grants with its verbs.
func Noun(d *desk.Desk) *cobra.Command { return verbs{d}.grants() }

type verbs struct{ *desk.Desk }

func (d verbs) grants() *cobra.Command {
	return d.Noun("grants", "who may call what", d.listGrants(), d.addGrants(), d.revokeGrants())
}

func (d verbs) listGrants() *cobra.Command {
	var app string
	cmd := d.WithJSON(&cobra.Command{Use: "list", Short: "list the grants, ended ones too", Args: desk.Words(0, 0),
		Annotations: map[string]string{desk.Looks: "steward apps list"}})
	cmd.Flags().StringVar(&app, "app", "", "only those of one app")
	d.CompleteFlag(cmd, "app", desk.App)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := desk.Ask(cmd.Context(), d.Desk, adminwire.GrantsList, adminwire.ListGrants{App: app})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, all, func(all adminwire.Grants) {
			if len(all.Grants) == 0 {
				d.Say("Nobody may call anything.")
				d.Next("steward grants add APP RESOURCE METHOD")
				return
			}
			sheet.Grants(d.Out, all.Grants)
		})
	}
	return cmd
}

func (d verbs) addGrants() *cobra.Command {
	var confirm, expires string
	var budget adminwire.Budget
	cmd := d.WithJSON(&cobra.Command{
		Use: "add APP RESOURCE METHOD...", Short: "let an app call methods of a resource, each by its name", Args: desk.Words(3, desk.Many),
		Long: `Gives an app a grant for each named method: all of them or none. There is no
wildcard; a method that comes later is not granted. A grant holds for the method
as you approved it, and stops when the definition changes. One that the app has for
the method already is replaced, and the new one goes on with what its day has used.

A budget bounds each of the grants. What is over it is refused, with the time at
which there is room again; a call in doubt keeps its part of the day. Money is in
minor units: --price 250 --spend-per-day 5000 --currency EUR lets calls of at most
2.50 EUR through, up to 50 EUR a day.`,
		Annotations: map[string]string{desk.Looks: "steward apps list, and steward resources list"},
		Example:     "  steward grants add assistant notes read_note write_note\n  steward grants add assistant notes send_note --confirm always --expires 7d",
	})
	d.Complete(cmd, desk.App, desk.Resource, desk.Method)
	cmd.Flags().StringVar(&confirm, "confirm", "by_effect", "when a call asks you afresh: always, never, or by_effect, which asks for communicate and spend")
	cmd.Flags().StringVar(&expires, "expires", "", "when the grants end: 30d, 12h or 2027-01-31; never if left out")
	cmd.Flags().Int64Var(&budget.PerMinute, "per-minute", 0, "calls a minute under each grant; 0 is no bound of its own")
	cmd.Flags().Int64Var(&budget.AtOnce, "at-once", 0, "calls at once under each grant")
	cmd.Flags().Int64Var(&budget.PerDay, "per-day", 0, "calls a day under each grant; days end at midnight UTC")
	cmd.Flags().Int64Var(&budget.Price, "price", 0, "what a call costs at most, in minor units of --currency")
	cmd.Flags().Int64Var(&budget.SpendPerDay, "spend-per-day", 0, "what the calls of a day may cost together")
	cmd.Flags().StringVar(&budget.Currency, "currency", "", "the currency of both, such as EUR")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := argument.Expiry(expires, time.Now())
		if err != nil {
			return err
		}
		rows, err := desk.Ask(cmd.Context(), d.Desk, adminwire.GrantsAdd, adminwire.AddGrants{
			App: args[0], Resource: args[1], Methods: args[2:], Confirm: confirm, ExpiresAt: at, Budget: budget})
		if fault.Is(err, fault.NotFound) {
			if all, bad := desk.Ask(cmd.Context(), d.Desk, adminwire.AppsList, adminwire.Empty{}); bad == nil && !knows(all, args[0]) {
				return fault.From(err).With("fix", "steward apps add "+paper.Word(args[0]))
			}
			return d.noMethod(cmd.Context(), args[1], args[2:], err)
		}
		if fault.Is(err, fault.NeedsConsent) {
			return fault.From(err).With("fix", "steward review "+paper.Word(args[1])) // as the owner calls it
		}
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, rows, func(rows adminwire.Grants) {
			sheet.Grants(d.Out, rows.Grants)
			for _, g := range rows.Grants {
				if g.Replaces != "" {
					d.Say("%s replaces %s, which is over.", g.ID, g.Replaces)
				}
			}
		})
	}
	return cmd
}

// knows reports whether there is an app of this name or ID.
func knows(all adminwire.Apps, ref string) bool {
	return slices.ContainsFunc(all.Apps, func(a adminwire.App) bool { return a.Name == ref || a.ID == ref })
}

// noMethod names the first method that a resource has not, if that is what is wrong.
func (d verbs) noMethod(ctx context.Context, ref string, methods []string, wrong error) error {
	r, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: ref})
	for _, name := range methods {
		if err == nil && !slices.ContainsFunc(r.Methods, func(m adminwire.Definition) bool { return m.Method == name }) {
			return resources.NoMethod(r, name)
		}
	}
	return wrong
}

func (d verbs) revokeGrants() *cobra.Command {
	var req adminwire.RevokeGrants
	cmd := d.WithJSON(&cobra.Command{
		Use: "revoke [GRANT]", Short: "take a right away, at once", Args: desk.Words(0, 1),
		Example: "  steward grants revoke grn_…\n  steward grants revoke --app assistant --resource notes",
	})
	cmd.Flags().StringVar(&req.App, "app", "", "with --resource: every grant of this app on that resource")
	cmd.Flags().StringVar(&req.Resource, "resource", "", "see --app")
	d.Complete(cmd, desk.Grant)
	d.CompleteFlag(cmd, "app", desk.App)
	d.CompleteFlag(cmd, "resource", desk.Resource)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			req.Grant = args[0]
		}
		if byPair := req.App != "" && req.Resource != ""; byPair == (req.Grant != "") || !byPair && req.App+req.Resource != "" {
			return trouble.UsageOf("steward grants list", "name one GRANT, or both --app and --resource")
		}
		rep, err := desk.Ask(cmd.Context(), d.Desk, adminwire.GrantsRevoke, req)
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, rep, func(rep adminwire.Revoked) {
			if rep.Revoked == 0 {
				d.Say("There was nothing left to revoke.")
				return
			}
			d.Say("%s revoked. Calls under it are refused from now on.", paper.Count(rep.Revoked, "grant"))
		})
	}
	return cmd
}
