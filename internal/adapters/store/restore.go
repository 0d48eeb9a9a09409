package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
	"github.com/stewardhost/steward/internal/means/sqldb/snapshot"
	"github.com/stewardhost/steward/internal/means/vault"
)

const (
	stageFolder    = "restoring"
	replacedFolder = "replaced-"
)

// RestoreOptions are what a restore is told.
type RestoreOptions struct {
	From     string                               // a backup, or any copy of a store's database with its log beside it
	Key      string                               // the backup's root key; empty: the file beside it, else the folder's own
	Replace  bool                                 // put a store that is there aside
	Progress func(step string, done, total int64) // may be nil; counts pages, or is zero
	Now      func() time.Time                     // time.Now if nil
}

// RestoredStore is what a restore did.
type RestoredStore struct {
	view.Restored
	Node     id.Node // the new one
	Replaced string  // folder with the files of the store that was there, if any
	Broken   string  // where the copy's audit trail does not hold; empty where it does
}

// Restore makes a folder's store that of a backup, in a way that revives nothing and
// executes nothing again: tokens are revoked, grants and imported methods need the
// owner's new consent, imported entries and capsules are switched off and have no credential, what was not over is in doubt, and a tx of before the restore
// is refused (pool page, section 11; threats, A32). The store goes on under a new node,
// so that neither the copy nor what was there can be put back unnoticed.
//
// No host may run on the folder: Conflict, with sqldb.ErrLocked under it. A store that
// is there is a Conflict too, unless it is to be replaced; its files are kept in a
// folder of their own. A restore that stops half way leaves the folder as it was, or
// with a store that Open refuses as older until it is restored again.
func Restore(ctx context.Context, dir string, o RestoreOptions) (out RestoredStore, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	there, err := storeIn(dir)
	if err != nil {
		return out, err
	}
	lock, err := lockedfile.Take(filepath.Join(dir, databaseFile))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if there && !o.Replace {
		return out, fault.Newf(fault.Conflict, "there is a store in %s", dir).Because(ErrThere)
	}
	stage := filepath.Join(dir, stageFolder)
	if err := os.RemoveAll(stage); err != nil {
		return out, notRestored(err)
	}
	defer func() { _ = os.RemoveAll(stage) }() // what is left is removed the next time
	if err := os.MkdirAll(filepath.Dir(RootKey(stage)), 0o700); err != nil {
		return out, notRestored(err)
	}
	if out, err = prepare(ctx, dir, stage, o); err != nil {
		return out, err
	}
	if out.Replaced, err = exchange(dir, stage, there); err != nil {
		return out, notRestored(err)
	}
	return out, nil
}

// The causes that a caller of Restore may want to tell apart.
var (
	ErrThere = errors.New("a store is there")
	ErrNoKey = errors.New("the backup's root key is missing")
	ErrKey   = errors.New("the root key is another than the backup's") // or cannot be used
)

// storeIn tells a folder with a store, or with what is left of one, from a fresh one.
func storeIn(dir string) (bool, error) {
	for _, name := range []string{nodeFile, databaseFile} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && info.Size() > 0 {
			return true, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, notRestored(err)
		}
	}
	return false, nil
}

func notRestored(err error) error {
	return fault.New(fault.Unavailable, "the store cannot be restored").Because(err)
}

// prepare makes the whole new store in a folder that nobody looks into.
func prepare(ctx context.Context, dir, stage string, o RestoreOptions) (out RestoredStore, err error) {
	pages := func(done, total int64) { o.Progress("copying", done, total) }
	if err := snapshot.Take(ctx, o.From, filepath.Join(stage, databaseFile), pages); err != nil {
		if errors.Is(err, snapshot.ErrDamaged) {
			err = fault.New(fault.Unavailable, fault.From(err).Text).Because(fmt.Errorf("%w: %w", sqldb.ErrDamaged, err))
		}
		return out, err
	}
	keyed, err := stageKey(dir, stage, o)
	if err != nil {
		return out, err
	}
	s, err := Open(ctx, stage, Options{Now: o.Now})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Adapters(ctx); err != nil {
		return out, keyTrouble(keyed, err)
	}
	o.Progress("checking the trail", 0, 0)
	found, err := s.Verify(ctx, func(done, total int64) { o.Progress("checking the trail", done, total) })
	if err != nil {
		return out, keyTrouble(keyed, err)
	}
	if found.Break != nil {
		out.Broken = fmt.Sprintf("row %d of epoch %d: %s", found.Break.Seq, found.Break.Epoch, found.Break.What)
	} else if len(found.Mismatches) > 0 {
		out.Broken = fmt.Sprintf("%d rows differ from it, the first is %s", len(found.Mismatches), found.Mismatches[0])
	}
	o.Progress("taking rights back", 0, 0)
	if out.Restored, err = s.Holdings.Restore(ctx, "restored from a copy whose trail ends with "+found.Last.String()); err != nil {
		return out, err
	}
	out.Calls, err = s.Journal.Restore(ctx)
	out.Node = s.Node()
	return out, err
}

