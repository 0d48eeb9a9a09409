package describe

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
)

// Listed is one resource and who serves it.
type Listed struct {
	Definition
	Owner   topic.Source
	Capsule string // the owner's name
}

// Collision is a URI that several members serve. The winner is listed.
type Collision struct {
	URI    string
	Winner topic.Source
	Losers []topic.Source
}

// Result is what a round found. It is read-only once made.
type Result struct {
	Listed     []Listed // sorted by the bytes of the URI, which is unique
	Complete   bool     // neither Missing nor Cut
	Cut        bool     // something was lost, or dropped for size
	Missing    []Member // who has not answered, in the operator's order
	Drops      []Drop
	MoreDrops  int // drops that were counted only
	Collisions []Collision
}

// Owner is who serves a listed URI.
func (r Result) Owner(uri string) (topic.Source, bool) {
	i := sort.Search(len(r.Listed), func(i int) bool { return r.Listed[i].URI >= uri })
	if i < len(r.Listed) && r.Listed[i].URI == uri {
		return r.Listed[i].Owner, true
	}
	return topic.Source{}, false
}

// Digest tells two sets of resources apart by anything that a client is shown,
// whoever serves them.
func (r Result) Digest() digest.Digest {
	f := digest.Join()
	text := func(list ...*string) {
		for _, s := range list {
			if s == nil {
				f.Absent()
				continue
			}
			f.Text(*s)
		}
	}
	texts := func(list []string) {
		f.Int(int64(len(list)))
		for _, s := range list {
			f.Text(s)
		}
	}
	for _, l := range r.Listed {
		f.Text(l.URI).Text(l.Name)
		text(l.Title, l.Description, l.MimeType, l.LastModified)
		if l.Size != nil {
			f.Int(int64(*l.Size))
		} else {
			f.Absent()
		}
		if l.Priority != nil {
			f.Text(strconv.FormatFloat(*l.Priority, 'g', -1, 64))
		} else {
			f.Absent()
		}
		texts(l.Audience)
		f.Bytes(l.Meta).Int(int64(len(l.Icons)))
		for _, i := range l.Icons {
			text(&i.Src, i.MimeType, i.Theme)
			texts(i.Sizes)
		}
	}
	return f.Sum(digest.Resources)
}

// Result closes the round. Members are walked in the order in which they win, so
// neither the order of arrival nor a newcomer changes what an elder lists.
func (r *Round) Result() Result {
	members := slices.Clone(r.members)
	slices.SortFunc(members, Member.Compare)
	out := Result{Complete: !r.lossy, Cut: r.lossy, Drops: slices.Clone(r.drops), MoreDrops: r.more}
	owners := map[string]topic.Source{}
	losers := map[string][]topic.Source{}
	size := 0
	for _, m := range members {
		answer, answered := r.answers[m.Source]
		if !answered || r.gone[m.Source] {
			out.Missing = append(out.Missing, m)
			out.Complete = false
			continue
		}
		if size+answer.Bytes > bound.BusAggregateBytes.Int() {
			out.dropForSize(m.Source, bound.BusAggregateBytes)
			continue
		}
		size += answer.Bytes
		for _, d := range answer.Definitions {
			owner, taken := owners[d.URI]
			switch {
			case !taken && len(out.Listed) >= bound.OwnerDefinitions.Int():
				if out.Complete || !slices.Contains(out.Drops, Drop{m.Source, OverCap, bound.OwnerDefinitions.Key}) {
					out.dropForSize(m.Source, bound.OwnerDefinitions)
				}
			case !taken:
				owners[d.URI] = m.Source
				out.Listed = append(out.Listed, Listed{d, m.Source, m.Name})
			case owner == m.Source:
				out.Drops = append(out.Drops, Drop{m.Source, Duplicate, d.URI})
			case !slices.Contains(losers[d.URI], m.Source):
				losers[d.URI] = append(losers[d.URI], m.Source)
			}
		}
	}
	out.Listed = sorted(out.Listed)
	for uri, l := range losers {
		out.Collisions = append(out.Collisions, Collision{uri, owners[uri], l})
	}
	slices.SortFunc(out.Collisions, func(a, b Collision) int { return strings.Compare(a.URI, b.URI) })
	return out
}

// sorted moves each row, which is large, once.
func sorted(list []Listed) []Listed {
	order := make([]*Listed, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortFunc(order, func(a, b *Listed) int { return strings.Compare(a.URI, b.URI) })
	out := make([]Listed, 0, len(list))
	for _, l := range order {
		out = append(out, *l)
	}
	return out
}

func (r *Result) dropForSize(s topic.Source, row bound.Row) {
	r.Complete, r.Cut = false, true
	r.Drops = append(r.Drops, Drop{s, OverCap, row.Key})
}
