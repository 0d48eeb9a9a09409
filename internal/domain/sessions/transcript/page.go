package transcript

import "github.com/stewardhost/steward/internal/ground/bound"

// Page fills one page of a replay, record by record.
type Page struct {
	Events []Event
	Next   string // the place to go on from; empty: there is no more

	after, last Place
	limit       int
	manifests   bool
	bytes       int
}

// NewPage begins the page after a place, of at most limit events and
// bound.ReplayBytes, with manifests or without.
func NewPage(after Place, limit int, manifests bool) *Page {
	return &Page{Events: []Event{}, after: after, last: after, limit: limit, manifests: manifests}
}

// From is the record before the first that the page may need: the record of its
// place may have further parts.
func (p *Page) From() int64 { return max(0, p.after.Seq-1) }

// eventEnvelope is the most that an event takes beside its data, and about what
// its data takes beside text and manifest.
const eventEnvelope = 256

// Add takes the next record, and reports whether the page is full.
func (p *Page) Add(r Record) (full bool, err error) {
	events, err := Events(r, p.manifests)
	if err != nil {
		return false, err
	}
	for _, e := range events {
		place, err := ParsePlace(e.ID)
		if err != nil {
			return false, err
		}
		if !p.after.Before(place) {
			continue
		}
		p.bytes += len(e.Data) + eventEnvelope
		if len(p.Events) == p.limit || len(p.Events) > 0 && p.bytes > bound.ReplayBytes.Int() {
			p.Next = p.last.String()
			return true, nil
		}
		p.Events, p.last = append(p.Events, e), place
	}
	return false, nil
}
