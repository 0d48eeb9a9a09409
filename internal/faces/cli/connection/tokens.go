package connection

import (
	"context"
	"errors"
	"io/fs"
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
// are told once, so that a file for them is made first, under another name; it
// takes the place of one that is there whole, and only where that is empty or to be
// replaced. Who is killed before leaves path as it was.
func keepTokens(path string, replacing bool, mint func() (adminwire.AddedApp, error)) error {
	file, err := openTokens(filepath.Dir(path))
	if err != nil {
		return trouble.New(trouble.Failed, err.Error(), "mend that, then connect again")
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }() // it is at path by then
	made, err := mint()
	if err != nil {
		return err
	}
	_, err = file.WriteString(sheet.TokenFile(made.Tokens))
	if err := errors.Join(err, file.Sync(), settle(file.Name(), path, replacing)); err != nil {
		return trouble.TokensLost(err, made.ID)
	}
	return nil
}

func openTokens(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, ".tokens-*")
}

// settle gives a file its name, which nobody else may have taken meanwhile.
func settle(fresh, path string, replacing bool) error {
	if replacing {
		return os.Rename(fresh, path)
	}
	if info, err := os.Lstat(path); err == nil && info.Size() == 0 {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if err := os.Link(fresh, path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(fresh, path) // not every disk has links
}
