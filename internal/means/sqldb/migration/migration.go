// Package migration reads the history of a schema, as a binary carries it, and
// compares it with the history that a database remembers.
//
// It promises that what Missing returns continues exactly the history that the
// database has seen, and that a history which was edited, has a gap or goes on
// further than ours is refused. It does not run anything. Values are immutable.
// Faults: Internal for a tree that is no history, which is a bug of the binary;
// Conflict, with ErrNewer or ErrChanged under it, for a database of another
// history.
package migration

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// The causes of Conflict.
var (
	ErrNewer   = errors.New("the database was written by a newer steward")
	ErrChanged = errors.New("the database was made by other migrations")
)

// Migration is one file of the history. Once released it is never edited: the
// database remembers its digest.
type Migration struct {
	Version int64  // from 1, without a gap
	Name    string // of the file
	Digest  string // SHA-256 of the file, in hex
	Script  string // empty in what a database remembers
}

var fileName = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// Read reads the files NNNN_name.sql at the root of a tree, which holds nothing
// else.
func Read(tree fs.FS) ([]Migration, error) {
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		return nil, fault.From(err)
	}
	var list []Migration
	for _, entry := range entries {
		parts := fileName.FindStringSubmatch(entry.Name())
		if parts == nil {
			return nil, fault.From(fmt.Errorf("%s is no migration", entry.Name()))
		}
		version, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil || version != int64(len(list)+1) {
			return nil, fault.From(fmt.Errorf("%s does not follow number %d", entry.Name(), len(list)))
		}
		script, err := fs.ReadFile(tree, entry.Name())
		if err != nil {
			return nil, fault.From(err)
		}
		sum := sha256.Sum256(script)
		list = append(list, Migration{version, entry.Name(), hex.EncodeToString(sum[:]), string(script)})
	}
	if len(list) == 0 {
		return nil, fault.From(errors.New("there is no migration"))
	}
	return list, nil
}

// Missing returns what of list a database that remembers applied has not seen.
func Missing(applied, list []Migration) ([]Migration, error) {
	for i, was := range applied {
		if was.Version != int64(i+1) {
			return nil, fault.Newf(fault.Conflict, "the store's schema has a gap before version %d", was.Version).Because(ErrChanged)
		}
		if i >= len(list) {
			last := applied[len(applied)-1]
			return nil, fault.Newf(fault.Conflict, "the store was written by a newer steward: its schema has version %d (%s), this one knows %d",
				last.Version, last.Name, len(list)).Because(ErrNewer)
		}
		if was.Digest != list[i].Digest || was.Name != list[i].Name {
			return nil, fault.Newf(fault.Conflict, "version %d of the store's schema was made by %s, which is not the %s that this steward carries",
				was.Version, was.Name, list[i].Name).Because(ErrChanged)
		}
	}
	return list[len(applied):], nil
}
