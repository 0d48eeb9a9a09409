package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/admin"
	"github.com/stewardhost/steward/internal/faces/admin/metrics"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/faces/httpguard"
	"github.com/stewardhost/steward/internal/service/alarms"
)

// watch makes what others see of the host's state.
func (p *parts) watch() {
	p.alarms = alarms.Watch{Fenced: p.store.Fenced, Full: p.store.Full, Behind: p.store.ClockBehind, Doubts: p.store.Doubts,
		Away: func() error { return p.capsules.Away() }, Shared: func() string { return p.capsules.Shared() }, Damage: p.form.Found, Now: time.Now}
	p.metrics = metrics.New(version, p.reading)
	p.port.Watch(func(c authority.Caller, a invocation.Answer, took time.Duration) {
		p.metrics.Call(string(c.Audience), a.Status == invocation.Underway, a.Fault, took)
	})
}

// reading is what the metrics ask for; what cannot be read stays zero.
func (p *parts) reading(ctx context.Context) metrics.Reading {
	s := p.store.Stats()
	r := metrics.Reading{Fenced: p.store.Fenced() != nil, Full: p.store.Full(ctx), Behind: p.store.ClockBehind(), Commits: s.Commits, Jobs: s.Jobs,
		Checkpoints: s.Checkpoints, Waiting: s.Waiting, Denials: p.store.Denials(), Upstreams: p.fleet.States(), Damage: len(p.form.Found())}
	r.DatabaseBytes, r.LogBytes = p.store.Sizes()
	if n, oldest, err := p.store.Doubts(ctx); err == nil && n > 0 {
		r.Doubts, r.OldestDoubt = n, time.Since(oldest)
	}
	return r
}

// watched is the listener of the metrics, if there is one; the zero value is none.
type watched struct {
	where    string
	server   *http.Server
	listener net.Listener
}

// watched opens the listener that the owner named: nothing, a loopback address, or
// socket for one beside the owner's own.
func (p *parts) watched(ctx context.Context, at string, local *admin.Listener, log *slog.Logger) (w watched, err error) {
	if at == "" {
		return w, nil
	}
	w.where = "http://" + at + "/metrics"
	if at == trouble.MetricsSocket {
		var path string
		w.listener, path, err = local.Beside(metricsSocket)
		w.where = path
	} else if w.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", at); err == nil {
		w.where = "http://" + w.listener.Addr().String() + "/metrics"
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return watched{}, trouble.New(trouble.Later, "something else listens on "+at+", which --metrics names", "steward up --metrics 127.0.0.1:0")
	}
	if err != nil {
		return watched{}, fmt.Errorf("the metrics cannot be served: %w", err)
	}
	guarded, err := httpguard.New(p.metrics.Handler(), log, httpguard.Options{})
	if err != nil {
		return watched{}, err
	}
	w.server = httpguard.NewServer(guarded, log)
	return w, nil
}

const metricsSocket = "metrics.sock"

// close ends the listener at once: nobody is owed a scrape.
func (w watched) close() error {
	if w.server == nil {
		return nil
	}
	return w.server.Close()
}

// ready answers whether calls are taken, with the names of what its owner should
// know.
func ready(w http.ResponseWriter, list []alarms.Alarm) {
	if len(list) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	status := http.StatusOK
	for _, a := range list {
		if a.Kind.Stops() {
			status = http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	for _, a := range list {
		_, _ = io.WriteString(w, string(a.Kind)+"\n")
	}
}
