package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/argument"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *desk) apps() *cobra.Command {
	list := d.withJSON(&cobra.Command{Use: "list", Short: "list the apps, disconnected ones too", Args: words(0, 0)})
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := ask(cmd.Context(), d, adminwire.AppsList, adminwire.Empty{})
		if err != nil {
			return err
		}
		return show(d, all, func(all adminwire.Apps) { sheet.Apps(d.out, all.Apps) })
	}
	gone := &cobra.Command{Use: "disconnect APP", Short: "take everything from an app, at once and for good", Args: words(1, 1)}
	gone.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := ask(cmd.Context(), d, adminwire.AppsDisconnect, adminwire.AppRef{App: args[0]}); err != nil {
			return err
		}
		d.say("%s is disconnected. Its tokens, grants and open questions have ended.", paper.Line(args[0]))
		return nil
	}
	return d.noun("apps", "the applications that may call", list, d.addApp(), gone)
}

func (d *desk) addApp() *cobra.Command {
	var expires, tokenFile string
	cmd := d.withJSON(&cobra.Command{
		Use: "add APP", Short: "make an app, and print its tokens this once", Args: words(1, 1),
		Long: `Makes an app with one token for /mcp and one for /rpc/v1. They are printed once
and nobody can tell them again. They carry no rights: grants do.`,
		Example: "  steward apps add assistant\n  steward apps add assistant --expires 30d --token-file ./assistant.env",
	})
	cmd.Flags().StringVar(&expires, "expires", "", "when the tokens end: 30d, 12h or 2027-01-31; never if left out")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "write the tokens into this new file, for you alone, in place of printing them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := argument.Expiry(expires, time.Now())
		if err != nil {
			return err
		}
		return d.runAddApp(cmd.Context(), adminwire.AddApp{Name: args[0], ExpiresAt: at}, tokenFile)
	}
	return cmd
}

// runAddApp does all that can fail before the tokens are made, since they are
// told once.
func (d *desk) runAddApp(ctx context.Context, req adminwire.AddApp, tokenFile string) error {
	status, err := ask(ctx, d, adminwire.HostStatus, adminwire.Empty{})
	if err != nil {
		return err
	}
	var file *os.File
	if tokenFile != "" {
		if file, err = argument.NewFile(tokenFile); err != nil {
			return err
		}
		defer file.Close()
	}
	added, err := ask(ctx, d, adminwire.AppsAdd, req)
	if err != nil {
		if file != nil {
			err = errors.Join(err, os.Remove(tokenFile))
		}
		return err
	}
	if file != nil {
		_, err := file.WriteString(sheet.TokenFile(added.Tokens))
		if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
			return trouble.TokensLost(err, added.ID)
		}
		for i := range added.Tokens {
			added.Tokens[i].Token = ""
		}
	}
	err = show(d, added, func(added adminwire.AddedApp) {
		sheet.AddedApp(d.out, added, status.Listen, tokenFile)
		d.next("steward grants add " + paper.Word(added.Name) + " RESOURCE METHOD")
	})
	if bad := outlet.Missing(d.out); bad != nil && file == nil {
		return trouble.TokensLost(bad, added.ID)
	}
	return err
}
