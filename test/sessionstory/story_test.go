//go:build npm

package sessionstory

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// An independent process, story.mjs, which shares no code with steward, plays the guide's
// verification story with the shipped daemon and a model of its own. STEWARD_STALE
// (300) is how many guests come who do nothing.
func TestTheGuidesStory(t *testing.T) {
	node := os.Getenv("STEWARD_NODE")
	if node == "" {
		t.Fatal("STEWARD_NODE names no Node; scripts/npm-setup finds one")
	}
	cmd := exec.Command(node, "story.mjs", hosttest.Program(t, ""), t.TempDir())
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
