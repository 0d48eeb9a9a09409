package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// fence is up from the first sign that durability is in doubt until the process
// ends. It leaves a note beside the database, if it still can, so that the next
// start checks the whole file.
type fence struct {
	path  string
	cause atomic.Pointer[fault.Fault]
	up    chan struct{}
}

const fenceSuffix = ".fenced"

// raise puts the fence up, unless it is, and returns the fault of those whose
// work is hit by this cause.
func (f *fence) raise(what string, cause error) *fault.Fault {
	hit := fault.Newf(fault.Unavailable, "the store has stopped to accept writes: %s", what).Because(cause)
	later := hit
	if errors.Is(cause, ErrUnknown) {
		// Those that come later are not in doubt: nothing of them is written.
		later = fault.New(hit.Code, hit.Text).Because(errors.New(cause.Error()))
	}
	if f.cause.CompareAndSwap(nil, later) {
		_ = os.WriteFile(f.path+fenceSuffix, []byte(cause.Error()+"\n"), 0o600)
		close(f.up)
	}
	return hit
}

func (f *fence) fault() *fault.Fault { return f.cause.Load() }

// checkAfterFence walks the whole database if the last process left a note, and
// removes the note if all is well.
func checkAfterFence(ctx context.Context, path string, conn *sql.Conn) error {
	note, err := os.ReadFile(path + fenceSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unusable("the note of its last failure cannot be read", err)
	}
	if err := checkIntegrity(ctx, conn); err != nil {
		return unusable("it is damaged since its last failure; restore a backup", errors.Join(err, errors.New(string(note))))
	}
	if err := os.Remove(path + fenceSuffix); err != nil {
		return unusable("the note of its last failure cannot be removed", err)
	}
	return nil
}
