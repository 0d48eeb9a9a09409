package resources

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// signIn is what authorize was told.
type signIn struct {
	adminwire.SignIn
	secretOf string // the variable that has the client's secret
	linkOnly bool
	wait     bool
}

func (d verbs) authorize() *cobra.Command {
	var s signIn
	cmd := d.WithJSON(&cobra.Command{
		Use: "authorize SERVER", Short: "let steward in to a remote server that others guard", Args: desk.Words(1, 1),
		Long: `Finds out who guards the server, prints the link at which you say yes, and waits
on this machine until your browser has come back. What steward gets for it is kept
sealed, renewed by itself, and sent to that one server only. A server that is not
imported yet needs its --url.`,
		Example: "  steward resources authorize tools\n  steward resources authorize tools --url https://tools.example/mcp",
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Server = args[0]
			return d.runAuthorize(cmd.Context(), s)
		},
	})
	f := cmd.Flags()
	f.StringVar(&s.URL, "url", "", "the address of a server that is not imported yet")
	f.StringVar(&s.Exception, "except", "", "`ORIGIN=NETWORK` that is not public and may be reached all the same, as for import")
	f.StringVar(&s.Client, "client-id", "", "the client that you registered there by hand")
	f.StringVar(&s.secretOf, "client-secret-env", "", "the `VARIABLE` that has that client's secret")
	f.StringSliceVar(&s.Scopes, "scope", nil, "what to ask for beside what the server names; may stand several times")
	f.BoolVar(&s.linkOnly, "link-only", false, "print the link and do not wait; the host waits all the same")
	f.BoolVar(&s.wait, "wait", false, "wait for a link that was printed before, and print none")
	return cmd
}

func (d verbs) runAuthorize(ctx context.Context, s signIn) error {
	if s.secretOf != "" {
		value, ok := os.LookupEnv(s.secretOf)
		if !ok || s.Client == "" {
			return trouble.UsageOf("steward resources authorize --help", "--client-secret-env names a variable that is set, and goes with --client-id")
		}
		s.Secret = value
	}
	if s.wait {
		return d.signedIn(ctx, s)
	}
	link, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesAuthorize, s.SignIn)
	if err != nil {
		return err
	}
	if s.linkOnly {
		return desk.Show(d.Desk, link, d.told)
	}
	if link.Former != "" {
		d.Note("another party guards it now: %s, and no longer %s. Go on only if that is meant.", paper.Line(link.Issuer), paper.Line(link.Former))
	}
	d.Note("%s asks you at this link, until %s: %s", paper.Line(link.Issuer), paper.Stamp(link.Until), link.Link)
	return d.signedIn(ctx, s)
}

// signedIn waits until the owner has said yes.
func (d verbs) signedIn(ctx context.Context, s signIn) error {
	for {
		got, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesAuthorized, adminwire.ServerRef{Server: s.Server})
		switch {
		case err != nil:
			return err
		case !got.Done:
			continue
		}
		return desk.Show(d.Desk, got, func(got adminwire.SignedIn) {
			d.Say("steward is let in to %s.", paper.Line(s.Server))
			if !got.Imported {
				d.Next(strings.TrimSpace("steward import " + paper.Word(s.URL) + " --name " + paper.Word(s.Server) + exceptFlag(s.Exception)))
			}
		})
	}
}

func exceptFlag(exception string) string {
	if exception == "" {
		return ""
	}
	return " --except " + paper.Word(exception)
}

func (d verbs) told(link adminwire.SignInLink) {
	if link.Former != "" {
		d.Say("Another party guards it now: %s, and no longer %s.", paper.Line(link.Issuer), paper.Line(link.Former))
	}
	d.Say("%s", link.Link)
}
