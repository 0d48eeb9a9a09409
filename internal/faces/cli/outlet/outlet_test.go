package outlet_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/faces/cli/outlet"
)

type failing struct{ err error }

func (f *failing) Write([]byte) (int, error) { return 0, f.err }

func TestTheFirstLossIsRemembered(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	to := &failing{}
	s := outlet.New(to)
	for _, err := range []error{nil, first, second, nil} {
		to.err = err
		if _, got := s.Write([]byte("x")); got != err {
			t.Errorf("a write gave %v, want %v", got, err)
		}
	}
	if got := outlet.Missing(s); got != first {
		t.Errorf("missing because of %v, want %v", got, first)
	}
	var whole bytes.Buffer
	if err := outlet.Missing(outlet.New(&whole)); err != nil || outlet.Missing(&whole) != nil {
		t.Error("something is missing of what was written")
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, stream := range []any{file, outlet.New(file), outlet.New(&bytes.Buffer{}), nil, "x"} {
		if outlet.Terminal(stream) {
			t.Errorf("%T is taken for a terminal", stream)
		}
	}
}
