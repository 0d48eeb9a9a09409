package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/faces/cli"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/ownership"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/vault"
)

// upOrWhyNot is up with the troubles of its store as a person can mend them.
func upOrWhyNot(ctx context.Context, o cli.UpOptions) error {
	started, ready := false, o.Ready
	o.Ready = func(d cli.Doors) { started = true; ready(d) }
	err := up(ctx, o)
	if started {
		return whyEnded(err)
	}
	return whyNot(err, o.Data)
}

// whyEnded is told of a host that ended by itself. What is unavailable then is its
// store, which accepts nothing after a doubt about the disk.
func whyEnded(err error) error {
	if !fault.Is(err, fault.Unavailable) {
		return err
	}
	return trouble.New(trouble.Failed, fault.From(err).Text, "steward up, which checks the whole store first")
}

// whyNot is told of a host that did not start.
func whyNot(err error, folder string) error {
	if err == nil {
		return nil
	}
	what := err.Error()
	var f *fault.Fault
	if errors.As(err, &f) {
		what = f.Text
	}
	another := "steward up --data " + paper.Word(filepath.Join(filepath.Dir(folder), "another-folder"))
	switch {
	case errors.Is(err, sqldb.ErrLocked):
		return trouble.New(trouble.Later, "another host runs on the folder "+folder, "steward status")
	case errors.Is(err, sqldb.ErrUnsafe):
		return trouble.New(trouble.Unsafe, what, mode(folder, another))
	case errors.Is(err, vault.ErrMissing):
		return trouble.New(trouble.Owner, what, "put "+paper.Word(store.RootKey(folder))+" back")
	case errors.Is(err, vault.ErrUnsafe):
		return trouble.New(trouble.Unsafe, what, "chmod 600 "+paper.Word(store.RootKey(folder)))
	case errors.Is(err, store.ErrOlder):
		return trouble.New(trouble.Owner, what, "put the newest copy of "+paper.Word(folder)+" back, whole, or take a backup with steward restore FILE --replace")
	case errors.Is(err, sqldb.ErrNewer):
		return trouble.New(trouble.Failed, what, "run the newer steward that wrote it, or "+another)
	case errors.Is(err, sqldb.ErrChanged):
		return trouble.New(trouble.Failed, what, "run the steward that made it, or "+another)
	case errors.Is(err, sqldb.ErrDamaged):
		return trouble.New(trouble.Failed, what, "keep a copy of "+paper.Word(folder)+" as it is, then put a backup in its place, or "+another)
	case fault.Is(err, fault.Unavailable):
		return trouble.New(trouble.Failed, what, "mend that, then steward up")
	}
	return err
}

// mode is how the owner makes a folder and the files in it private: what mends them
// depends on whose they are and on what they are.
func mode(folder, another string) string {
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return another
	case !ownership.Mine(info):
		return another
	case info.Mode().Perm()&0o022 != 0:
		return "chmod 700 " + paper.Word(folder) + " if it is yours alone, else " + another
	}
	var open []string
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		path := filepath.Join(folder, "steward.db"+suffix)
		info, err := os.Lstat(path)
		switch {
		case err != nil:
		case !info.Mode().IsRegular():
			return "look at " + paper.Word(path) + ", which is no plain file: put the store's own file in its place, or " + another
		case !ownership.Mine(info):
			return "look at " + paper.Word(path) + ", which is another user's: have it given to this user with chown, or " + another
		case info.Mode().Perm()&0o077 != 0:
			open = append(open, paper.Word(path))
		}
	}
	if len(open) == 0 {
		return another
	}
	return "chmod 600 " + strings.Join(open, " ")
}
