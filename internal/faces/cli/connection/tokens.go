package connection

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// ensureApp makes the app where it is not there, and its tokens where their file is
// not or where they are to be new ones. Tokens that may still be in use elsewhere are
// ended only if the owner says so.
func (d verbs) ensureApp(ctx context.Context, c connecting, j *joined) error {
	_, err := readToken(j.TokenFile, j.App)
	var t *trouble.Trouble
	if missing := errors.As(err, &t) && t.Exit == trouble.Unknown; !missing && !c.rotate {
		return err
	}
	all, err := desk.Ask(ctx, d.Desk, adminwire.AppsList, adminwire.Empty{})
	if err != nil {
		return err
	}
	there := slices.ContainsFunc(all.Apps, func(a adminwire.App) bool { return a.Connected && a.Name == j.App })
	if there && !c.rotate {
		return trouble.New(trouble.Owner,
			"there is an app "+paper.Word(j.App)+", and its token is not at "+j.TokenFile+"; --rotate makes a new one and ends all others",
			"steward connect "+j.Client+appFlag(c)+" --write --rotate")
	}
	if there {
		err = keepTokens(j.TokenFile, true, func() (adminwire.AddedApp, error) {
			return desk.Ask(ctx, d.Desk, adminwire.AppsRotate, adminwire.RotateApp{App: j.App})
		})
		j.Rotated = err == nil
		return err
	}
	err = keepTokens(j.TokenFile, c.rotate, func() (adminwire.AddedApp, error) {
		return desk.Ask(ctx, d.Desk, adminwire.AppsAdd, adminwire.AddApp{Name: j.App})
	})
	j.AppAdded = err == nil
	return err
}

// keepTokens writes what mint makes into the file at path, for this user alone. Tokens
// are told once, so that the file for them is made first. One that is there is kept
// unless it is to be replaced; then it is replaced whole, and only by new tokens.
func keepTokens(path string, replacing bool, mint func() (adminwire.AddedApp, error)) error {
	file, err := openTokens(path, replacing)
	if err != nil {
		return trouble.New(trouble.Failed, err.Error(), "mend that, then connect again")
	}
	defer file.Close()
	made, err := mint()
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	_, err = file.WriteString(sheet.TokenFile(made.Tokens))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil && file.Name() != path {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return trouble.TokensLost(errors.Join(err, os.Remove(file.Name())), made.ID)
	}
	return nil
}

func openTokens(path string, replacing bool) (*os.File, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if replacing {
		return os.CreateTemp(dir, ".tokens-*")
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
