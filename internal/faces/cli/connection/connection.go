// Package connection has the verbs that join a client of the owner to the host:
// connect, which writes the client's own configuration file, and mcp serve, the
// bridge that the client then starts (faces page, section 1).
//
// A token is never in an argument list and never in a client's file: it is in a
// file of its own below the data folder that nobody else can read. A client's file
// is changed in one entry, with a copy of what it was beside it. The verbs keep
// nothing.
package connection

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/bridge"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/socket"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/means/ownership"
)

type verbs struct{ *desk.Desk }

// MCP is mcp with its verb.
func MCP(d *desk.Desk) *cobra.Command { return verbs{d}.mcp() }

func (d verbs) mcp() *cobra.Command {
	var app, tokenFile string
	serve := &cobra.Command{
		Use: "serve --app APP", Short: "join a client on standard streams to the running host", Args: desk.Words(0, 0),
		Long: `Speaks MCP on its standard streams, as clients want it of a server that they
start, and passes everything on to the running host. The token of the app is read
from its file, which steward connect makes. It ends with its input.`,
		Example: "  steward mcp serve --app assistant",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.serve(cmd.Context(), app, tokenFile)
		},
	}
	serve.Flags().StringVar(&app, "app", "", "the app that the client is")
	serve.Flags().StringVar(&tokenFile, "token-file", "", "a file with its token, if steward connect did not make it; apps add --token-file writes one")
	d.CompleteFlag(serve, "app", desk.App)
	return d.Noun("mcp", "join a client that starts its servers itself", serve)
}

func (d verbs) serve(ctx context.Context, app, tokenFile string) error {
	if (app == "") == (tokenFile == "") {
		return trouble.UsageOf("steward apps list", "name the app with --app, or its --token-file")
	}
	home, err := d.Home()
	if err != nil {
		return err
	}
	if tokenFile == "" {
		tokenFile = TokenFile(home, app)
	}
	token, err := readToken(tokenFile, app)
	if err != nil {
		return err
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		path := desk.Socket(home)
		if err := socket.Check(path); err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	switch conn, err := dial(ctx); {
	case errors.Is(err, socket.ErrUnsafe):
		return trouble.New(trouble.Unsafe, err.Error(), "look who owns "+filepath.Dir(desk.Socket(home)))
	case err != nil:
		return trouble.New(trouble.Later, "no host is running here", "steward up")
	default:
		_ = conn.Close() // it was a look
	}
	if err := bridge.Run(ctx, d.In, d.Out, bridge.Options{Dial: dial, Token: token, Parent: os.Getppid}); err != nil {
		return trouble.New(trouble.Failed, "the client does not listen: "+err.Error(), "start it again")
	}
	return nil
}

// TokenFile is where connect keeps an app's tokens.
func TokenFile(home, app string) string {
	return filepath.Join(home, "tokens", url.PathEscape(app)+".env")
}

// tokenName is the variable of a file of tokens that holds the one for /mcp.
const tokenName = "STEWARD_MCP_TOKEN"

// mostToken bounds a file of tokens.
const mostToken = 4096

// readToken reads the token for /mcp of a file that only this user can read. The
// file has it by name, as apps add writes it, or is the token.
func readToken(path, app string) (secret.Secret, error) {
	none := secret.Secret{}
	connect := "steward connect CLIENT --app " + paper.Word(app)
	if app == "" {
		connect = "steward apps add APP --token-file FILE"
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return none, trouble.New(trouble.Unknown, "there is no token at "+path, connect)
	case err != nil:
		return none, trouble.New(trouble.Failed, err.Error(), connect)
	case !private(info):
		return none, trouble.New(trouble.Unsafe, "others can read or exchange the token at "+path, "chmod 600 "+paper.Word(path))
	case info.Size() == 0: // as one that was killed before it had tokens has left it
		return none, trouble.New(trouble.Unknown, "there is no token in "+path, connect)
	case info.Size() > mostToken:
		return none, trouble.New(trouble.Failed, path+" is too long for a file of tokens", connect)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return none, trouble.New(trouble.Failed, err.Error(), connect)
	}
	found := strings.TrimSpace(string(raw))
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), tokenName+"="); ok {
			found = value
		}
	}
	token := secret.Of(found)
	if _, ok := secret.HashToken(secret.Access, token); !ok {
		return none, trouble.New(trouble.Failed, path+" holds no token", connect)
	}
	return token, nil
}

// private reports whether a file is this user's own and nobody else's to read.
func private(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 && ownership.Mine(info)
}
