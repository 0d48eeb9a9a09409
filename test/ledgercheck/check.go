package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"
)

// place names a call: a tx is a client's own.
type place struct{ client, tx string }

// exchange is one request with what came of it.
type exchange struct {
	sent   line
	got    *line   // nil where the client's log ends, or no answer came
	answer *answer // of got
}

// call is everything that the three logs know of one tx.
type call struct {
	place
	exchanges []*exchange // in order of sending
	row       *row
}

// checker collects complaints.
type checker struct {
	logs
	calls      map[place]*call
	seen       map[string]int // by nonce
	count      string
	complaints []string
}

func (c *checker) complain(format string, args ...any) {
	c.complaints = append(c.complaints, fmt.Sprintf(format, args...))
}

// check applies every rule. Each has a test that breaks it.
func check(l logs) *checker {
	c := &checker{logs: l, calls: map[place]*call{}, seen: map[string]int{}}
	for _, nonce := range l.nonces {
		c.seen[nonce]++
	}
	c.pair()
	c.attach()
	finals := 0
	for _, which := range slices.SortedFunc(maps.Keys(c.calls), byName) {
		one := c.calls[which]
		c.oneDigest(one)
		finals += c.answers(one)
	}
	c.effects()
	c.refusedForGood()
	c.storedItems()
	c.revocations()
	c.tell(finals)
	return c
}

func byName(a, b place) int { return strings.Compare(a.client+a.tx, b.client+b.tx) }

// pair puts each answer beside its request.
func (c *checker) pair() {
	type number struct {
		client string
		n      int
	}
	open := map[number]*exchange{}
	for i := range c.lines {
		l := &c.lines[i]
		key := number{l.Client, l.N}
		switch l.Do {
		case "send":
			e := &exchange{sent: *l}
			open[key] = e
			one := c.call(place{l.Client, l.Tx})
			one.exchanges = append(one.exchanges, e)
		case "answer":
			e := open[key]
			if e == nil {
				c.complain("%s: answer %d to nothing that was sent", l.Client, l.N)
				continue
			}
			delete(open, key)
			var a answer
			if err := json.Unmarshal([]byte(l.Body), &a); err != nil {
				c.complain("%s %s: an answer that is no response: %v: %.200q", l.Client, l.Tx, err, l.Body)
				continue
			}
			e.got, e.answer = l, &a
		}
	}
	for _, one := range c.calls {
		sort.SliceStable(one.exchanges, func(i, j int) bool { return one.exchanges[i].sent.At.Before(one.exchanges[j].sent.At) })
	}
}

func (c *checker) call(p place) *call {
	if c.calls[p] == nil {
		c.calls[p] = &call{place: p}
	}
	return c.calls[p]
}

// attach puts each row beside its call. A row that nobody sent is a complaint,
// and so are two rows of one tx and a row that is still open.
func (c *checker) attach() {
	for i := range c.rows {
		r := &c.rows[i]
		one := c.calls[place{r.Client, r.Tx}]
		switch {
		case one == nil:
			c.complain("%s %s: a row of the journal that nobody sent", r.Client, r.Tx)
			continue
		case one.row != nil:
			c.complain("%s %s: two rows of one tx", r.Client, r.Tx)
		}
		one.row = r
		if r.State == "reserved" || r.State == "dispatching" {
			c.complain("%s %s: the row is left %s", r.Client, r.Tx, r.State)
		}
		if r.Method == putMethod && r.State != "succeeded" && r.State != "failed" {
			c.complain("%s %s: a built-in, which is one commit, is %s", r.Client, r.Tx, r.State)
		}
	}
}

// oneDigest holds the client to what the other rules rely on.
func (c *checker) oneDigest(one *call) {
	first := ""
	for _, e := range one.exchanges {
		if e.sent.Digest == "" || e.sent.Never {
			continue
		}
		if first == "" {
			first = e.sent.Digest
		}
		if e.sent.Digest != first {
			c.complain("%s %s: the client sent two requests under one tx", one.client, one.tx)
		}
	}
}

// kind says what an answer promises.
type kind int

const (
	refused kind = iota // nothing of this request happened
	running             // it has not ended
	final               // the outcome, for ever
	doubted             // a doubt that may not be in the journal
)

// finalCodes are the errors that a journalled call ends with.
var finalCodes = []string{"upstream_failed", "precondition_failed"}

// refusals are the errors that a request may get that is not executed.
var refusals = []string{"unavailable", "conflict", "tx_in_progress", "not_found", "grant_required", "tx_mismatch", "rate_limited", "budget_exhausted"}

