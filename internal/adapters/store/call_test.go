package store_test

import (
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
)

func TestACallIsReservedSettledAndReplayed(t *testing.T) {
	p := newPool(t)
	app := p.app(t, p.owner, "editor")
	s := p.upstream(t, p.owner, "notes", "add_note")
	p.approve(t, p.owner, s.resource, "add_note")
	p.grant(t, app, s.resource, grant.ByEffect, "add_note")

	call := p.command(t, app, p.tx(), s.resource.String(), "add_note", `{"text":"x"}`)
	ch, err := p.Reserve(t.Context(), call)
	must(t, err)
	if ch.Action != authority.Dispatch || ch.Row.State != invocation.Dispatching {
		t.Fatalf("%+v", ch)
	}
	answer, err := p.Settle(t.Context(), app, outcome(ch.Row, answered, false))
	must(t, err)
	if answer.Status != invocation.OK {
		t.Fatalf("%+v", answer)
	}
	again, err := p.Reserve(t.Context(), call)
	must(t, err)
	if again.Action != authority.Replay || string(again.Row.Answer().Result) != string(answer.Result) {
		t.Fatalf("%+v", again)
	}
	v := p.holds(t)
	t.Logf("%+v", v)
}
