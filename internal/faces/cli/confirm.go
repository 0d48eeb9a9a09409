package cli

import (
	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *desk) confirm() *cobra.Command {
	var all bool
	list := d.withJSON(&cobra.Command{Use: "list", Short: "list the calls that wait for your yes, with all that they would send", Args: words(0, 0)})
	list.Flags().BoolVar(&all, "all", false, "decided ones too")
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		rep, err := ask(cmd.Context(), d, adminwire.ConfirmList, adminwire.ListConfirmations{All: all})
		if err != nil {
			return err
		}
		return show(d, rep, func(rep adminwire.Confirmations) {
			if len(rep.Confirmations) == 0 {
				d.say("No call waits for your yes.")
			}
			for _, c := range rep.Confirmations {
				sheet.Confirmation(d.out, c)
				if c.State == "open" {
					d.next("steward confirm approve " + c.ID)
				}
			}
		})
	}
	yes := d.decide("approve", "let exactly this call through, once, within the next minutes", adminwire.ConfirmApprove)
	no := d.decide("deny", "refuse the call", adminwire.ConfirmDeny)
	return d.noun("confirm", "calls that wait for your fresh yes", list, yes, no)
}

func (d *desk) decide(verb, short string, m adminwire.Method[adminwire.ConfirmationRef, adminwire.Confirmation]) *cobra.Command {
	cmd := d.withJSON(&cobra.Command{Use: verb + " CONFIRMATION", Short: short, Args: words(1, 1)})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rep, err := ask(cmd.Context(), d, m, adminwire.ConfirmationRef{Confirmation: args[0]})
		if err != nil {
			return err
		}
		return show(d, rep, func(c adminwire.Confirmation) { sheet.Decided(d.out, c) })
	}
	return cmd
}