func (c *checker) kindOf(e *exchange) kind {
	a, where := e.answer, e.sent.Client+" "+e.sent.Tx
	wants := ""
	k := final
	switch code := a.Error.Code; {
	case a.Status == "ok":
		wants = "reported"
	case a.Status == "indeterminate":
		wants = "uncertain"
		if a.Result != nil {
			c.complain("%s: a doubt with a result", where)
		}
		if a.Error.Details["reason"] == "journal_unknown" {
			k = doubted
		}
	case a.Status == "pending":
		return running
	case slices.Contains(finalCodes, code):
		return final
	case !slices.Contains(refusals, code):
		c.complain("%s: the host answers %s: %.300s", where, code, e.got.Body)
		return refused
	default:
		k = refused
		switch code {
		case "conflict":
			wants = "not_dispatched"
		case "unavailable":
			if a.Effects == "uncertain" {
				return k // nobody could look whether the tx was sent before
			}
			wants = "not_dispatched"
		case "not_found", "grant_required":
			return k // rights that are gone hide an outcome, and not that it had an effect
		case "tx_mismatch":
			return k // it has the word of what the tx was first sent for
		case "tx_in_progress":
			if a.Effects == "uncertain" {
				return running
			}
			k, wants = running, "none"
		}
	}
	if wants != "" && a.Effects != wants || k == refused && a.Effects != "none" && a.Effects != "not_dispatched" {
		c.complain("%s: %s %s says effects %s", where, a.Status, a.Error.Code, a.Effects)
	}
	return k
}

// answers holds what a client was told of one tx against itself and against the
// row, and counts the outcomes.
func (c *checker) answers(one *call) (finals int) {
	told := "" // the outcome, as it was told last
	var toldAt time.Time
	fresh := 0
	var sentAt time.Time // the first answer after which the call is known to have been sent
	for _, e := range one.exchanges {
		if e.answer == nil {
			continue
		}
		if e.answer.Tx != one.tx {
			c.complain("%s %s: the answer is about %q", one.client, one.tx, e.answer.Tx)
		}
		k := c.kindOf(e)
		if k == refused && !sentAt.IsZero() && e.sent.At.After(sentAt) && deniesSending(e) {
			c.complain("%s %s: the call was sent, and then the host says %s %s", one.client, one.tx, e.answer.Error.Code, e.answer.Effects)
		}
		if sentAt.IsZero() && (k == final || k == doubted && e.sent.Nonce != "") && (e.answer.Effects == "reported" || e.answer.Effects == "uncertain") {
			sentAt = e.got.At
		}
		if k == final && e.sent.Never {
			continue // see refusedForGood
		}
		if k != final {
			if told != "" && e.sent.At.After(toldAt) && !mayRefuse(e) {
				c.complain("%s %s: after the outcome the host says %s %s", one.client, one.tx, e.answer.Status, e.answer.Error.Code)
			}
			continue
		}
		finals++
		if !e.answer.Replayed {
			fresh++
		}
		body := same(e.got.Body)
		if told != "" && body != told && e.answer.Details.Reconciled.By != "late_answer" {
			c.complain("%s %s: the outcome changes:\n\t%s\n\t%s", one.client, one.tx, told, body)
		}
		if told == "" || e.got.At.After(toldAt) {
			told, toldAt = body, e.got.At
		}
		c.held(one, e)
	}
	if fresh > 1 {
		c.complain("%s %s: %d answers say that this send was executed", one.client, one.tx, fresh)
	}
	return finals
}

// deniesSending reports whether a refusal says of its tx that nothing was sent. A
// caller without rights is told nothing, and one that asks for something else is told
// about that.
func deniesSending(e *exchange) bool {
	switch e.answer.Error.Code {
	case "not_found", "grant_required", "tx_mismatch":
		return false
	}
	return e.answer.Effects == "none" || e.answer.Effects == "not_dispatched"
}

// mayRefuse reports whether a refusal may follow an outcome: where the client
// has no rights at the time, where the host is down, and for another request.
func mayRefuse(e *exchange) bool {
	switch e.answer.Error.Code {
	case "not_found", "grant_required", "unavailable":
		return true
	case "tx_mismatch":
		return e.sent.Never
	}
	return false
}

// held compares an outcome that was told with the row.
func (c *checker) held(one *call, e *exchange) {
	r, a := one.row, e.answer
	if r == nil {
		c.complain("%s %s: lost: the client was told %s %s and the journal has no row", one.client, one.tx, a.Status, a.Error.Code)
		return
	}
	wants := map[string][]string{
		"ok":            {"succeeded", "reconciled_succeeded"},
		"indeterminate": {"indeterminate"},
		"error":         {"failed"},
	}[a.Status]
	if a.Status == "indeterminate" && r.ReconciledBy == "late_answer" {
		return
	}
	if !slices.Contains(wants, r.State) || r.State == "failed" && r.Code != a.Error.Code {
		c.complain("%s %s: changed: the client was told %s %s and the row is %s %s", one.client, one.tx, a.Status, a.Error.Code, r.State, r.Code)
		return
	}
	if a.Status == "ok" && (!bytes.Equal(compact(a.Result), compact(r.Result)) || a.Version != r.Version) {
		c.complain("%s %s: changed: the client was told %s %s and the row has %s %s", one.client, one.tx, a.Result, a.Version, r.Result, r.Version)
	}
}

func compact(raw []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}

func (c *checker) tell(finals int) {
	sends, lost := 0, 0
	for _, one := range c.calls {
		for _, e := range one.exchanges {
			sends++
			if e.answer == nil {
				lost++
			}
		}
	}
	states := map[string]int{}
	for _, r := range c.rows {
		states[r.State]++
	}
	c.count = fmt.Sprintf("sends=%d unanswered=%d outcomes=%d effects=%d rows=%d", sends, lost, finals, len(c.nonces), len(c.rows))
	for _, state := range slices.Sorted(maps.Keys(states)) {
		c.count += fmt.Sprintf(" %s=%d", state, states[state])
	}
}