// keyTrouble tells of sealed values that do not open, and of other errors as they are.
func keyTrouble(keyed bool, err error) error {
	if !errors.Is(err, vault.ErrSealed) {
		return err
	}
	cause, text := ErrNoKey, "name it with --key"
	if keyed {
		cause, text = ErrKey, "name the backup's own with --key"
	}
	return fault.Newf(fault.Unavailable, "%s: %s", cause, text).Because(errors.Join(cause, err))
}

// stageKey puts the key beside the staged store that the backup was sealed with, if
// any is to be had.
func stageKey(dir, stage string, o RestoreOptions) (bool, error) {
	candidates := []string{o.Key}
	if o.Key == "" {
		candidates = []string{o.From + KeySuffix, RootKey(dir)}
	}
	for _, path := range candidates {
		err := copyKey(path, RootKey(stage))
		if errors.Is(err, fs.ErrNotExist) && o.Key == "" {
			continue
		}
		if err != nil {
			return false, fault.New(fault.Unavailable, "the root key cannot be read: "+err.Error()).Because(errors.Join(ErrKey, err))
		}
		if _, err := vault.Open(RootKey(stage)); err != nil {
			return false, fault.New(fault.Unavailable, fault.From(err).Text).Because(errors.Join(ErrKey, err))
		}
		return true, nil
	}
	return false, nil
}

// exchange puts the staged store in the place of what is there. The node's file goes
// first: from then on the old database is refused, until the new one is there with its
// key.
func exchange(dir, stage string, there bool) (replaced string, err error) {
	if there {
		replaced = filepath.Join(dir, replacedFolder+time.Now().UTC().Format("20060102T150405.000Z"))
		if err := os.Mkdir(replaced, 0o700); err != nil {
			return "", err
		}
	}
	if err := os.Mkdir(filepath.Dir(RootKey(dir)), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if there {
		// A copy stays with what it opens, whichever key comes now.
		if err := copyKey(RootKey(dir), filepath.Join(replaced, "root")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	for _, name := range []string{nodeFile, keyFile} {
		to := filepath.Join(dir, name)
		if err := os.Rename(filepath.Join(stage, name), to); err != nil {
			return "", err
		}
		if err := lockedfile.SyncFolder(filepath.Dir(to)); err != nil {
			return "", err
		}
	}
	if err := aside(filepath.Join(dir, nodeFile+ledger.LatestSuffix), ""); err != nil {
		return "", err
	}
	for _, suffix := range []string{"-wal", "-shm", ".fenced", ""} {
		if err := aside(filepath.Join(dir, databaseFile+suffix), replaced); err != nil {
			return "", err
		}
	}
	if there {
		if err := lockedfile.SyncFolder(replaced); err != nil {
			return "", err
		}
	}
	if err := os.Rename(filepath.Join(stage, databaseFile), filepath.Join(dir, databaseFile)); err != nil {
		return "", err
	}
	return replaced, lockedfile.SyncFolder(dir)
}

// aside moves a file, if it is there, into a folder, or removes it where there is
// none: then it is the empty one that a lock leaves in a fresh folder.
func aside(path, folder string) error {
	move := os.Remove
	if folder != "" {
		move = func(path string) error { return os.Rename(path, filepath.Join(folder, filepath.Base(path))) }
	}
	if err := move(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
