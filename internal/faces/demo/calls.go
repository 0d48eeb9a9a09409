package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

const (
	noteTitle = "groceries"
	noteText  = "bread, olives, and a lemon"
	slowMS    = 15_000 // long enough for the story to cut the call
)

// rpc sends a call of an imported method over /rpc/v1.
func (s *story) rpc(tx, method string, args map[string]any) (rpcwire.Response, error) {
	var at adminwire.Review
	if err := s.ask(&at, "resources", "show", server, "--json"); err != nil {
		return rpcwire.Response{}, err
	}
	return s.rpcTo(tx, at.Resource.ID, at.Methods[0].Contract, method, args)
}

func (s *story) rpcTo(tx, resource, contract, method string, args map[string]any) (rpcwire.Response, error) {
	var got rpcwire.Response
	raw, err := strictjson.Encode(args)
	if err != nil {
		return got, err
	}
	body, err := strictjson.Encode(rpcwire.Request{V: rpcwire.Version, Tx: tx, Resource: resource, Contract: contract,
		Method: method, Args: rpcwire.Raw(raw)})
	if err != nil {
		return got, err
	}
	answer, err := s.post(rpcwire.Call.Path, s.app.rpc, body, nil)
	if err != nil {
		return got, err
	}
	if err := strictjson.Decode(answer, strictjson.Limits{}, &got); err != nil {
		return got, fmt.Errorf("not a response: %q: %w", answer, err)
	}
	return got, nil
}

func (s *story) confirmSend() error {
	args := map[string]any{"title": noteTitle, "to": "neighbour"}
	asked, err := s.modernCall("send_note", args)
	if err != nil {
		return err
	}
	if err := must(asked.isError && strings.Contains(asked.message, "confirm"), "it was not held for a confirmation: %s", asked.raw); err != nil {
		return err
	}
	s.say("  send_note -> %s", asked.message)
	if err := must(s.outbox() == 0, "something was sent without a confirmation"); err != nil {
		return err
	}
	if err := s.approveOpen(); err != nil {
		return err
	}
	sent, err := s.modernCall("send_note", args)
	if err != nil {
		return err
	}
	s.say("  send_note -> %s", sent.message)
	return must(!sent.isError && s.outbox() == 1, "after the confirmation: %s; %d sent", sent.raw, s.outbox())
}

func (s *story) approveOpen() error {
	var open adminwire.Confirmations
	if err := s.ask(&open, "confirm", "list", "--json"); err != nil {
		return err
	}
	if err := must(len(open.Confirmations) == 1, "%d open questions, want 1", len(open.Confirmations)); err != nil {
		return err
	}
	_, err := s.tell("confirm", "approve", open.Confirmations[0].ID)
	return err
}

// outbox counts what the server really sent, by looking at its own folder.
func (s *story) outbox() int {
	raw, err := os.ReadFile(filepath.Join(s.notes(), "outbox.jsonl"))
	if err != nil {
		return 0
	}
	return strings.Count(string(raw), "\n")
}

func (s *story) replay() error {
	tx := id.NewTx(time.Now()).String()
	args := map[string]any{"title": "diary", "text": "once"}
	first, err := s.rpc(tx, "write_note", args)
	if err != nil {
		return err
	}
	second, err := s.rpc(tx, "write_note", args)
	if err != nil {
		return err
	}
	s.say("  first:  status %s, replayed %v", first.Status, first.Replayed)
	s.say("  second: status %s, replayed %v, the same result", second.Status, second.Replayed)
	ok := first.Status == rpcwire.OK && !first.Replayed && second.Status == rpcwire.OK && second.Replayed &&
		string(first.Result) == string(second.Result)
	if err := must(ok, "%+v, then %+v", first, second); err != nil {
		return err
	}
	other, err := s.rpc(tx, "write_note", map[string]any{"title": "diary", "text": "twice"})
	if err != nil {
		return err
	}
	s.say("  other arguments under the same tx: %s", other.Error.Code)
	return must(other.Error.Code == "tx_mismatch", "%+v", other)
}

func (s *story) refuse() error {
	const contract = "https://steward.invalid/contracts/item-store/v1"
	got, err := s.rpcTo(id.NewTx(time.Now()).String(), "@items", contract, "list", map[string]any{})
	if err != nil {
		return err
	}
	if err := must(got.Error != nil && got.Error.Code == "not_found", "%+v", got); err != nil {
		return err
	}
	s.say("  @items list -> %s: %s", got.Error.Code, got.Error.Message)
	return nil
}

// attempt is the call that the story cuts.
type attempt struct {
	tx   string
	args map[string]any
	id   string // of the invocation
}

func (s *story) cut() error {
	s.sent = attempt{tx: id.NewTx(time.Now()).String(), args: map[string]any{"title": noteTitle, "to": "aunt", "delay_ms": slowMS}}
	asked, err := s.rpc(s.sent.tx, "send_note", s.sent.args)
	if err != nil {
		return err
	}
	if err := must(asked.Error != nil && asked.Error.Code == "confirmation_required", "%+v", asked); err != nil {
		return err
	}
	if err := s.approveOpen(); err != nil {
		return err
	}
	type outcome struct {
		got rpcwire.Response
		err error
	}
	answered := make(chan outcome, 1)
	go func() {
		got, err := s.rpc(s.sent.tx, "send_note", s.sent.args)
		answered <- outcome{got, err}
	}()
	if err := s.waitFor(s.underway); err != nil {
		return err
	}
	if err := s.killServer(); err != nil {
		return err
	}
	o := <-answered
	if o.err != nil {
		return o.err
	}
	s.say("  send_note -> status %s, effects %s: %s", o.got.Status, o.got.Effects, o.got.Error.Message)
	return must(o.got.Status == rpcwire.Indeterminate && o.got.Effects == rpcwire.Uncertain, "%+v", o.got)
}

// underway is content once the journal says that the call is being dispatched.
func (s *story) underway() error {
	var row adminwire.Invocation
	if err := s.ask(&row, "journal", "show", s.sent.tx, "--json"); err != nil {
		return err
	}
	s.sent.id = row.ID
	return must(row.State == "dispatching", "the call is %s", row.State)
}

func (s *story) heldBack() error {
	got, err := s.rpc(id.NewTx(time.Now()).String(), "send_note", s.sent.args)
	if err != nil {
		return err
	}
	ok := got.Error != nil && got.Error.Code == "conflict" && got.Effects == rpcwire.NotDispatched &&
		got.Error.Details["held_by"] == s.sent.tx
	if err := must(ok, "%+v", got); err != nil {
		return err
	}
	s.say("  the same again, new tx -> %s: %s", got.Error.Code, got.Error.Message)
	_, err = s.tell("journal", "list", "--indeterminate")
	return err
}

func (s *story) reconcile() error {
	s.say("The owner looks into the server's outbox: %d message, so the cut one was not sent.", s.outbox())
	if err := must(s.outbox() == 1, "%d messages were sent", s.outbox()); err != nil {
		return err
	}
	if _, err := s.tell("journal", "reconcile", s.sent.id, "did-not"); err != nil {
		return err
	}
	if _, err := s.tell("journal", "show", s.sent.id); err != nil {
		return err
	}
	got, err := s.rpc(s.sent.tx, "send_note", s.sent.args)
	if err != nil {
		return err
	}
	s.say("  the same tx now says: %s, effects %s", got.Error.Code, got.Effects)
	return must(got.Status == rpcwire.Failed && got.Replayed, "%+v", got)
}
