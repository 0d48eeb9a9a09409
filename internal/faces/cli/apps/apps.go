// Package apps has the verbs about the applications that may call: apps list, add,
// rotate and disconnect. Tokens are told once, to the terminal or into a file for their
// owner alone. The verbs keep nothing.
package apps

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/argument"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/outlet"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Noun is apps with its verbs.
func Noun(d *desk.Desk) *cobra.Command { return verbs{d}.apps() }

type verbs struct{ *desk.Desk }

func (d verbs) apps() *cobra.Command {
	list := d.WithJSON(&cobra.Command{Use: "list", Short: "list the apps, disconnected ones too", Args: desk.Words(0, 0)})
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := desk.Ask(cmd.Context(), d.Desk, adminwire.AppsList, adminwire.Empty{})
		if err != nil {
			return err
		}
		return desk.Show(d.Desk, all, func(all adminwire.Apps) {
			sheet.Apps(d.Out, all.Apps)
			if i := slices.IndexFunc(all.Apps, sheet.Tokenless); i >= 0 {
				d.Next(sheet.NewTokens(all.Apps[i]))
			}
		})
	}
	gone := &cobra.Command{Use: "disconnect APP", Short: "take everything from an app, at once and for good", Args: desk.Words(1, 1)}
	gone.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := desk.Ask(cmd.Context(), d.Desk, adminwire.AppsDisconnect, adminwire.AppRef{App: args[0]}); err != nil {
			return err
		}
		d.Say("%s is disconnected. Its tokens, grants and open questions have ended.", paper.Line(args[0]))
		return nil
	}
	return d.Noun("apps", "the applications that may call", list, d.addApp(), d.rotate(), d.Complete(gone, desk.App))
}

func (d verbs) addApp() *cobra.Command {
	var expires, tokenFile string
	cmd := d.WithJSON(&cobra.Command{
		Use: "add APP", Short: "make an app, and print its tokens this once", Args: desk.Words(1, 1),
		Long: `Makes an app with one token for /mcp and one for /rpc/v1. They are printed once
and nobody can tell them again. They carry no rights: grants do.`,
		Example: "  steward apps add assistant\n  steward apps add assistant --expires 30d --token-file ./assistant.env",
	})
	tokenFlags(cmd, &expires, &tokenFile)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := argument.Expiry(expires, time.Now())
		if err != nil {
			return err
		}
		add := func(ctx context.Context) (adminwire.AddedApp, error) {
			added, err := desk.Ask(ctx, d.Desk, adminwire.AppsAdd, adminwire.AddApp{Name: args[0], ExpiresAt: at})
			if fault.Is(err, fault.Conflict) {
				err = fault.From(err).With("fix", "steward apps rotate "+paper.Word(args[0])+", for new tokens")
			}
			return added, err
		}
		return d.mint(cmd.Context(), add, tokenFile, false, func(w io.Writer, app adminwire.AddedApp, doors []string) {
			sheet.AddedApp(w, app, doors, tokenFile)
			d.Next("steward grants add " + paper.Word(app.Name) + " RESOURCE METHOD")
		})
	}
	return cmd
}

func (d verbs) rotate() *cobra.Command {
	var expires, tokenFile string
	cmd := d.WithJSON(&cobra.Command{
		Use: "rotate APP", Short: "give an app new tokens, print them this once, and end its old ones", Args: desk.Words(1, 1),
		Long: `Makes a new token for /mcp and one for /rpc/v1 and revokes every other token of the
app in the same step: after a restore, when a token is lost, or when somebody else
may have seen it. Its grants stay as they are. What it has open under an old token
ends. Where steward connect keeps the app's tokens, connect it with --rotate instead.
An earlier --token-file, with nothing but tokens in it, is written anew.`,
		Example: "  steward apps rotate assistant\n  steward apps rotate assistant --expires 30d --token-file ./assistant.env",
	})
	tokenFlags(cmd, &expires, &tokenFile)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := argument.Expiry(expires, time.Now())
		if err != nil {
			return err
		}
		rotate := func(ctx context.Context) (adminwire.AddedApp, error) {
			return desk.Ask(ctx, d.Desk, adminwire.AppsRotate, adminwire.RotateApp{App: args[0], ExpiresAt: at})
		}
		return d.mint(cmd.Context(), rotate, tokenFile, true, func(w io.Writer, app adminwire.AddedApp, doors []string) {
			sheet.RotatedApp(w, app, doors, tokenFile)
			d.Next("steward grants list --app " + paper.Word(app.Name))
		})
	}
	return d.Complete(cmd, desk.App)
}

func tokenFlags(cmd *cobra.Command, expires, tokenFile *string) {
	cmd.Flags().StringVar(expires, "expires", "", "when the tokens end: 30d, 12h or 2027-01-31; never if left out")
	cmd.Flags().StringVar(tokenFile, "token-file", "", "write the tokens into this new file, for you alone, in place of printing them")
}

// mint does all that can fail before the tokens are made, since they are told once.
// Over lets an earlier file of tokens be written anew.
func (d verbs) mint(ctx context.Context, ask func(context.Context) (adminwire.AddedApp, error), tokenFile string, over bool,
	tell func(w io.Writer, app adminwire.AddedApp, doors []string)) error {
	status, err := desk.Ask(ctx, d.Desk, adminwire.HostStatus, adminwire.Empty{})
	if err != nil {
		return err
	}
	var file *os.File
	made := tokenFile
	if tokenFile != "" {
		if over && argument.HoldsTokens(tokenFile) {
			made += ".new" // the old one stays until there is another
		}
		if file, err = argument.NewFile(made); err != nil {
			return err
		}
		defer file.Close()
	}
	added, err := ask(ctx)
	if err != nil {
		if file != nil {
			err = errors.Join(err, os.Remove(made))
		}
		return err
	}
	if file != nil {
		_, err := file.WriteString(sheet.TokenFile(added.Tokens))
		if err = errors.Join(err, file.Sync(), file.Close()); err == nil && made != tokenFile {
			err = os.Rename(made, tokenFile)
		}
		if err != nil {
			return trouble.TokensLost(err, added.ID)
		}
		for i := range added.Tokens {
			added.Tokens[i].Token = ""
		}
	}
	err = desk.Show(d.Desk, added, func(added adminwire.AddedApp) { tell(d.Out, added, status.Listen) })
	if bad := outlet.Missing(d.Out); bad != nil && file == nil {
		return trouble.TokensLost(bad, added.ID)
	}
	return err
}
