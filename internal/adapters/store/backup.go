package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
	"github.com/stewardhost/steward/internal/means/sqldb/snapshot"
)

// KeySuffix is what the file of a backup's root key has behind the backup's name.
const KeySuffix = ".key"

// Copied is a backup that was made.
type Copied struct {
	File    string
	Bytes   int64
	SHA256  string
	KeyFile string // empty where the root key was left out
	At      time.Time
}

// Backup copies the store of a folder to a new file, with the root key beside it only
// where that is asked for. A host may run on the folder; where none does, the store is
// opened for it, so that what a killed host left is checked first. Progress, which may
// be nil, is told of pages. Faults are those of Open and of snapshot.Take.
func Backup(ctx context.Context, dir, to string, withKey bool, progress func(done, total int64)) (out Copied, err error) {
	database := filepath.Join(dir, databaseFile)
	if info, err := os.Stat(database); err != nil || info.Size() == 0 {
		return out, fault.New(fault.NotFound, "there is no store in "+dir).Because(err)
	}
	s, err := Open(ctx, dir, Options{})
	switch {
	case errors.Is(err, sqldb.ErrLocked): // a host has it open
	case err != nil:
		return out, err
	default:
		defer func() { err = errors.Join(err, s.Close()) }()
	}
	out = Copied{File: to, At: time.Now().UTC().Truncate(time.Millisecond)}
	if err := snapshot.Take(ctx, database, to, progress); err != nil {
		return out, err
	}
	if out.Bytes, out.SHA256, err = sumOf(to); err != nil {
		return out, notCopied(err)
	}
	if withKey {
		out.KeyFile = to + KeySuffix
		if err := copyKey(RootKey(dir), out.KeyFile); err != nil {
			return out, notCopied(err)
		}
	}
	return out, nil
}

func notCopied(err error) error {
	return fault.New(fault.Unavailable, "the copy cannot be made").Because(err)
}

// RootKey is the file of a folder's root key.
func RootKey(dir string) string { return filepath.Join(dir, keyFile) }

const keyFile = "keys/root"

func sumOf(path string) (int64, string, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	return n, hex.EncodeToString(sum.Sum(nil)), err
}

// copyKey makes a new file of mode 0600 in a folder that is there.
func copyKey(from, to string) error {
	source, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer source.Close()
	raw, err := io.ReadAll(io.LimitReader(source, keyFileMax))
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = target.Write(raw)
	return errors.Join(err, target.Sync(), target.Close(), lockedfile.SyncFolder(filepath.Dir(to)))
}

const keyFileMax = 4096 // bytes; the vault refuses every other size than its own
