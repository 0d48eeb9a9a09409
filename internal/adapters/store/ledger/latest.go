package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
)

// latest is the file beside the database that says what the newest commit was. It is
// written in place with one short write after each commit and before anybody is told
// of it, and is never flushed: that costs microseconds. The kernel has it as soon as
// it is written, so that after a process was killed, however that was, a database
// without the commit has lost it: its log was removed, cut or damaged at its end or
// head, where the log alone does not show it.
//
// It is never ahead of what the disk holds, since the commit was flushed before. After
// a power cut it may be older than the database or torn; then it says less or nothing,
// and the file node with its fifteen seconds is what is left. One lock guards it.
type latest struct {
	path string
	node id.Node

	mu      sync.Mutex
	sector  [latestBytes]byte
	file    *os.File
	entry   audit.Entry // newest row of the trail
	entryAt int64       // place of its commit in the order of commits
	call    takeUp      // newest take-up of a call
	callAt  int64
}

// takeUp is one take-up of a call, which has no row of the trail yet.
type takeUp struct {
	Owner   id.Owner
	Call    id.Invocation
	Attempt int64
	Sent    bool // it has its mark
}

const (
	latestForm  = "%s\nepoch %d\nrow %d %s\n"
	latestCall  = "call %s %s %d %t\n"
	latestBytes = 512 // a sector, so that a torn write is none

	takenUp = "SELECT i.attempt, i.state FROM invocations i WHERE i.owner = $1 AND i.invocation = $2"
)

// open makes the file ready to be written.
func (l *latest) open() (err error) {
	l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return noIdentity(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write()
	return nil
}

// note writes what a commit did, if it is newer than what is written.
func (l *latest) note(tx *Tx) {
	l.mu.Lock()
	defer l.mu.Unlock()
	newer := false
	if tx.last.Seq > l.entry.Seq {
		l.entry, l.entryAt, newer = tx.last, tx.order, true
	}
	if tx.taken != (takeUp{}) && tx.order > l.callAt {
		l.call, l.callAt, newer = tx.taken, tx.order, true
	}
	if newer {
		l.write()
	}
}

func (l *latest) write() {
	if l.file == nil {
		return // the process is beginning, or over
	}
	b := append(l.sector[:0], l.node.String()...)
	b = strconv.AppendInt(append(b, "\nepoch "...), l.entry.Epoch, 10)
	b = strconv.AppendInt(append(b, "\nrow "...), l.entry.Seq, 10)
	b = append(append(append(b, ' '), l.entry.Hash.String()...), '\n')
	if l.callAt > l.entryAt { // else the row of the trail was committed behind it
		b = append(append(append(b, "call "...), l.call.Owner.String()...), ' ')
		b = append(append(b, l.call.Call.String()...), ' ')
		b = strconv.AppendInt(b, l.call.Attempt, 10)
		b = append(strconv.AppendBool(append(b, ' '), l.call.Sent), '\n')
	}
	sum := crc32.ChecksumIEEE(b)
	b = append(strconv.AppendUint(append(b, "sum "...), uint64(sum), 16), '\n')
	clear(l.sector[len(b):])
	// Where it cannot be written, a lost commit is noticed as after a power cut.
	_, _ = l.file.WriteAt(l.sector[:], 0)
}

func (l *latest) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

// noted is what the file said when the process before ended; the zero value is
// nothing.
type noted struct {
	node  id.Node
	epoch int64
	seq   int64
	hash  digest.Digest
	call  takeUp
}

// readLatest reads the file. One that is missing, torn or of another form says
// nothing.
func readLatest(path string) (n noted, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, noIdentity(err)
	}
	text, sum, whole := strings.Cut(string(bytes.TrimRight(raw, "\x00")), "sum ")
	if !whole || sum != strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(text))), 16)+"\n" {
		return n, nil
	}
	var node, hash, owner, call string
	lines := strings.SplitAfterN(text, "\n", 4)
	if _, err := fmt.Sscanf(strings.Join(lines[:3], ""), latestForm, &node, &n.epoch, &n.seq, &hash); err != nil {
		return noted{}, nil //nolint:nilerr // of another form
	}
	if len(lines) == 4 && lines[3] != "" {
		if _, err := fmt.Sscanf(lines[3], latestCall, &owner, &call, &n.call.Attempt, &n.call.Sent); err != nil {
			return noted{}, nil //nolint:nilerr // of another form
		}
		n.call.Owner, err = id.Parse[id.Owner](owner)
		if err == nil {
			n.call.Call, err = id.Parse[id.Invocation](call)
		}
	}
	if err == nil {
		n.node, err = id.Parse[id.Node](node)
	}
	if err == nil {
		n.hash, err = digest.Parse(hash)
	}
	if err != nil {
		return noted{}, nil //nolint:nilerr // of another form
	}
	return n, nil
}

// check holds the database against what was noted. What another node noted says
// nothing of this one.
func (n noted) check(tx *Tx, node id.Node) error {
	if n.node.IsZero() || n.node != node {
		return nil
	}
	var hash string
	found, err := tx.One(rowOfEpoch, []any{n.node.String(), n.epoch, n.seq}, &hash)
	if err != nil {
		return err
	}
	gone := older("the store's latest commits are missing: its log was removed or damaged, or the database is an older one")
	if !found || hash != n.hash.String() {
		return gone
	}
	if n.call.Call.IsZero() {
		return nil
	}
	var attempt int64
	var state string
	found, err = tx.One(takenUp, []any{n.call.Owner.String(), n.call.Call.String()}, &attempt, &state)
	if err != nil {
		return err
	}
	if !found || attempt < n.call.Attempt || attempt == n.call.Attempt && n.call.Sent && state == "reserved" {
		return gone
	}
	return nil
}

// TakenUp notes that this transaction takes up a call, or marks it as sent: what the
// database must show later if this was committed.
func (tx *Tx) TakenUp(owner id.Owner, call id.Invocation, attempt int64, sent bool) {
	tx.taken = takeUp{owner, call, attempt, sent}
}
