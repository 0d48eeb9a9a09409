package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
	"github.com/stewardhost/steward/internal/means/sqldb/logfile"
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

// takeOver readies what the last process left. If that has put up its fence, the
// whole database is checked. In any case the log is brought into the main file:
// after a failed fsync the kernel shows pages of the log that are not on the
// disk, and nothing may be written behind them.
func takeOver(ctx context.Context, path string, s *session) error {
	note, err := os.ReadFile(path + fenceSuffix)
	fenced := !errors.Is(err, fs.ErrNotExist)
	if fenced && err != nil {
		return unusable("the note of its last failure cannot be read", err)
	}
	if fenced {
		if err := checkIntegrity(ctx, s.conn); err != nil {
			return damaged("it is damaged since its last failure; restore a backup", fmt.Errorf("%w; %s", err, note))
		}
	}
	if _, err := runCheckpoint(s.conn, checkpointFinal); judge(err, false) == fatal {
		return unreadable("what its last process wrote cannot be recovered", err)
	}
	if err := s.control(beginWrite); err != nil {
		return unusable("another program holds its write lock", err)
	}
	// The engine flushes the log's folder too, and drops the error.
	if err := errors.Join(logfile.Reserve(path+logSuffix), lockedfile.SyncFolder(filepath.Dir(path)), s.control(rollback)); err != nil {
		return unusable("its log cannot be made", err)
	}
	if fenced {
		if err := os.Remove(path + fenceSuffix); err != nil {
			return unusable("the note of its last failure cannot be removed", err)
		}
	}
	return nil
}
