package trouble_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

var hints = trouble.Hints{List: "steward apps list", Help: "steward apps add --help", Form: "steward resources show x y"}

// The faces page, section 1: what each code means to whoever typed a command.
func TestEveryCodeHasAnExitAndANextStep(t *testing.T) {
	want := map[fault.Code]int{
		"invalid_request": 2, "unauthenticated": 1, "grant_required": 11, "needs_consent": 11, "confirmation_required": 11,
		"not_found": 12, "tx_in_progress": 10, "conflict": 1, "tx_expired": 1, "precondition_failed": 1, "too_large": 1,
		"invalid_args": 1, "tx_mismatch": 1, "precondition_required": 1, "rate_limited": 10, "budget_exhausted": 10,
		"internal": 1, "unsupported": 1, "upstream_failed": 1, "unavailable": 10, "indeterminate": 11,
		"malformed_record": 1, "record_too_large": 1, "invalid_envelope": 1, "unsupported_version": 1, "not_initialized": 1,
		"already_initialized": 1, "stale_connection": 1, "duplicate_request": 1, "unknown_method": 1, "unsupported_capability": 1,
		"invalid_payload": 1, "operation_already_known": 1, "unknown_session": 12, "session_busy": 10, "stale_control": 1,
		"resource_not_found": 12, "unknown_turn": 12, "configuration_busy": 10, "capability_denied": 1, "timed_out": 10, "limit_exceeded": 1, "persistence_failed": 10,
		"shutting_down": 10, "internal_error": 1,
	}
	got := map[fault.Code]int{}
	for _, row := range fault.Rows() {
		tr := trouble.Of(fmt.Errorf("asking: %w", fault.New(row.Code, "no")), hints)
		got[row.Code] = tr.Exit
		if tr.What != "no ("+string(row.Code)+")" || len(tr.Next) < 8 {
			t.Errorf("%s: %+v", row.Code, tr)
		}
		fixed := trouble.Of(fault.New(row.Code, "no").With("fix", "steward review x"), hints)
		if fixed.Next != "steward review x" || fixed.Exit != tr.Exit {
			t.Errorf("%s with a fix: %+v", row.Code, fixed)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHintsOfTheCommandStandInTheirPlace(t *testing.T) {
	for code, next := range map[fault.Code]string{fault.NotFound: hints.List, fault.Conflict: hints.List, fault.InvalidRequest: hints.Help, fault.InvalidArgs: hints.Form} {
		if got := trouble.Of(fault.New(code, "no"), hints).Next; got != next {
			t.Errorf("%s: next is %q, want %q", code, got, next)
		}
	}
	own := trouble.New(trouble.Unsafe, "what", "next")
	if diff := cmp.Diff(&trouble.Trouble{Exit: trouble.Unsafe, What: "what", Next: "next"}, trouble.Of(fmt.Errorf("x: %w", own), hints)); diff != "" {
		t.Error(diff)
	}
	if got := trouble.Of(errors.New("odd"), hints); got.Exit != trouble.Failed || got.What != "odd" || got.Next == "" {
		t.Errorf("another error became %+v", got)
	}
}

func TestOfUp(t *testing.T) {
	broken := fault.New(fault.Conflict, "the store is newer")
	for name, c := range map[string]struct {
		err  error
		exit int
	}{
		"in use":  {fmt.Errorf("x: %w", syscall.EADDRINUSE), trouble.Later},
		"denied":  {&os.PathError{Op: "mkdir", Path: "p", Err: syscall.EACCES}, trouble.Unsafe},
		"fault":   {broken, trouble.Failed},
		"trouble": {trouble.New(trouble.Unsafe, "a", "b"), trouble.Unsafe},
		"other":   {errors.New("x"), trouble.Failed},
	} {
		got := trouble.Of(trouble.OfUp(c.err, "127.0.0.1:7777", "/f"), hints)
		if got.Exit != c.exit || got.What == "" || got.Next == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if err := trouble.OfUp(nil, "", ""); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for address, want := range map[string]int{
		"127.0.0.1:7777": 0, "127.9.9.9:0": 0, "[::1]:65535": 0, "localhost:1": 0,
		"0.0.0.0:1": trouble.Unsafe, ":1": trouble.Unsafe, "[::]:1": trouble.Unsafe, "192.168.1.2:80": trouble.Unsafe,
		"[::ffff:10.0.0.1]:1": trouble.Unsafe, "localhost.example:1": trouble.Unsafe,
		"": trouble.Usage, "7777": trouble.Usage, "127.0.0.1": trouble.Usage, "127.0.0.1:x": trouble.Usage, "127.0.0.1:65536": trouble.Usage,
	} {
		got := 0
		if err := trouble.CheckListen(address); err != nil {
			got = trouble.Of(err, hints).Exit
		}
		if got != want {
			t.Errorf("%q: %d, want %d", address, got, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	const inv = "inv_1"
	answer := func(status string, code fault.Code, details map[string]any) adminwire.Answer {
		return adminwire.Answer{Invocation: inv, Status: status, Error: &adminwire.Error{Code: string(code), Message: "m", Details: details}}
	}
	for name, c := range map[string]struct {
		answer adminwire.Answer
		want   trouble.Trouble
	}{
		"doubt": {answer("indeterminate", fault.Indeterminate, map[string]any{"reason": "timeout"}),
			trouble.Trouble{Exit: trouble.Owner, What: "m (indeterminate), reason timeout",
				Next: "find out what happened, then steward journal reconcile inv_1 happened, did-not or give-up"}},
		"failure": {answer("error", fault.UpstreamFailed, nil),
			trouble.Trouble{Exit: trouble.Failed, What: "m (upstream_failed)", Next: "steward journal show inv_1"}},
		"refusal": {answer("error", fault.ConfirmationRequired, map[string]any{"fix": "steward confirm approve cnf_1"}),
			trouble.Trouble{Exit: trouble.Owner, What: "m (confirmation_required)", Next: "steward confirm approve cnf_1"}},
	} {
		var got *trouble.Trouble
		if err := trouble.OfAnswer(c.answer, hints); !errors.As(err, &got) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, *got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if err := trouble.OfAnswer(adminwire.Answer{Status: "ok"}, hints); err != nil {
		t.Errorf("an ok became %v", err)
	}
}
