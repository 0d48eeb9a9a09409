// Package read finds out what one URI holds: who is asked, whose answer counts,
// and what came of it (bus page, section 4).
//
// It promises: for a listed URI only the member that a describe round recorded as
// its owner counts; for another one a member whose manifest declares a matching
// family; else any member that answers within the broadcast. Who may not answer
// is ignored, also with an error. When several may, the winner does not depend on
// the order of arrival within the conflict window, and the others are told. Where all
// who might serve a URI say that it is not theirs, nobody waits for the deadline. A
// failed read is a fault, never empty contents, and nothing is ever truncated.
// What does not exist and what is somebody else's take the same way.
//
// A Wait belongs to one owner; there is no clock here.
package read

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Content is one chunk. A nil Blob makes it text.
type Content struct {
	URI      string
	MimeType *string
	Text     string
	Blob     []byte
	Meta     strictjson.Raw
}

// Size is how many raw bytes the chunk holds.
func (c Content) Size() int { return len(c.Text) + len(c.Blob) }

// Mode says why the candidates of a plan may answer.
type Mode string

// The modes.
const (
	Owned  Mode = "owner"     // it listed the URI
	Family Mode = "family"    // its manifest declares a prefix of it
	Open   Mode = "broadcast" // nobody is known to serve it
)

// Plan is whose answer to a read counts, the first one before the next.
type Plan struct {
	Mode       Mode
	Candidates []topic.Source
}

// Aim looks a URI up in what was found, then among the families of the members. Of
// several the operator's order decides, as in a collision: a longer prefix of a
// newcomer takes nothing from an elder that answers.
func Aim(uri string, found describe.Result, members []describe.Member) Plan {
	if owner, ok := found.Owner(uri); ok {
		return Plan{Owned, []topic.Source{owner}}
	}
	members = slices.SortedFunc(slices.Values(members), describe.Member.Compare)
	plan := Plan{Mode: Family}
	for _, m := range members {
		if slices.ContainsFunc(m.Families, func(prefix string) bool { return strings.HasPrefix(uri, prefix) }) {
			plan.Candidates = append(plan.Candidates, m.Source)
		}
	}
	if len(plan.Candidates) > 0 {
		return plan
	}
	plan.Mode = Open
	for _, m := range members {
		plan.Candidates = append(plan.Candidates, m.Source)
	}
	return plan
}

// Reply is an answer as an adapter took it from the bus. Principal and Source
// are the subject's.
type Reply struct {
	Principal   topic.Principal
	Source      topic.Source
	Correlation string // the last segment of the topic
	URI         string
	Contents    []Content
	Error       *string
	Declined    bool  // the host says that the capsule was asked and has no such URI
	Err         error // the payload could not be read
}

// Answer is what came of a read.
type Answer struct {
	Contents []Content
	Owner    topic.Source
	Fault    *fault.Fault   // instead of contents
	Rivals   []topic.Source // who else answered; audited
}

// Wait is one question that is open. It is used by its owner only.
type Wait struct {
	principal   topic.Principal
	correlation string
	uri         string
	plan        Plan
	deadline    time.Time
	replies     map[topic.Source]Reply
	gone        map[topic.Source]bool
	declined    map[topic.Source]bool
	first       time.Time // of an answer with contents
}

// Ask opens a wait. A broadcast ends after bound.ReadBroadcast, every other one
// at the deadline.
func Ask(p topic.Principal, correlation, uri string, plan Plan, now, deadline time.Time) *Wait {
	if end := now.Add(bound.ReadBroadcast.Duration()); plan.Mode == Open && end.Before(deadline) {
		deadline = end
	}
	return &Wait{principal: p, correlation: correlation, uri: uri, plan: plan, deadline: deadline,
		replies: make(map[topic.Source]Reply), gone: make(map[topic.Source]bool), declined: make(map[topic.Source]bool)}
}

// Accept takes a reply, or says why it does not count.
func (w *Wait) Accept(r Reply, now time.Time) (describe.Drop, bool) {
	drop := func(reason describe.Reason) (describe.Drop, bool) {
		return describe.Drop{Source: r.Source, Reason: reason}, false
	}
	switch _, twice := w.replies[r.Source]; {
	case r.Principal != w.principal:
		return drop(describe.ForeignPrincipal)
	case r.Correlation != w.correlation:
		return drop(describe.StaleRound)
	case r.Declined:
		w.declined[r.Source] = true
		return describe.Drop{}, true
	case !slices.Contains(w.plan.Candidates, r.Source):
		return drop(describe.UnknownSource)
	case twice:
		return drop(describe.Duplicate)
	case w.plan.Mode == Open && r.Err == nil && r.Error != nil:
		return drop(describe.UnknownSource) // an error of somebody who does not own it
	}
	w.replies[r.Source] = r
	if r.serves() && w.first.IsZero() {
		w.first = now
	}
	return describe.Drop{}, true
}

