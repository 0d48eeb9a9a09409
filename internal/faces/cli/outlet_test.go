package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

// full is a stream that takes so many bytes and then no more.
type full struct{ room int }

var errNoRoom = errors.New("no room on the device")

func (f *full) Write(b []byte) (int, error) {
	if f.room < len(b) {
		return 0, errNoRoom
	}
	f.room -= len(b)
	return len(b), nil
}

// What was to be printed and was not is a failure, whatever form it had.
func TestNothingIsLostInSilence(t *testing.T) {
	for _, args := range []string{"version", "version --json", "--help", "apps --help", "exit-codes"} {
		for _, room := range []int{0, 10} {
			var stderr bytes.Buffer
			words := append([]string{"--home", t.TempDir()}, strings.Fields(args)...)
			code := Run(context.Background(), Host{Version: "1"}, words, strings.NewReader(""), &full{room}, &stderr)
			if code != trouble.Failed || !strings.Contains(stderr.String(), errNoRoom.Error()) || strings.Count(stderr.String(), "\n") != 2 {
				t.Errorf("%s with room for %d bytes: exit code %d, %q", args, room, code, stderr.String())
			}
		}
	}
}
