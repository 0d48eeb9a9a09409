// Package audit holds the rows of the owner's audit trail and the hash chain
// that makes an edited, dropped, cut or reordered row visible (pool page,
// section 6; threats, A78).
//
// One chain runs per (node, epoch). The first row of an epoch is an anchor that
// carries the last hash of the node's epoch before it, so the chains hold each
// other. The package computes and checks; the store keeps.
package audit

import (
	"strconv"
	"time"

	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Kind says what a row tells of.
type Kind string

// The kinds of rows.
const (
	Anchor      Kind = "anchor"      // an epoch begins; detail is the hash that the last one ended with
	Called      Kind = "call"        // one attempt of a call, with its outcome
	Denied      Kind = "denied"      // one attempt, refused
	Replayed    Kind = "replayed"    // a recorded answer was given again
	Listed      Kind = "listed"      // a client asked what it may call
	Read        Kind = "read"        // a resource of a capsule was read, or could not be
	Alarm       Kind = "alarm"       // the bus dropped an answer, two capsules served one URI, or a late answer contradicts the owner
	Reconciled  Kind = "reconciled"  // the owner or a late answer ended a doubt
	Confirmed   Kind = "confirmed"   // the owner decided a confirmation
	Approved    Kind = "approved"    // the owner approved methods
	Granted     Kind = "granted"     // the owner gave authority
	Revoked     Kind = "revoked"     // the owner took authority back
	AppAdded    Kind = "app_added"   //
	AppRotated  Kind = "app_rotated" // an app has new tokens, and no others
	AppRemoved  Kind = "app_removed" //
	Imported    Kind = "imported"    // an upstream was listed into the pool
	Drifted     Kind = "drifted"     // an upstream changed what was approved
	Swept       Kind = "swept"       // what was kept long enough was taken out
	Rights      Kind = "rights"      // what an owner's rights are after a change; detail is their digest
	Interrupted Kind = "interrupted" // a dead process left a call in doubt
	Restored    Kind = "restored"    // the store is a copy of an older time; what was allowed there is not any more
)

// Entry is one row. Detail is short plain text of ours, never input of a caller
// as it came; Count is over 1 where equal denials were put together.
type Entry struct {
	Node    id.Node
	Epoch   int64
	Seq     int64
	At      time.Time
	Owner   id.Owner
	Client  id.Client
	Kind    Kind
	Subject string // the id of what it is about
	Detail  string
	Count   int64
	Prev    digest.Digest
	Hash    digest.Digest
}

// Link returns the entry with its place in the chain and its hash: seq follows
// the last row's, and prev is its hash (zero for the first row of a store).
func Link(last Entry, e Entry) Entry {
	e.Seq, e.Prev = last.Seq+1, last.Hash
	e.Hash = e.sum()
	return e
}

func (e Entry) sum() digest.Digest {
	return digest.Join(
		e.Node.String(), strconv.FormatInt(e.Epoch, 10), strconv.FormatInt(e.Seq, 10),
		strconv.FormatInt(e.At.UnixMilli(), 10), e.Owner.String(), e.Client.String(), string(e.Kind),
		e.Subject, e.Detail, strconv.FormatInt(e.Count, 10), e.Prev.String()).Sum(digest.Audit)
}

// Break is the first row at which a chain does not hold.
type Break struct {
	Node  id.Node
	Epoch int64
	Seq   int64
	What  string
}

// Checker follows chains row by row, in the order (node, epoch, seq), so that a
// trail of any length is checked in constant memory. The zero value is ready.
type Checker struct {
	last Entry
	any  bool
	rows int64
}

// Rows is how many rows were checked.
func (c *Checker) Rows() int64 { return c.rows }

// Last is the last row that held.
func (c *Checker) Last() Entry { return c.last }

// Next checks one more row and returns where the chain breaks, or nil.
func (c *Checker) Next(e Entry) *Break {
	what := c.fault(e)
	if what != "" {
		return &Break{e.Node, e.Epoch, e.Seq, what}
	}
	c.last, c.any = e, true
	c.rows++
	return nil
}

func (c *Checker) fault(e Entry) string {
	if e.Hash != e.sum() {
		return "the row was changed"
	}
	if !c.any || e.Node != c.last.Node {
		return startFault(e, "")
	}
	if e.Epoch != c.last.Epoch {
		return startFault(e, c.last.Hash.String())
	}
	if e.Seq != c.last.Seq+1 || e.Prev != c.last.Hash {
		return "a row before it is missing, moved or was added"
	}
	return ""
}

func startFault(e Entry, before string) string {
	if e.Seq != 1 || !e.Prev.IsZero() || e.Kind != Anchor {
		return "the first rows of the epoch are missing"
	}
	if e.Detail != before {
		return "the epoch before it was cut or changed"
	}
	return ""
}
