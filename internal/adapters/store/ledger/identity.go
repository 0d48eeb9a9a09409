package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
)

// identity is the file beside the database that says which node this is, how many
// processes it has begun, and which row of the trail was durable when it was
// written last. A database that does not know all of that is not the newest one of
// the node: it was restored, emptied, exchanged or cut while no process had it, and
// what was executed since could be executed again (threats, A32).
type identity struct {
	path  string
	node  id.Node // zero: there is no file
	epoch int64   // zero: the file does not say
	seq   int64   // of the row, in the chain of that epoch
	hash  digest.Digest
}

// ErrOlder is under the fault of a database that lacks what its node knows of it.
var ErrOlder = errors.New("the database is not the newest one of its node")

const (
	identityForm = "%s\nepoch %d\nrow %d %s\n"

	rowOfEpoch = "SELECT a.hash FROM nodes n JOIN audit a ON a.entry = n.chain * 1099511627776 + CAST($3 AS BIGINT) WHERE n.node = $1 AND n.epoch = $2"
)

// readIdentity reads the file; the database's lock is held. A file of the id alone
// is as good.
func readIdentity(path string) (identity, error) {
	out := identity{path: path}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, noIdentity(err)
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	if out.node, err = id.Parse[id.Node](first); err != nil {
		return out, noIdentity(err)
	}
	if rest == "" {
		return out, nil
	}
	var node, hash string
	if _, err = fmt.Sscanf(string(text), identityForm, &node, &out.epoch, &out.seq, &hash); err == nil {
		out.hash, err = digest.Parse(hash)
	}
	if err == nil && out.text() != string(text) {
		err = errors.New("the file says more than it should")
	}
	if err != nil {
		return out, noIdentity(err)
	}
	return out, nil
}

func (i identity) text() string {
	return fmt.Sprintf(identityForm, i.node, i.epoch, i.seq, i.hash)
}

// write replaces the file, whole or not at all.
func (i identity) write() error {
	draft := i.path + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return noIdentity(err)
	}
	file, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return noIdentity(err)
	}
	_, err = file.WriteString(i.text())
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(draft, i.path)
	}
	if err == nil {
		err = lockedfile.SyncFolder(filepath.Dir(i.path))
	}
	if err != nil {
		return noIdentity(err)
	}
	return nil
}

// check holds the database against the file. Last is the node's last epoch that the
// database knows, and used says whether any process has ever begun in it.
func (i identity) check(tx *Tx, last int64, used bool) error {
	switch {
	case i.node.IsZero():
		return nil
	case !used:
		return older("the store's database is missing: its folder has a node's identity, and the database was never used")
	case last < i.epoch:
		return older(fmt.Sprintf("the store's database is an older one: its node has begun %d times, and the database knows of %d", i.epoch, last))
	case i.epoch == 0:
		return nil
	}
	var hash string
	found, err := tx.One(rowOfEpoch, []any{i.node.String(), i.epoch, i.seq}, &hash)
	if err != nil {
		return err
	}
	if !found || hash != i.hash.String() {
		return older(fmt.Sprintf("the store's database is an older one, or its audit trail was cut: row %d of epoch %d is missing", i.seq, i.epoch))
	}
	return nil
}

func older(why string) *fault.Fault {
	return fault.Newf(fault.Unavailable, "%s; nothing that it has forgotten may be executed again, "+
		"so put the newest one back, or make this one the store's with steward restore", why).Because(ErrOlder)
}

func noIdentity(err error) *fault.Fault {
	return fault.New(fault.Unavailable, "the file with the node's id cannot be used").Because(err)
}

// mark notes in the file what is durable of the trail, if that is more than it
// says. One goroutine at a time calls it.
func (l *Ledger) mark() error {
	c := l.Confirmed()
	if c.Seq == l.identity.seq && l.epoch == l.identity.epoch {
		return nil
	}
	next := l.identity.at(l.node, l.epoch, c)
	if err := next.write(); err != nil {
		return err
	}
	l.identity = next
	return nil
}

func (i identity) at(node id.Node, epoch int64, row audit.Entry) identity {
	return identity{path: i.path, node: node, epoch: epoch, seq: row.Seq, hash: row.Hash}
}
