package owner

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
)

// LedgerStore keeps the journal and the audit trail. The ref of a call is its id
// or its tx.
type LedgerStore interface {
	App(ctx context.Context, owner id.Owner, ref string) (view.App, error)
	Invocations(ctx context.Context, owner id.Owner, f view.JournalFilter) ([]view.Invocation, string, error)
	Invocation(ctx context.Context, owner id.Owner, ref string) (view.Invocation, error)
	Reconcile(ctx context.Context, owner id.Owner, which id.Invocation, say authority.Statement) (invocation.Row, error)
	Refusals(ctx context.Context, owner id.Owner, limit int) ([]view.Denial, error)
	Reads(ctx context.Context, owner id.Owner, limit int) ([]view.Reading, error)
	Verify(ctx context.Context, progress func(done, total int64)) (view.Verification, error)
}

// Ledger is the journal of an owner's calls with the trail that vouches for it.
type Ledger struct{ store LedgerStore }

// NewLedger returns the commands about the journal.
func NewLedger(store LedgerStore) *Ledger { return &Ledger{store} }

// List gives one page of calls, newest first, and the cursor of the next one,
// empty on the last. An app's ref selects its calls; the filter's Client is
// ignored.
func (l *Ledger) List(ctx context.Context, owner id.Owner, appRef string, f view.JournalFilter) ([]view.Invocation, string, error) {
	f.Client = id.Client{}
	if appRef != "" {
		app, err := l.store.App(ctx, owner, appRef)
		if err != nil {
			return nil, "", unknown(err, anApp, appRef, listApps)
		}
		f.Client = app.Client
	}
	return l.store.Invocations(ctx, owner, f)
}

// Show gives one call with its result.
func (l *Ledger) Show(ctx context.Context, owner id.Owner, ref string) (view.Invocation, error) {
	call, err := l.store.Invocation(ctx, owner, ref)
	return call, unknown(err, aCall, ref, listCalls)
}

// Reconcile ends a doubt by what the owner found out.
func (l *Ledger) Reconcile(ctx context.Context, owner id.Owner, ref string, say authority.Statement) (view.Invocation, error) {
	call, err := l.store.Invocation(ctx, owner, ref)
	if err != nil {
		return view.Invocation{}, unknown(err, aCall, ref, listCalls)
	}
	if call.Row, err = l.store.Reconcile(ctx, owner, call.Row.ID, say); err == nil {
		call.Args = nil // they are kept for a doubt
	}
	return call, err
}

// Denied gives the newest attempts that were refused before the journal saw them.
func (l *Ledger) Denied(ctx context.Context, owner id.Owner, limit int) ([]view.Denial, error) {
	return l.store.Refusals(ctx, owner, limit)
}

// Reads gives the newest reads of resources.
func (l *Ledger) Reads(ctx context.Context, owner id.Owner, limit int) ([]view.Reading, error) {
	return l.store.Reads(ctx, owner, limit)
}

// Verify checks the whole trail of the host; progress may be nil.
func (l *Ledger) Verify(ctx context.Context, progress func(done, total int64)) (view.Verification, error) {
	if progress == nil {
		progress = func(_, _ int64) {}
	}
	return l.store.Verify(ctx, progress)
}
