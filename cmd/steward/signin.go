package main

import (
	"context"
	"log/slog"

	"github.com/stewardhost/steward/internal/adapters/issuer"
	"github.com/stewardhost/steward/internal/adapters/issuer/browser"
	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/means/egress"
	"github.com/stewardhost/steward/internal/service/signin"
)

// newDesk makes the desk; a document is the URL that names steward as a client, or none.
func newDesk(s *store.Store, gate *egress.Gate, document string, log *slog.Logger) *signin.Desk {
	return signin.New(signin.Ports{
		Store: s,
		Issuers: func(exception string) (signin.Issuers, error) {
			way, err := gate.Also(exception)
			return issuer.New(way, issuer.Options{Version: version, Document: document}), err
		},
		Listen: func(ctx context.Context, state string) (signin.Browser, error) {
			return browser.Open(context.WithoutCancel(ctx), state)
		},
		Fix: func(name string) string { return "steward resources authorize " + paper.Word(name) },
		Log: log,
	})
}
