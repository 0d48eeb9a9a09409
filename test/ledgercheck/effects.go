package main

import (
	"maps"
	"slices"
	"time"
)

const putMethod = "put" // of item-store/v1

// span is how often an effect may have happened.
type span struct{ least, most int }

func (s *span) add(least, most int) { s.least, s.most = s.least+least, s.most+most }

// byRow gives what a row promises about the effect of its call.
func byRow(r *row) span {
	if r == nil {
		return span{0, 0}
	}
	switch r.State {
	case "succeeded", "reconciled_succeeded":
		return span{1, 1}
	case "not_dispatched", "reconciled_failed":
		return span{0, 0}
	default:
		return span{0, 1}
	}
}

// byAnswers gives what the client was promised, whatever the journal says now.
// A request without an answer promises nothing.
func (c *checker) byAnswers(one *call) span {
	out := span{0, 0}
	for _, e := range one.exchanges {
		switch {
		case e.sent.Path != "/rpc/v1" || e.sent.Never:
		case e.answer == nil:
			out.most = 1
		case e.answer.Effects == "reported":
			return span{1, 1} // also where the outcome is withheld
		case e.answer.Effects == "uncertain":
			out.most = 1
		}
	}
	return out
}

// effects holds what the oracle saw against both.
func (c *checker) effects() {
	rows, told := map[string]*span{}, map[string]*span{}
	for _, one := range c.calls {
		for _, e := range one.exchanges {
			nonce := e.sent.Nonce
			if nonce == "" || e.sent.Never {
				continue
			}
			if rows[nonce] == nil {
				rows[nonce], told[nonce] = &span{}, &span{}
			}
			r, a := byRow(one.row), c.byAnswers(one)
			rows[nonce].add(r.least, r.most)
			told[nonce].add(a.least, a.most)
			break // a call's other exchanges are about the same
		}
	}
	for _, nonce := range slices.Sorted(maps.Keys(rows)) {
		n := c.seen[nonce]
		if r := rows[nonce]; n < r.least || n > r.most {
			c.complain("effect %s: happened %d times, the journal says %d to %d", nonce, n, r.least, r.most)
		}
		if a := told[nonce]; n < a.least || n > a.most {
			c.complain("effect %s: happened %d times, the clients were told %d to %d", nonce, n, a.least, a.most)
		}
	}
	for _, nonce := range slices.Sorted(maps.Keys(c.seen)) {
		if rows[nonce] == nil {
			c.complain("effect %s: happened %d times, and nobody may have asked for it", nonce, c.seen[nonce])
		}
	}
}

// refusedForGood looks at the requests that may never be executed: those that
// reuse a tx for something else.
func (c *checker) refusedForGood() {
	for _, one := range c.calls {
		for _, e := range one.exchanges {
			if !e.sent.Never || e.answer == nil {
				continue
			}
			switch e.answer.Error.Code {
			case "tx_mismatch", "not_found", "grant_required", "unavailable":
			default:
				c.complain("%s %s: a tx that was used anew for something else is answered %s %s", one.client, one.tx, e.answer.Status, e.answer.Error.Code)
			}
		}
	}
}

// storedItems follows the puts of each key, which replace each other's versions,
// to the one that must be stored now.
func (c *checker) storedItems() {
	if !c.whole {
		return
	}
	type put struct{ version, replaces string }
	puts := map[string][]put{}
	for _, one := range c.calls {
		if one.row == nil || one.row.Method != putMethod || one.row.State != "succeeded" {
			continue
		}
		for _, e := range one.exchanges {
			if e.sent.Key != "" {
				puts[e.sent.Key] = append(puts[e.sent.Key], put{one.row.Version, e.sent.If})
				break
			}
		}
	}
	stored := map[string]string{}
	for _, i := range c.items {
		stored[i.Key] = i.Version
		if len(puts[i.Key]) == 0 {
			c.complain("item %s: stored, and no put of it succeeded", i.Key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(puts)) {
		replaced := map[string]int{}
		for _, p := range puts[key] {
			if replaced[p.replaces]++; replaced[p.replaces] > 1 {
				c.complain("item %s: two puts replaced version %q", key, p.replaces)
			}
		}
		for _, p := range puts[key] {
			if replaced[p.version] == 0 && stored[key] != p.version {
				c.complain("item %s: version %q is stored, the last put made %q", key, stored[key], p.version)
			}
		}
	}
}

// blur is how far the journal's whole milliseconds may be from the time that a
// client's clock shows: the host's time goes on by another clock than the wall's.
const blur = time.Millisecond

// revocations wants no dispatch of a client between the end of a revocation and
// the beginning of the next grant.
func (c *checker) revocations() {
	type gap struct{ from, to time.Time }
	gaps, ended := map[string][]gap{}, map[string]time.Time{}
	for _, l := range c.lines {
		switch l.Do {
		case "revoked":
			ended[l.Client] = l.At
		case "grant":
			if !ended[l.Client].IsZero() {
				gaps[l.Client] = append(gaps[l.Client], gap{ended[l.Client], l.At})
				delete(ended, l.Client)
			}
		}
	}
	for client, from := range ended {
		gaps[client] = append(gaps[client], gap{from, time.Unix(1<<40, 0)})
	}
	for _, r := range c.rows {
		if r.Method == putMethod {
			continue // its rights are not taken
		}
		for _, g := range gaps[r.Client] {
			if r.DispatchedAt.After(g.from.Add(blur)) && r.DispatchedAt.Before(g.to) {
				c.complain("%s %s: dispatched at %s, after the revocation at %s", r.Client, r.Tx, r.DispatchedAt, g.from)
			}
		}
	}
}
