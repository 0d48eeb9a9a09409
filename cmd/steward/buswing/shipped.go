package buswing

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/stewardhost/steward/capsule"
	"github.com/stewardhost/steward/examples/files"
	"github.com/stewardhost/steward/internal/adapters/capsulehost"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/introspection"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// Verb is the hidden verb of the capsules that come with the host.
const Verb = "capsule-run"

// introspect is the handler of the capsule that shows the owner's own host.
func (w *Wing) introspect() capsulehost.Handler {
	store := w.parts.Store
	ports := introspection.Ports{
		Apps: store.Apps,
		Grants: func(ctx context.Context, owner id.Owner) ([]view.Grant, error) {
			return store.Grants(ctx, owner, id.Client{})
		},
		Calls: func(ctx context.Context, owner id.Owner) ([]view.Invocation, error) {
			page, _, err := store.Invocations(ctx, owner, view.JournalFilter{})
			return page, err
		},
		Capsules: func() (out []introspection.Capsule) {
			for _, s := range w.host.Standing() {
				out = append(out, introspection.Capsule{Name: s.Name, Version: s.Version, State: string(s.State), Restarts: s.Restarts})
			}
			return out
		},
	}
	const mimeType = "application/json"
	return capsulehost.Handler{
		Describe: func(context.Context, topic.Principal) (out []capsulewire.ResourceDefinition, err error) {
			for _, s := range introspection.Subjects() {
				kind := mimeType
				out = append(out, capsulewire.ResourceDefinition{URI: s.URI, Name: s.Name, Description: &s.Description, MimeType: &kind})
			}
			return out, nil
		},
		Read: func(ctx context.Context, _ topic.Principal, uri string) ([]capsulewire.ResourceContents, bool, error) {
			text, known, err := ports.Read(ctx, w.parts.Owner, uri)
			return []capsulewire.ResourceContents{capsule.Text(uri, mimeType, string(text))}, known, err
		},
	}
}

// Run is a capsule that comes with the host.
func Run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if len(args) != 2 || args[0] != "files" {
		fmt.Fprintln(os.Stderr, "usage: files FOLDER")
		return 2
	}
	if err := files.Serve(ctx, args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
