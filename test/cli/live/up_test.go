package live_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/test/hosttest"
)

// A host whose doors cannot have their address makes no folder, and a second one on a
// folder is told of the first.
func TestAHostThatCannotListenLeavesNothing(t *testing.T) {
	h := hosttest.Start(t)
	taken := strings.TrimPrefix(h.BaseURL, "http://")
	home := filepath.Join(t.TempDir(), "home")
	refused := typed(t, h, 10, "up", "--data", home, "--listen", taken)
	if !strings.Contains(refused.err, "error: something else listens on "+taken+"\n") || !strings.Contains(refused.err, " up --listen 127.0.0.1:0\n") {
		t.Errorf("%s", refused.err)
	}
	if _, err := os.Stat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if second := typed(t, h, 10, "up", "--listen", taken); !strings.Contains(second.err, "another host runs on") {
		t.Errorf("%s", second.err)
	}
}
