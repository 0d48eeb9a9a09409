package capsulehost

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/mcpserver"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/childprocess"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// patient writes to a process that may have stopped reading.
type patient struct{ to *childprocess.Process }

func (p patient) Write(b []byte) (int, error) {
	if err := p.to.Stdin().SetWriteDeadline(time.Now().Add(bound.BusWrite.Duration())); err != nil {
		return 0, err
	}
	return p.to.Stdin().Write(b)
}

// runServer starts an MCP server and answers with its resources until it ends.
func (r *runtime) runServer(ctx context.Context, seat Seat) error {
	p, err := r.launch()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	server := mcpserver.New(patient{p}, func() { r.host.ports.Joined(r.host.principal) })
	var parts sync.WaitGroup
	parts.Go(func() { end(server.Serve(p.Stdout())) })
	parts.Go(func() {
		opening, cancel := context.WithTimeout(ctx, bound.StartDeadline.Duration())
		err := server.Open(opening, r.host.opt.Version)
		cancel()
		if err == nil {
			err = r.answerInside(ctx, seat, handlerOf(server))
		}
		end(err)
	})
	<-ctx.Done()
	r.reap(p, &parts)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return fault.New(fault.Unavailable, "the server ended: "+p.Exit())
}

func handlerOf(s *mcpserver.Server) Handler {
	return Handler{
		Describe: func(ctx context.Context, _ topic.Principal) ([]capsulewire.ResourceDefinition, error) {
			return s.List(ctx)
		},
		Read: func(ctx context.Context, _ topic.Principal, uri string) ([]capsulewire.ResourceContents, bool, error) {
			return s.Read(ctx, uri)
		},
	}
}
