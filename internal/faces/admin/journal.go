package admin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *Door) journalList(ctx context.Context, req adminwire.ListJournal) (adminwire.Journal, error) {
	state := invocation.State(req.State)
	if req.State != "" && !slices.Contains(invocation.States(), state) {
		return adminwire.Journal{}, at(fault.New(fault.InvalidRequest, "a call has no such state; it is one of "+states()), "/state")
	}
	limit, err := page(req.Limit)
	if err != nil {
		return adminwire.Journal{}, err
	}
	rows, next, err := d.Ledger.List(ctx, d.host.Owner, req.App, view.JournalFilter{State: state, Before: req.Before, Limit: limit})
	return adminwire.Journal{Invocations: each(rows, invocationOf), Next: next}, err
}

// page is how many rows a limit asks for: none is the largest page.
func page(limit int) (int, error) {
	if limit < 0 {
		return 0, at(fault.New(fault.InvalidRequest, "a limit is not negative"), "/limit")
	}
	if err := bound.PageRows.Check(limit); err != nil {
		return 0, at(err, "/limit")
	}
	if limit == 0 {
		limit = bound.PageRows.Int()
	}
	return limit, nil
}

func (d *Door) journalDenied(ctx context.Context, req adminwire.ListDenied) (adminwire.Denied, error) {
	limit, err := page(req.Limit)
	if err != nil {
		return adminwire.Denied{}, err
	}
	rows, err := d.Ledger.Denied(ctx, d.host.Owner, limit)
	return adminwire.Denied{Denied: each(rows, func(v view.Denial) adminwire.Denial {
		out := adminwire.Denial{At: v.At, App: v.App, Subject: resource.Visible(v.Subject), Code: v.Code, Count: max(v.Count, 1),
			Resource: v.Resource, ResourceID: v.ResourceID, Method: resource.Visible(v.Method), Offered: v.Offered}
		if row, known := fault.Lookup(fault.Code(v.Code)); known {
			out.Reason = row.Meaning
		}
		if !v.Client.IsZero() {
			out.AppID = v.Client.String()
		}
		return out
	})}, err
}

// states names all states of a call.
func states() string {
	return strings.Join(each(invocation.States(), func(s invocation.State) string { return string(s) }), ", ")
}

func (d *Door) journalShow(ctx context.Context, req adminwire.JournalRef) (adminwire.Invocation, error) {
	got, err := d.Ledger.Show(ctx, d.host.Owner, req.Invocation)
	return whole(got), err
}

func (d *Door) journalReconcile(ctx context.Context, req adminwire.Reconcile) (adminwire.Invocation, error) {
	got, err := d.Ledger.Reconcile(ctx, d.host.Owner, req.Invocation, authority.Statement(req.Statement))
	return whole(got), err
}

// whole is a call with what a list leaves out of it.
func whole(v view.Invocation) adminwire.Invocation {
	out := invocationOf(v)
	out.Result, out.Args = raw(v.Row.Outcome.Result), raw(v.Args)
	out.LateAt = v.LateAt
	if !v.Confirmation.IsZero() {
		out.Confirmation, out.ConfirmedAt = v.Confirmation.String(), v.ConfirmedAt
	}
	return out
}

func (d *Door) journalVerify(ctx context.Context, _ adminwire.Empty) (adminwire.Verification, error) {
	found, err := d.Ledger.Verify(ctx, nil)
	if err != nil {
		return adminwire.Verification{}, err
	}
	out := adminwire.Verification{
		Holds: found.Break == nil && len(found.Mismatches) == 0, Rows: found.Rows, Invocations: found.Invocations,
		Last: found.Last.String(), Mismatches: found.Mismatches,
	}
	if b := found.Break; b != nil {
		out.Break = &adminwire.Break{Node: b.Node.String(), Epoch: b.Epoch, Seq: b.Seq, What: b.What}
	}
	return out, nil
}

// call executes a method as the owner's own client.
func (d *Door) call(ctx context.Context, req adminwire.Call) (adminwire.Answer, error) {
	out := dispatch.Request{Args: req.Args, If: req.If, Deadline: time.Duration(req.DeadlineMS) * time.Millisecond}
	var err error
	if req.Tx == "" {
		out.Tx, out.Minted = id.NewTx(time.Now()), true
	} else if out.Tx, err = id.Parse[id.Tx](req.Tx); err != nil {
		return adminwire.Answer{}, at(err, "/tx")
	}
	if req.Digest != "" {
		if out.Contract, err = digest.Parse(req.Digest); err != nil {
			return adminwire.Answer{}, at(err, "/contract_digest")
		}
	}
	if req.Ack != "" {
		if out.Ack, err = id.Parse[id.Tx](req.Ack); err != nil {
			return adminwire.Answer{}, at(err, "/ack")
		}
	}
	if req.DeadlineMS < 0 || req.DeadlineMS > bound.CallDeadline.Max {
		return adminwire.Answer{}, at(bound.CallDeadline.Exceeded(), "/deadline_ms")
	}
	var missing error
	if out.Ref, missing, err = d.reference(ctx, req); err != nil {
		return adminwire.Answer{}, err
	}
	caller := authority.Caller{Owner: d.host.Owner, Client: d.host.Hand}
	answer := d.Port.Call(ctx, caller, out)
	if missing != nil && answer.Fault != nil && answer.Fault.Code == fault.NotFound {
		answer.Fault = fault.From(missing)
	}
	return answerOf(answer), nil
}

// reference finds the contract of a method that was named without one. What is not
// there is left to the port, which records the attempt and does not say which it is;
// missing says it, to the owner, who has everything.
func (d *Door) reference(ctx context.Context, req adminwire.Call) (out dispatch.Reference, missing, err error) {
	out = dispatch.Reference{Resource: req.Resource, Contract: req.Contract, Method: req.Method}
	got, err := d.Reviews.Show(ctx, d.host.Owner, req.Resource)
	if fault.Is(err, fault.NotFound) {
		return out, err, nil
	}
	if err != nil {
		return out, nil, err
	}
	out.Resource = got.Row.ID.String()
	if req.Contract != "" {
		return out, nil, nil
	}
	for _, kept := range got.Methods {
		if out.Contract == "" && kept.Method.Definition.ID == req.Method {
			out.Contract = kept.Method.Contract
		}
	}
	if out.Contract == "" {
		missing = fault.Newf(fault.NotFound, "%s has no method %s", resource.Visible(got.Row.Label), resource.Visible(req.Method))
	}
	return out, missing, nil
}

func answerOf(a invocation.Answer) adminwire.Answer {
	out := adminwire.Answer{
		Tx: a.Tx.String(), Invocation: a.Invocation.String(), Status: string(a.Status), Result: raw(a.Result),
		Effects: string(a.Effects), Replayed: a.Replayed, Revision: a.Revision.String(), Version: a.Version, MS: a.Millis,
	}
	if a.Fault != nil {
		e := errorOf(a.Fault)
		out.Error = &e
	}
	if a.Reconciled != nil {
		out.Reconciled = &adminwire.Reconciled{By: a.Reconciled.By, At: a.Reconciled.At}
	}
	return out
}