// Leave says that a candidate has ended and will not answer any more.
func (w *Wait) Leave(s topic.Source) {
	if _, answered := w.replies[s]; !answered {
		w.gone[s] = true
	}
}

// Next is when Settled may change without another reply.
func (w *Wait) Next() time.Time {
	if end := w.first.Add(bound.ReadConflict.Duration()); !w.first.IsZero() && end.Before(w.deadline) {
		return end
	}
	return w.deadline
}

// Settled gives the answer once there is one.
func (w *Wait) Settled(now time.Time) (Answer, bool) {
	over := !now.Before(w.deadline)
	open := w.outstanding()
	if !w.first.IsZero() && (open == 0 || over || !now.Before(w.Next())) {
		return w.winner(), true
	}
	if w.first.IsZero() && open == 0 && (w.plan.Mode != Open || len(w.plan.Candidates) == 0) || over {
		return w.failure(), true
	}
	return Answer{}, false
}

// outstanding counts who may still answer.
func (w *Wait) outstanding() (n int) {
	for _, c := range w.plan.Candidates {
		if _, answered := w.replies[c]; !answered && !w.gone[c] && !w.declined[c] {
			n++
		}
	}
	return n
}

func (w *Wait) winner() Answer {
	var a Answer
	for _, c := range w.plan.Candidates {
		r, ok := w.replies[c]
		switch {
		case !ok || !r.serves():
		case a.Owner.IsZero():
			a.Owner, a.Contents = c, r.Contents
			if f := check(w.uri, r); f != nil {
				a.Contents, a.Fault = nil, f
			}
		default:
			a.Rivals = append(a.Rivals, c)
		}
	}
	return a
}

// failure says why there are no contents. In a broadcast the reason is the same
// whatever happened to whom, so that it tells nothing of other capsules.
func (w *Wait) failure() Answer {
	if w.plan.Mode == Open {
		return Answer{Fault: NotFound()}
	}
	for _, c := range w.plan.Candidates {
		if r, ok := w.replies[c]; ok {
			return Answer{Owner: c, Fault: check(w.uri, r)}
		}
	}
	if !slices.ContainsFunc(w.plan.Candidates, func(c topic.Source) bool { return !w.declined[c] }) {
		return Answer{Fault: NotFound()}
	}
	if w.outstanding() == 0 {
		return Answer{Fault: fault.New(fault.Unavailable, "the capsule that serves this resource ended")}
	}
	return Answer{Fault: fault.New(fault.TimedOut, "the capsule that serves this resource did not answer in time")}
}

// NotFound is the one answer for what does not exist and what is not the
// principal's.
func NotFound() *fault.Fault { return fault.New(fault.NotFound, "there is no such resource") }

// serves reports whether a reply claims to hold the URI, however badly.
func (r Reply) serves() bool { return r.Err != nil || r.Error == nil }

// check holds a reply to the contract; nil means that its contents can be told.
func check(uri string, r Reply) *fault.Fault {
	switch {
	case r.Err != nil && fault.Is(r.Err, fault.TooLarge):
		return fault.From(r.Err)
	case r.Err != nil:
		return fault.New(fault.UpstreamFailed, "the capsule's answer is not of the contract").Because(r.Err)
	case r.Error != nil:
		return fault.New(fault.UpstreamFailed, "the capsule says: "+plain(*r.Error))
	case r.URI != uri:
		return fault.New(fault.UpstreamFailed, "the capsule answered for another URI")
	case len(r.Contents) == 0:
		return fault.New(fault.UpstreamFailed, "the capsule answered with neither contents nor an error")
	}
	if err := bound.ReadChunks.Check(len(r.Contents)); err != nil {
		return fault.From(err)
	}
	size := 0
	for _, c := range r.Contents {
		if err := describe.CheckURI(c.URI); err != nil {
			return fault.New(fault.UpstreamFailed, "the capsule's answer holds a URI that is none").Because(err)
		}
		size += c.Size()
	}
	return fault.From(bound.ReadContentBytes.Check(size))
}

// plain is an error text without control characters, of at most
// bound.ReadErrorBytes.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
	for len(text) > bound.ReadErrorBytes.Int() {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	if text == "" {
		return "nothing of use"
	}
	return text
}
