package vault_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/vault"
)

func open(t *testing.T, path string) *vault.Vault {
	t.Helper()
	v, err := vault.Make(path)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestASealedValueOpensInItsPlaceOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "root")
	v := open(t, path)
	at := vault.Place{Table: "invocations", Row: "inv_1", Column: "result"}
	sealed := v.Seal(at, []byte("canary"))
	if bytes.Contains(sealed, []byte("canary")) {
		t.Fatal("the value lies open")
	}
	if again := v.Seal(at, []byte("canary")); bytes.Equal(again, sealed) {
		t.Error("two sealings of a value look alike")
	}
	got, err := open(t, path).Open(at, sealed) // as the next process does
	if err != nil || string(got) != "canary" {
		t.Fatalf("%q, %v", got, err)
	}
	places := []vault.Place{
		{Table: "adapters", Row: at.Row, Column: at.Column}, {Table: at.Table, Row: "inv_2", Column: at.Column},
		{Table: at.Table, Row: at.Row, Column: "detail"}, {Table: at.Table, Row: "inv_1,6:", Column: "result"}, {},
	}
	for _, other := range places {
		if got, err := v.Open(other, sealed); !fault.Is(err, fault.Unavailable) || got != nil {
			t.Errorf("it opens at %+v: %q, %v", other, got, err)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if got, err := v.Open(at, changed); err == nil || got != nil {
			t.Errorf("changed at byte %d it opens as %q", i, got)
		}
		if got, err := v.Open(at, sealed[:i]); i > 0 && (err == nil || got != nil) {
			t.Errorf("cut at byte %d it opens as %q", i, got)
		}
	}
	if _, err := open(t, filepath.Join(t.TempDir(), "root")).Open(at, sealed); err == nil {
		t.Error("it opens under another root")
	}
	if none, err := v.Open(at, v.Seal(at, nil)); err != nil || none != nil {
		t.Errorf("nothing becomes %q, %v", none, err)
	}
}

func TestAnUnsafeOrBrokenKeyIsRefused(t *testing.T) {
	dir := t.TempDir()
	readable, short := filepath.Join(dir, "readable"), filepath.Join(dir, "short")
	open(t, readable)
	if err := os.Chmod(readable, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(short, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Open(readable); !errors.Is(err, vault.ErrUnsafe) {
		t.Errorf("a readable key: %v", err)
	}
	if _, err := vault.Open(short); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a short key: %v", err)
	}
	if _, err := vault.Open(filepath.Join(dir, "none")); !errors.Is(err, vault.ErrMissing) {
		t.Errorf("no key: %v", err)
	}
	good, link := filepath.Join(dir, "good"), filepath.Join(dir, "link")
	open(t, good)
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Make(link); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a link: %v", err)
	}
}

func BenchmarkSealAndOpen(b *testing.B) {
	v, err := vault.Make(filepath.Join(b.TempDir(), "root"))
	if err != nil {
		b.Fatal(err)
	}
	at, value := vault.Place{Table: "t", Row: "r", Column: "c"}, make([]byte, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Open(at, v.Seal(at, value)); err != nil {
			b.Fatal(err)
		}
	}
}
