package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stewardhost/steward/cmd/steward/buswing"
	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/faces/cli/copies"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/settings"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// backup copies the store of a folder, whether a host runs on it or not.
func backup(ctx context.Context, o copies.BackupOptions) (copies.Backup, error) {
	b, err := store.Backup(ctx, o.Data, o.To, o.WithKey, func(done, total int64) { o.Progress("copying", done, total) })
	if err != nil {
		return copies.Backup{}, whyNoCopy(err, o)
	}
	return copies.Backup{File: b.File, Bytes: b.Bytes, SHA256: b.SHA256, Key: b.KeyFile, At: b.At, BusKeys: buswing.Keyed(o.Data)}, nil
}

// whyNoCopy is told of a backup that was not made.
func whyNoCopy(err error, o copies.BackupOptions) error {
	another := "steward backup " + paper.Word(o.To+".2")
	folder := filepath.Dir(o.To)
	what := fault.From(err).Text
	var file *fs.PathError
	switch {
	case fault.Is(err, fault.NotFound):
		return trouble.New(trouble.Failed, what, "name another folder with --home")
	case fault.Is(err, fault.Conflict) && isThere(o.To):
		return trouble.New(trouble.Failed, what, another)
	case !isThere(folder):
		return trouble.New(trouble.Failed, what+": there is no folder "+folder, "mkdir -p "+paper.Word(folder)+", then steward backup "+paper.Word(o.To))
	case errors.As(err, &file) && filepath.Dir(file.Path) == folder && isThere(o.To+store.KeySuffix):
		return trouble.New(trouble.Failed, what+": "+file.Error(), another+" --with-key")
	case errors.As(err, &file) && filepath.Dir(file.Path) == folder:
		return trouble.New(trouble.Failed, what+": "+file.Error(), "name a file in another folder: steward backup FILE")
	}
	return whyNot(err, o.Data)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// restore makes a backup the store of a folder on which no host runs.
func restore(ctx context.Context, o copies.RestoreOptions) (copies.Restore, error) {
	r, err := store.Restore(ctx, o.Data, store.RestoreOptions{From: o.From, Key: o.Key, Replace: o.Replace, Progress: o.Progress})
	switch {
	case errors.Is(err, store.ErrThere):
		return copies.Restore{}, trouble.New(trouble.Owner, fault.From(err).Text, "steward restore "+paper.Word(o.From)+" --replace, which keeps it aside")
	case errors.Is(err, store.ErrNoKey):
		return copies.Restore{}, trouble.New(trouble.Owner, fault.From(err).Text, "steward restore "+paper.Word(o.From)+" --key FILE")
	case errors.Is(err, store.ErrKey):
		return copies.Restore{}, trouble.New(trouble.Owner, fault.From(err).Text, "steward restore "+paper.Word(o.From)+" --key FILE, the key that the backup was sealed with")
	case errors.Is(err, sqldb.ErrLocked):
		return copies.Restore{}, trouble.New(trouble.Later, "a host runs on the folder "+o.Data, "stop it, then restore")
	case errors.Is(err, sqldb.ErrDamaged), errors.Is(err, sqldb.ErrNewer), errors.Is(err, sqldb.ErrChanged):
		return copies.Restore{}, trouble.New(trouble.Failed, "the backup cannot be used: "+fault.From(err).Text, "restore another one, with the steward that made it or a newer one")
	case err != nil:
		return copies.Restore{}, whyNot(err, o.Data)
	}
	out := copies.Restore{At: r.At, Node: r.Node.String(), Tokens: r.Tokens, Grants: r.Grants, Methods: r.Methods, Servers: r.Entries, SignIns: r.Credentials, Questions: r.Questions,
		Capsules: []copies.Capsule{}, Indeterminate: r.Calls, Trail: "ok", Replaced: r.Replaced}
	for _, one := range r.Capsules {
		c, err := buswing.Page(one).Parse()
		if err != nil { // the host says so too
			out.Capsules = append(out.Capsules, copies.Capsule{Name: one.Name, Install: "steward capsule list"})
			continue
		}
		off := copies.Capsule{Name: c.Name, Install: sheet.Install(c.Folder, c.Name, c.Args)}
		for _, folder := range append([]string{c.Folder}, c.Args...) {
			if _, err := os.Stat(folder); folder != "" && errors.Is(err, fs.ErrNotExist) {
				off.Missing = folder
			}
		}
		out.Capsules = append(out.Capsules, off)
	}
	if values, err := settings.Load(o.Data, nil, os.LookupEnv); err == nil && !buswing.Keyed(o.Data) {
		out.BusServers = values.Text(settings.NATSURL)
	}
	if r.Broken != "" {
		out.Trail = r.Broken
	}
	return out, nil
}
