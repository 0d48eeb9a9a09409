package calls

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d verbs) confirm() *cobra.Command {
	var all bool
	list := d.WithJSON(&cobra.Command{Use: "list", Short: "list the calls that wait for your yes, with all that they would send", Args: desk.Words(0, 0)})
	list.Flags().BoolVar(&all, "all", false, "decided ones too")
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		rep, err := desk.Ask(cmd.Context(), d.Desk, adminwire.ConfirmList, adminwire.ListConfirmations{All: all})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, rep, func(rep adminwire.Confirmations) {
			if len(rep.Confirmations) == 0 {
				d.Say("No call waits for your yes.")
			}
			for _, c := range rep.Confirmations {
				sheet.Confirmation(d.Out, c)
				if c.State == "open" {
					d.Next("steward confirm approve " + c.ID)
					d.Say("or:   %s", d.Here("steward confirm deny "+c.ID))
				}
			}
		})
	}
	yes := d.decide("approve", "let exactly this call through, once, within the next minutes", adminwire.ConfirmApprove)
	return d.Noun("confirm", "calls that wait for your fresh yes", list, yes, d.deny())
}

func (d verbs) deny() *cobra.Command {
	var app string
	cmd := d.decide("deny", "refuse exactly this call for a day, also when it is asked again", adminwire.ConfirmDeny)
	cmd.Use, cmd.Args = "deny [CONFIRMATION]", desk.Words(0, 1)
	cmd.Example = "  steward confirm deny cnf_…\n  steward confirm deny --app assistant"
	cmd.Flags().StringVar(&app, "app", "", "every call of this app that waits for your yes, by its name or id")
	one := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case (len(args) == 1) == (app != ""):
			return trouble.UsageOf("steward confirm list", "name one CONFIRMATION, or --app")
		case app == "":
			return one(cmd, args)
		}
		return d.denyAll(cmd.Context(), app)
	}
	return cmd
}

// denyAll refuses what one app waits for, as far as it gets.
func (d verbs) denyAll(ctx context.Context, app string) error {
	open, err := desk.Ask(ctx, d.Desk, adminwire.ConfirmList, adminwire.ListConfirmations{})
	if err != nil {
		return err
	}
	denied := adminwire.Confirmations{Confirmations: []adminwire.Confirmation{}}
	for _, c := range open.Confirmations {
		if c.State != "open" || c.App != app && c.AppID != app {
			continue
		}
		if c, err = desk.Ask(ctx, d.Desk, adminwire.ConfirmDeny, adminwire.ConfirmationRef{Confirmation: c.ID}); err != nil {
			return err
		}
		denied.Confirmations = append(denied.Confirmations, c)
	}
	if len(denied.Confirmations) == 0 {
		return trouble.New(trouble.Unknown, "no call of "+app+" waits for your yes", "steward confirm list")
	}
	return desk.Show(d.Desk, denied, func(denied adminwire.Confirmations) {
		for _, c := range denied.Confirmations {
			sheet.Decided(d.Out, c)
		}
	})
}

func (d verbs) decide(verb, short string, m adminwire.Method[adminwire.ConfirmationRef, adminwire.Confirmation]) *cobra.Command {
	cmd := d.WithJSON(&cobra.Command{Use: verb + " CONFIRMATION", Short: short, Args: desk.Words(1, 1)})
	d.Complete(cmd, desk.Question)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rep, err := desk.Ask(cmd.Context(), d.Desk, m, adminwire.ConfirmationRef{Confirmation: args[0]})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, rep, func(c adminwire.Confirmation) { sheet.Decided(d.Out, c) })
	}
	return cmd
}
