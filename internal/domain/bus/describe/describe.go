// Package describe gathers what a principal's capsules serve: one round asks an
// expected set of runtimes and ends when all have answered or its window closes
// (bus page, section 4). Silence never ends a round early.
//
// It promises: an answer counts once, only for the principal of the round, only
// from a member, only under the member's own id and the round's own name; every
// other one is a Drop with a reason. A result is sorted by the bytes of its URIs
// and the same for every order of arrival. Where two serve one URI, the operator's
// order decides and the collision is told. A result that lacks a member, or in
// which something was dropped for size, is never called complete.
//
// It does not promise that a URI can be read, or that a result is still true.
//
// A Round and a Result belong to one owner; there is no clock here: the time
// comes in each call.
package describe

import (
	"cmp"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// Member is one runtime of the expected set.
type Member struct {
	Source   topic.Source
	Name     string    // of the capsule, for people
	Order    int64     // the operator's; the lower one wins a collision
	Since    time.Time // since when it can be asked
	Warming  bool      // it is started, or compiled, and answers once that is done
	Families []string  // prefixes of URIs that it serves without listing them
}

// Compare is the order in which members win: the operator's, then the source.
func (m Member) Compare(o Member) int {
	return cmp.Or(cmp.Compare(m.Order, o.Order), cmp.Compare(m.Source.String(), o.Source.String()))
}

// Why says why a member is missing from a list.
func (m Member) Why() string {
	if m.Warming {
		return "warming"
	}
	return "silent"
}

// Reason says why something was dropped.
type Reason string

// The reasons.
const (
	ForeignPrincipal Reason = "foreign principal"
	UnknownSource    Reason = "unknown source"
	ForeignSuffix    Reason = "suffix is not the source"
	StaleRound       Reason = "stale round"
	Duplicate        Reason = "duplicate"
	OverCap          Reason = "over a cap"
	Malformed        Reason = "malformed"
	Overflow         Reason = "lost in a full queue"
)

// Drop is an answer, or a part of one, that does not count. It is audited.
type Drop struct {
	Source topic.Source
	Reason Reason
	Detail string
}

// Reply is an answer as an adapter took it from the bus. Principal and Source
// are the subject's.
type Reply struct {
	Principal   topic.Principal
	Source      topic.Source
	Suffix      string // the last segment of the topic
	Round       string
	Definitions []Definition
	Bytes       int   // of the payload
	Count       int   // of definitions before any was refused
	Bad         []Bad // definitions that could not be read
	Err         error // the whole payload could not be read
}

// Bad is one definition that is left out of a reply.
type Bad struct {
	Index int
	Err   error
}

// Round is one question to all members. It is used by its owner only.
type Round struct {
	id        string
	principal topic.Principal
	deadline  time.Time
	members   []Member
	answers   map[topic.Source]Reply
	waiting   map[topic.Source]bool // every member; true until it has answered or gone
	gone      map[topic.Source]bool
	open      int // how many of waiting are true
	drops     []Drop
	more      int // drops that were counted only
	lossy     bool
}

// Start opens a round. Its window is longer while a member is warming up, or young,
// since one that was just started may be slow with its first answer.
func Start(p topic.Principal, id string, members []Member, now time.Time) *Round {
	window := bound.DescribeWarm.Duration()
	for _, m := range members {
		if m.Warming || now.Sub(m.Since) < bound.CapsuleYoung.Duration() {
			window = bound.DescribeCold.Duration()
		}
	}
	r := &Round{id: id, principal: p, deadline: now.Add(window), members: members,
		answers: make(map[topic.Source]Reply, len(members)), waiting: make(map[topic.Source]bool, len(members)), gone: make(map[topic.Source]bool)}
	for _, m := range members {
		r.waiting[m.Source] = true
	}
	r.open = len(r.waiting)
	return r
}

// ID is the round's name, which adapters echo.
func (r *Round) ID() string { return r.id }

// Deadline is when the window closes.
func (r *Round) Deadline() time.Time { return r.deadline }

// Accept takes a reply, or says why it does not count.
func (r *Round) Accept(reply Reply) (Drop, bool) {
	drop := func(reason Reason, detail string) (Drop, bool) {
		d := Drop{reply.Source, reason, detail}
		r.keep(d)
		return d, false
	}
	_, expected := r.waiting[reply.Source]
	switch _, twice := r.answers[reply.Source]; {
	case reply.Principal != r.principal:
		return drop(ForeignPrincipal, "")
	case !expected:
		return drop(UnknownSource, "")
	case reply.Suffix != reply.Source.String():
		return drop(ForeignSuffix, "")
	case reply.Round != r.id:
		return drop(StaleRound, "")
	case twice:
		return drop(Duplicate, "")
	}
	r.answers[reply.Source] = reply
	r.heard(reply.Source)
	switch {
	case reply.Err != nil:
		r.spoil(reply.Source)
		return drop(Malformed, reply.Err.Error())
	case bound.ReplyDefinitions.Check(reply.Count) != nil:
		r.spoil(reply.Source)
		return drop(OverCap, bound.ReplyDefinitions.Key)
	case bound.CapsuleBytes.Check(reply.Bytes) != nil:
		r.spoil(reply.Source)
		return drop(OverCap, bound.CapsuleBytes.Key)
	}
	for _, bad := range reply.Bad {
		r.keep(Drop{reply.Source, Malformed, bad.Err.Error()})
	}
	return Drop{}, true
}

// spoil keeps a source from counting as one that answered with nothing.
func (r *Round) spoil(s topic.Source) {
	r.answers[s] = Reply{}
	r.gone[s] = true
}

// Lost says that answers were lost on the way, so the result is incomplete.
func (r *Round) Lost(n int) {
	if n > 0 {
		r.lossy = true
		r.keep(Drop{Reason: Overflow})
	}
}

// keep remembers a drop; those over bound.ReplyDrops are only counted.
func (r *Round) keep(d Drop) {
	if bound.ReplyDrops.Check(len(r.drops)+1) != nil {
		r.more++
		return
	}
	r.drops = append(r.drops, d)
}

// Leave says that a member has ended and will not answer any more.
func (r *Round) Leave(s topic.Source) {
	if _, answered := r.answers[s]; !answered {
		r.gone[s] = true
		r.heard(s)
	}
}

// heard says that nobody waits for a member any more.
func (r *Round) heard(s topic.Source) {
	if r.waiting[s] {
		r.waiting[s] = false
		r.open--
	}
}

// Done reports whether the round has ended.
func (r *Round) Done(now time.Time) bool {
	return r.open == 0 || !now.Before(r.deadline)
}
