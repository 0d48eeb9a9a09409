package unixsocket

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

// One endpoint a workspace and state root, however they are spelled, and another
// for any other pair.
func TestAnEndpointIsOfWorkspaceAndStateRoot(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"w", "s"} {
		if err := os.Mkdir(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "w"), filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	at := func(workspace, stateRoot string) string {
		t.Helper()
		e, err := Locate(filepath.Join(home, workspace), filepath.Join(home, stateRoot), "/run/user/1")
		if err != nil {
			t.Fatal(err)
		}
		return e.Socket()
	}
	same := at("w", "s")
	if !regexp.MustCompile(`^/run/user/1/steward/[0-9a-f]{32}\.sock$`).MatchString(same) {
		t.Error(same)
	}
	if at("link", "s") != same || at("w/../w/.", "s") != same {
		t.Error("another spelling is another endpoint")
	}
	if at("s", "w") == same || at("w", "w") == same {
		t.Error("two pairs have one endpoint")
	}
	if _, err := Locate(filepath.Join(home, "none"), home, ""); err == nil {
		t.Error("a workspace that is not there has an endpoint")
	}
}

// A folder whose path is no text has no endpoint: what the daemon says names it.
func TestAnEndpointHasPathsOfText(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a\xff")
	if err := os.Mkdir(folder, 0o700); errors.Is(err, syscall.EILSEQ) {
		return // this file system has text only
	} else if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{folder, t.TempDir()}, {t.TempDir(), folder}} {
		if _, err := Locate(pair[0], pair[1], ""); err == nil {
			t.Errorf("%q has an endpoint", pair)
		}
	}
}
