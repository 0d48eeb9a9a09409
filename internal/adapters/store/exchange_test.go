package store

import (
	"os"
	"path/filepath"
	"testing"
)

// An exchange that stops after its first step has exchanged the node's file, so that
// the store that is there is refused; its key stays with it until then.
func TestAnExchangeBeginsWithTheNode(t *testing.T) {
	dir, stage := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{nodeFile, keyFile, databaseFile} {
		write(filepath.Join(dir, name), "old")
	}
	write(filepath.Join(stage, keyFile), "new")
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if _, err := exchange(dir, stage, false); err == nil || read(nodeFile) != "old" || read(keyFile) != "old" {
		t.Errorf("without a node: %v, node %s, key %s", err, read(nodeFile), read(keyFile))
	}
	if err := os.Remove(filepath.Join(stage, keyFile)); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(stage, nodeFile), "new")
	if _, err := exchange(dir, stage, false); err == nil || read(nodeFile) != "new" || read(keyFile) != "old" || read(databaseFile) != "old" {
		t.Errorf("without a key: %v, node %s, key %s", err, read(nodeFile), read(keyFile))
	}
}
