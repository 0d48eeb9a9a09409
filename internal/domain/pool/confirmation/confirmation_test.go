package confirmation_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

var (
	decided = time.UnixMilli(1_785_000_000_000).UTC()
	life    = bound.ConfirmationLife.Duration()
	pin     = grant.Pin{Method: digest.Of(digest.Method, []byte("m")), Binding: digest.Of(digest.Binding, []byte("b"))}
	input   = digest.Of(digest.Input, []byte("args"))
)

// A yes is for one exact input under one grant as it was shown, and for five
// minutes (invariant I49).
func TestGood(t *testing.T) {
	whose := id.New[id.Grant]()
	row := func(s confirmation.State) confirmation.Row {
		return confirmation.Row{Grant: whose, Pin: pin, Input: input, State: s, AskedAt: decided.Add(-time.Hour), DecidedAt: decided}
	}
	otherMethod, otherBinding := pin, pin
	otherMethod.Method = digest.Of(digest.Method, []byte("m2"))
	otherBinding.Binding = digest.Of(digest.Binding, []byte("b2"))
	for _, c := range []struct {
		name  string
		row   confirmation.Row
		input digest.Digest
		grant id.Grant
		pin   grant.Pin
		now   time.Time
		want  bool
	}{
		{"as soon as it is given", row(confirmation.Approved), input, whose, pin, decided, true},
		{"a nanosecond before its end", row(confirmation.Approved), input, whose, pin, decided.Add(life - 1), true},
		{"at its end", row(confirmation.Approved), input, whose, pin, decided.Add(life), false},
		{"after its end", row(confirmation.Approved), input, whose, pin, decided.Add(life + 1), false},
		{"for another input", row(confirmation.Approved), digest.Of(digest.Input, []byte("args ")), whose, pin, decided, false},
		{"under another grant", row(confirmation.Approved), input, id.New[id.Grant](), pin, decided, false},
		{"for another method", row(confirmation.Approved), input, whose, otherMethod, decided, false},
		{"for another binding", row(confirmation.Approved), input, whose, otherBinding, decided, false},
		{"open", row(confirmation.Open), input, whose, pin, decided, false},
		{"denied", row(confirmation.Denied), input, whose, pin, decided, false},
		{"used", row(confirmation.Used), input, whose, pin, decided, false},
		{"no row", confirmation.Row{}, digest.Digest{}, id.Grant{}, grant.Pin{}, time.Time{}, false},
	} {
		if got := c.row.Good(c.input, c.grant, c.pin, id.Tx{}, c.now); got != c.want {
			t.Errorf("%s: good is %v", c.name, got)
		}
	}
	used := row(confirmation.Used)
	used.UsedBy = id.NewTx(decided)
	for _, c := range []struct {
		name   string
		retake id.Tx
		now    time.Time
		want   bool
	}{
		{"taken up again", used.UsedBy, decided.Add(life - 1), true},
		{"taken up again at its end", used.UsedBy, decided.Add(life), false},
		{"used by another", id.NewTx(decided), decided, false},
		{"used, and no take-up", id.Tx{}, decided, false},
	} {
		if got := used.Good(input, whose, pin, c.retake, c.now); got != c.want {
			t.Errorf("%s: good is %v", c.name, got)
		}
	}
}

// A no is for one exact input under one grant as it was shown, and for as long as a
// question waits (pool page, section 3).
func TestRefuses(t *testing.T) {
	whose, held := id.New[id.Grant](), bound.QuestionLife.Duration()
	row := func(s confirmation.State) confirmation.Row {
		return confirmation.Row{Grant: whose, Pin: pin, Input: input, State: s, AskedAt: decided.Add(-time.Hour), DecidedAt: decided}
	}
	otherPin := pin
	otherPin.Method = digest.Of(digest.Method, []byte("m2"))
	for _, c := range []struct {
		name  string
		row   confirmation.Row
		input digest.Digest
		grant id.Grant
		pin   grant.Pin
		now   time.Time
		want  bool
	}{
		{"as soon as it is said", row(confirmation.Denied), input, whose, pin, decided, true},
		{"a nanosecond before its end", row(confirmation.Denied), input, whose, pin, decided.Add(held - 1), true},
		{"at its end", row(confirmation.Denied), input, whose, pin, decided.Add(held), false},
		{"for another input", row(confirmation.Denied), digest.Of(digest.Input, []byte("args ")), whose, pin, decided, false},
		{"under another grant", row(confirmation.Denied), input, id.New[id.Grant](), pin, decided, false},
		{"for another method", row(confirmation.Denied), input, whose, otherPin, decided, false},
		{"open", row(confirmation.Open), input, whose, pin, decided, false},
		{"approved", row(confirmation.Approved), input, whose, pin, decided, false},
		{"used", row(confirmation.Used), input, whose, pin, decided, false},
		{"no row", confirmation.Row{}, digest.Digest{}, id.Grant{}, grant.Pin{}, time.Time{}, false},
	} {
		if got := c.row.Refuses(c.input, c.grant, c.pin, c.now); got != c.want {
			t.Errorf("%s: it refuses: %v", c.name, got)
		}
	}
}

// Every state and both decisions. Deciding the same way again moves nothing, so
// it gives an approval no longer life (field faults, FF100).
func TestDecide(t *testing.T) {
	which, whose := id.New[id.Confirmation](), id.New[id.Grant]()
	at := func(s confirmation.State, when time.Time) confirmation.Row {
		return confirmation.Row{ID: which, Grant: whose, Pin: pin, Input: input, Args: []byte("{}"), State: s, AskedAt: decided, DecidedAt: when}
	}
	askedAt := func(asked time.Time, s confirmation.State, when time.Time) confirmation.Row {
		r := at(s, when)
		r.AskedAt = asked
		return r
	}
	later, waits := decided.Add(time.Minute), bound.QuestionLife.Duration()
	for _, c := range []struct {
		from    confirmation.Row
		approve bool
		want    confirmation.Row
		refused bool
	}{
		{at(confirmation.Open, time.Time{}), true, at(confirmation.Approved, later), false},
		{at(confirmation.Open, time.Time{}), false, at(confirmation.Denied, later), false},
		{askedAt(later.Add(1-waits), confirmation.Open, time.Time{}), true, askedAt(later.Add(1-waits), confirmation.Approved, later), false},
		{askedAt(later.Add(-waits), confirmation.Open, time.Time{}), true, askedAt(later.Add(-waits), confirmation.Open, time.Time{}), true},
		{askedAt(later.Add(-waits), confirmation.Open, time.Time{}), false, askedAt(later.Add(-waits), confirmation.Open, time.Time{}), true},
		{at(confirmation.Approved, decided), true, at(confirmation.Approved, decided), false},
		{at(confirmation.Approved, decided), false, at(confirmation.Approved, decided), true},
		{at(confirmation.Denied, decided), false, at(confirmation.Denied, decided), false},
		{at(confirmation.Denied, decided), true, at(confirmation.Denied, decided), true},
		{at(confirmation.Used, decided), true, at(confirmation.Used, decided), true},
		{at(confirmation.Used, decided), false, at(confirmation.Used, decided), true},
	} {
		got, err := c.from.Decide(c.approve, later)
		if fault.Is(err, fault.Conflict) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s, approve %v: %v", c.from.State, c.approve, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s, approve %v (-want +got)\n%s", c.from.State, c.approve, diff)
		}
	}
}
