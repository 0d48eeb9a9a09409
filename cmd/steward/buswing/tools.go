package buswing

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost"
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/tool"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/broker"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/workbench"
)

func (w *Wing) newTools() *workbench.Workbench {
	return workbench.New(workbench.Ports{
		Life:     func(p topic.Principal, s topic.Source) (int64, bool) { return w.host.Life(p, s) },
		CallTime: func(s topic.Source) time.Duration { return w.host.CallTime(s) },
		AskTools: func(q tool.Question, deadline time.Time) error {
			bus, err := w.open()
			if err != nil {
				return err
			}
			return bus.AskTools(q, deadline)
		},
		Execute: func(q tool.Question, name string, arguments []byte, deadline time.Time) (bool, error) {
			bus, err := w.open()
			if err != nil {
				return false, err
			}
			return bus.Execute(q, name, arguments, deadline)
		},
		Cancel: w.askCancel,
		Merge: func(ctx context.Context, adapter id.Adapter, offered []tool.Definition) error {
			return w.parts.Merge(ctx, adapter, listedOf(offered))
		},
		Dropped: func(a tool.Answer, why describe.Reason, count int) {
			w.tell(broker.Event{Kind: broker.Dropped, Source: a.Source, Why: why, Count: count})
		},
	})
}

func listedOf(offered []tool.Definition) importer.Listed {
	out := importer.Listed{By: resource.ByCapsule}
	for _, d := range offered {
		out.Tools = append(out.Tools, importer.Tool{Name: d.Name, Raw: d.Raw, Trouble: d.Trouble})
	}
	return out
}

func (w *Wing) joined(p topic.Principal) {
	w.Joined(p)
	w.tools.Joined(p)
}

func (w *Wing) left(p topic.Principal, s topic.Source) {
	w.Left(p, s)
	w.tools.Left(p, s)
}

func (w *Wing) severed(p topic.Principal) {
	w.Severed(p)
	w.tools.Severed()
}

// place gives a capsule that has tools, or had, its bench.
func (w *Wing) place(ctx context.Context, c capsulehost.Installed, tools bool) error {
	adapter, err := w.parts.Store.ServeTools(ctx, w.parts.Owner, resource.AliasCapsule+c.Name, tools)
	if err == nil && !adapter.IsZero() {
		w.tools.Place(adapter, topic.PrincipalOf(w.parts.Owner), w.host.SourceOf(c), tools)
	}
	return err
}

// look waits until what a capsule offers is in the pool.
func (w *Wing) look(ctx context.Context, c capsulehost.Installed) error {
	bench, ok := w.tools.Of(topic.PrincipalOf(w.parts.Owner), w.host.SourceOf(c))
	if !ok {
		return nil
	}
	return bench.Open(ctx)
}

// free refuses a name that another resource has, since a name that means two means
// neither.
func (w *Wing) free(ctx context.Context, name string) error {
	r, err := w.parts.Store.Resource(ctx, w.parts.Owner, name)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && r.Row.Alias == resource.AliasCapsule+name:
		return nil
	case err != nil:
		return err
	case r.Row.Kind == resource.Connection:
		return fault.Newf(fault.Conflict, "an imported server has the name %s; give the capsule another in its Capsule.toml, or take the server out", name).
			With("fix", "steward import --remove "+name)
	}
	return fault.Newf(fault.Conflict, "another resource has the name %s; give the capsule another in its Capsule.toml", name).
		With("fix", "steward resources show "+name)
}

func (w *Wing) remove(ctx context.Context, name string) error {
	alias := resource.AliasCapsule + name
	adapter, err := w.parts.Store.ServeTools(ctx, w.parts.Owner, alias, false)
	if err == nil {
		w.tools.Clear(adapter)
		err = w.parts.Store.RemoveCapsule(ctx, w.parts.Owner, alias)
	}
	return err
}

// Executor is what executes the tools of an adapter, false if it is no capsule.
func (w *Wing) Executor(adapter id.Adapter) (dispatch.Executor, bool) {
	b, ok := w.tools.Bench(adapter)
	if !ok {
		return nil, false
	}
	return b, true
}

// Tools asks a capsule which tools it has, false if the adapter is none.
func (w *Wing) Tools(ctx context.Context, adapter id.Adapter) (importer.Listed, bool, error) {
	b, ok := w.tools.Bench(adapter)
	if !ok {
		return importer.Listed{}, false, nil
	}
	offered, err := b.List(ctx)
	return listedOf(offered), true, err
}

// Connection tells how a capsule stands whose tools are an adapter's.
func (w *Wing) Connection(adapter id.Adapter) (view.Connection, bool) {
	b, ok := w.tools.Bench(adapter)
	if !ok {
		return view.Connection{}, false
	}
	out := view.Connection{State: view.ConnectionIdle}
	for _, s := range w.host.Statuses() {
		if s.Source == b.Source() {
			out.PID, out.Restarts, out.Reason = s.PID, s.Restarts, s.Reason
			if s.State == capsulehost.Ready {
				out.State = view.ConnectionReady
			} else if s.State != capsulehost.Starting && s.State != capsulehost.Compiling {
				out.State = view.ConnectionFailed
			}
		}
	}
	if bad := b.Trouble(); bad != nil && out.State == view.ConnectionReady {
		out.State, out.Reason = view.ConnectionFailed, fault.From(bad).Text
	}
	return out, true
}
