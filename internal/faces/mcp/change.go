package mcp

import (
	"context"
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Changed says, after a commit, that what a client of the owner may list, or
// whether it is connected, may have changed; a zero client stands for every
// client of the owner. It does not wait.
func (d *Door) Changed(owner id.Owner, client id.Client) {
	d.mu.Lock()
	for k, a := range d.apps {
		if k.owner == owner && (client.IsZero() || k.client == client) {
			a.changed = true
		}
	}
	d.mu.Unlock()
	d.ports.Library.Changed(owner)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run tells clients of changes, ends what has lost its token and what idles,
// until ctx ends; then it ends all sessions and streams. It runs once.
func (d *Door) Run(ctx context.Context) {
	tick := time.NewTicker(bound.MCPRecheck.Duration())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			d.stop()
			return
		case <-d.wake:
		case <-tick.C:
			d.sweep(ctx)
		}
		d.settle(ctx)
	}
}

// settle works off the apps that Changed named.
func (d *Door) settle(ctx context.Context) {
	d.mu.Lock()
	var changed []*app
	for _, a := range d.apps {
		if !a.changed {
			continue
		}
		a.changed = false
		if len(a.seats)+a.opening+len(a.streams) == 0 {
			a.told = nil // nobody to tell
			continue
		}
		changed = append(changed, a)
	}
	d.mu.Unlock()
	for _, a := range changed {
		if err := d.retell(ctx, a); err != nil {
			d.log.Warn("a change cannot be told yet", "client", a.key.client.String(), "err", err)
			d.mu.Lock()
			a.changed = true // the next tick tries again
			d.mu.Unlock()
		}
	}
}

// retell reads what one app may call now and tells its clients if that is new;
// an app without a live token loses what it holds.
func (d *Door) retell(ctx context.Context, a *app) error {
	d.mu.Lock()
	callers := a.callers()
	d.mu.Unlock()
	live, dead, err := d.sort(ctx, callers)
	if err != nil {
		return err
	}
	d.cutOff(a, dead)
	if len(live) == 0 {
		d.end(a)
		return nil
	}
	now, err := d.read(ctx, a, live[0])
	if fault.Is(err, fault.Unauthenticated) {
		return nil // the change that ended it is on its way
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	isNew := a.told == nil || !a.told.Same(now)
	a.told = now
	server := a.server
	for _, s := range a.seats {
		s.missed = s.missed || isNew && !s.streaming
	}
	d.mu.Unlock()
	if isNew && server != nil {
		announce(server)
	}
	return nil
}

// sort tells live callers from those whose token has ended.
func (d *Door) sort(ctx context.Context, callers []authority.Caller) (live, dead []authority.Caller, err error) {
	for _, c := range callers {
		now, found, err := d.ports.Find(ctx, c.Token)
		switch {
		case err != nil:
			return nil, nil, err
		case found && now == c:
			live = append(live, c)
		default:
			dead = append(dead, c)
		}
	}
	return live, dead, nil
}

// cutOff ends the streams of callers whose token has ended.
func (d *Door) cutOff(a *app, dead []authority.Caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range a.streams {
		if slices.ContainsFunc(dead, func(c authority.Caller) bool { return secret.Equal(c.Token, s.caller.Token) }) {
			s.cancel()
		}
	}
}

// end takes sessions and streams from an app (field faults, FF83).
func (d *Door) end(a *app) {
	d.mu.Lock()
	a.catalog, a.told = nil, nil
	for s := range a.streams {
		s.cancel()
	}
	seats := a.seats
	a.seats = make(map[string]*seat)
	d.held -= len(seats)
	d.mu.Unlock()
	for _, s := range seats {
		d.hangUp(s.session)
	}
}

// sweep ends streams whose token ran out or was revoked by another process, and
// sessions that nobody uses.
func (d *Door) sweep(ctx context.Context) {
	type holding struct {
		app     *app
		callers []authority.Caller
		idle    []*seat
	}
	var all []holding
	d.mu.Lock()
	now := d.now()
	for _, a := range d.apps {
		h := holding{app: a}
		if len(a.streams) > 0 {
			h.callers = a.callers()
		}
		for _, s := range a.seats {
			if s.busy == 0 && now.Sub(s.seen) >= bound.MCPSessionIdle.Duration() {
				h.idle = append(h.idle, s)
			}
		}
		if len(h.callers)+len(h.idle) > 0 {
			all = append(all, h)
		}
	}
	d.mu.Unlock()
	for _, h := range all {
		for _, s := range h.idle {
			d.close(h.app, s)
		}
		if _, dead, err := d.sort(ctx, h.callers); err == nil {
			d.cutOff(h.app, dead)
		}
	}
}

// stop ends everything and lets nothing new begin.
func (d *Door) stop() {
	d.mu.Lock()
	d.closed = true
	apps := make([]*app, 0, len(d.apps))
	for _, a := range d.apps {
		apps = append(apps, a)
	}
	d.mu.Unlock()
	for _, a := range apps {
		d.end(a)
	}
}

// remember sets what a new stream counts as told, where nothing is yet. The
// stream is open already, so a change from now on is told in any case.
func (d *Door) remember(ctx context.Context, a *app, c authority.Caller) {
	d.mu.Lock()
	known := a.told != nil
	d.mu.Unlock()
	if known {
		return
	}
	now, err := d.read(ctx, a, c)
	if err != nil {
		return // the first change will be told without a comparison
	}
	d.mu.Lock()
	if a.told == nil {
		a.told = now
	}
	d.mu.Unlock()
}
