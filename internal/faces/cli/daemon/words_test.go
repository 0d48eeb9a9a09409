package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

// A daemon that ends at once has said why; a crash is its last line.
func TestTheLastWordsOfADaemon(t *testing.T) {
	log := filepath.Join(t.TempDir(), "daemon.log")
	look := "look into " + log
	for _, c := range []struct{ text, what, next string }{
		{"error: old\nnext: old\ntime=1 msg=x\nerror: no such model\nnext: see the page\n", "the daemon ended at once: no such model", "see the page"},
		{"error: old\nnext: old\npanic: \x1b[1mx\n", `the daemon ended at once: panic: \u{1b}[1mx`, look},
		{strings.Repeat("x", 2*lastBytes) + "\nerror: new\nnext: y", "the daemon ended at once: new", "y"},
		{"next: y", "the daemon ended at once: next: y", look},
		{"", "the daemon ended at once", look},
	} {
		if err := os.WriteFile(log, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trouble.New(trouble.Unsafe, c.what, c.next), lastWords(trouble.Unsafe, log)); diff != "" {
			t.Error(diff)
		}
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trouble.New(trouble.Failed, "the daemon ended at once", look), lastWords(trouble.Failed, log)); diff != "" {
		t.Error(diff)
	}
}
