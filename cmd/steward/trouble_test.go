package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/faces/cli/copies"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

func TestWhyAHostDoesNotStart(t *testing.T) {
	private := filepath.Join(t.TempDir(), "my pool")
	shared := filepath.Join(t.TempDir(), "pool")
	for folder, mode := range map[string]os.FileMode{private: 0o700, shared: 0o777} {
		if err := errors.Join(os.Mkdir(folder, mode), os.Chmod(folder, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(private, "steward.db-wal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	linked := t.TempDir()
	if err := os.Symlink("/dev/null", filepath.Join(linked, "steward.db")); err != nil {
		t.Fatal(err)
	}
	down := func(code fault.Code, cause error) error {
		return fmt.Errorf("opening: %w", fault.New(code, "why").Because(fmt.Errorf("deep: %w", cause)))
	}
	another := "steward up --data " + filepath.Join(filepath.Dir(private), "another-folder")
	for name, c := range map[string]struct {
		err    error
		folder string
		want   trouble.Trouble
	}{
		"held": {down(fault.Conflict, sqldb.ErrLocked), private,
			trouble.Trouble{Exit: trouble.Later, What: "another host runs on the folder " + private, Next: "steward status"}},
		"a file of all": {down(fault.Unavailable, sqldb.ErrUnsafe), private,
			trouble.Trouble{Exit: trouble.Unsafe, What: "why", Next: "chmod 600 '" + private + "/steward.db-wal'"}},
		"a link": {down(fault.Unavailable, sqldb.ErrUnsafe), linked, trouble.Trouble{Exit: trouble.Unsafe, What: "why",
			Next: "look at " + linked + "/steward.db, which is no plain file: put the store's own file in its place, or steward up --data " +
				filepath.Join(filepath.Dir(linked), "another-folder")}},
		"another's folder": {down(fault.Unavailable, sqldb.ErrUnsafe), foreign(t), trouble.Trouble{Exit: trouble.Unsafe, What: "why",
			Next: "steward up --data " + filepath.Join(filepath.Dir(foreign(t)), "another-folder")}},
		"a folder of all": {down(fault.Unavailable, sqldb.ErrUnsafe), shared, trouble.Trouble{Exit: trouble.Unsafe, What: "why",
			Next: "chmod 700 " + shared + " if it is yours alone, else steward up --data " + filepath.Join(filepath.Dir(shared), "another-folder")}},
		"newer": {down(fault.Conflict, sqldb.ErrNewer), private,
			trouble.Trouble{Exit: trouble.Failed, What: "why", Next: "run the newer steward that wrote it, or " + another}},
		"changed": {down(fault.Conflict, sqldb.ErrChanged), private,
			trouble.Trouble{Exit: trouble.Failed, What: "why", Next: "run the steward that made it, or " + another}},
		"damaged": {down(fault.Unavailable, sqldb.ErrDamaged), private, trouble.Trouble{Exit: trouble.Failed, What: "why",
			Next: "keep a copy of '" + private + "' as it is, then put a backup in its place, or " + another}},
		"no room": {down(fault.Unavailable, errors.New("disk full")), private,
			trouble.Trouble{Exit: trouble.Failed, What: "why", Next: "mend that, then steward up"}},
	} {
		var got *trouble.Trouble
		if err := whyNot(c.err, c.folder); !errors.As(err, &got) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, *got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	other := errors.New("other")
	if got := whyNot(other, private); !errors.Is(got, other) {
		t.Errorf("another error became %v", got)
	}
	if got := errors.Join(whyNot(nil, private), whyEnded(nil)); got != nil {
		t.Errorf("no error became %v", got)
	}
}

func TestAFencedHostIsStartedAgain(t *testing.T) {
	var got *trouble.Trouble
	if err := whyEnded(fault.New(fault.Unavailable, "the store has stopped")); !errors.As(err, &got) {
		t.Fatal(err)
	}
	want := trouble.Trouble{Exit: trouble.Failed, What: "the store has stopped", Next: "steward up, which checks the whole store first"}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
}

// foreign is a folder that is not this user's.
func foreign(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/"
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("steward-foreign-%d", os.Getpid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	if err := os.Chown(dir, 65_534, 65_534); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What another program listens on is named with the flag that names it.
func TestATakenAddressOfTheMetricsIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := taken.Addr().String()
	_, err = (&parts{}).watched(t.Context(), at, nil, nil)
	want := trouble.New(trouble.Later, "something else listens on "+at+", which --metrics names", "steward up --metrics 127.0.0.1:0")
	if diff := cmp.Diff(want, trouble.OfUp(err, "127.0.0.1:0", "")); diff != "" {
		t.Error(diff)
	}
}

// A backup that is not made, or cannot be put back, says what is in its way and what helps.
func TestWhyACopyIsNotMade(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	s, err := store.Open(t.Context(), home, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := backup(t.Context(), copies.BackupOptions{Data: home, To: filepath.Join(dir, "whole"), Progress: func(string, int64, int64) {}}); err != nil {
		t.Fatal(err)
	}
	for key, what := range map[string]string{
		"none":  "the root key cannot be read: open " + dir + "/none: no such file or directory",
		"whole": "the root key cannot be used: its file is not a key of 32 bytes",
	} {
		_, err := restore(t.Context(), copies.RestoreOptions{Data: filepath.Join(dir, "fresh"), From: filepath.Join(dir, "whole"), Key: filepath.Join(dir, key), Progress: func(string, int64, int64) {}})
		want := trouble.New(trouble.Owner, what, "steward restore "+dir+"/whole --key FILE, the key that the backup was sealed with")
		if diff := cmp.Diff(want, err); diff != "" {
			t.Errorf("%s:\n%s", key, diff)
		}
	}
	there, bare, draft := filepath.Join(dir, "there"), filepath.Join(dir, "none", "b.db"), filepath.Join(dir, "begun")
	if err := errors.Join(os.WriteFile(there, nil, 0o600), os.WriteFile(draft+".draft", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ home, to, what, next string }{
		{home, there, there + " is there already, and is not overwritten", "steward backup " + there + ".2"},
		{home, bare, "the copy cannot be made: there is no folder " + dir + "/none", "mkdir -p " + dir + "/none, then steward backup " + bare},
		{home, draft, "the copy cannot be made: open " + draft + ".draft: file exists", "name a file in another folder: steward backup FILE"},
		{dir, bare, "there is no store in " + dir, "name another folder with --home"},
	} {
		_, err := backup(t.Context(), copies.BackupOptions{Data: c.home, To: c.to, Progress: func(string, int64, int64) {}})
		if diff := cmp.Diff(trouble.New(trouble.Failed, c.what, c.next), err); diff != "" {
			t.Errorf("%s:\n%s", c.to, diff)
		}
	}
}
