package mcpfile

import (
	"errors"
	"sync"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// atOnce bounds the servers that are asked for at the same time.
const atOnce = 4

// Each asks for every server that could be located, a few at a time, and gives
// those that were refused in their places; the others are zero values. Starting
// is told of each before it is asked for. Do is called from several goroutines,
// all of which have ended when Each returns. The error is of the way to the host.
func Each(servers []Located, starting func(name string), do func(n int, one adminwire.Import) error) ([]adminwire.FailedServer, error) {
	errs := make([]error, len(servers))
	gate := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for n, s := range servers {
		if s.Fault != nil {
			errs[n] = s.Fault
			continue
		}
		gate <- struct{}{}
		starting(s.Server.Name)
		wg.Go(func() {
			errs[n] = do(n, adminwire.Import{Servers: []adminwire.Server{s.Server}})
			<-gate
		})
	}
	wg.Wait()
	failed := make([]adminwire.FailedServer, len(servers))
	for n, err := range errs {
		var f *fault.Fault
		if errors.As(err, &f) {
			errs[n] = nil
			failed[n] = adminwire.FailedServer{Server: servers[n].Server.Name, Error: adminwire.Error{
				Code: string(f.Code), Message: f.Text, Retry: string(f.Row().Retry), Details: f.Details}}
		}
	}
	return failed, errors.Join(errs...)
}

// Joined is why a server could not be asked for, or else what the host says.
func Joined(here adminwire.FailedServer, there []adminwire.FailedServer) []adminwire.FailedServer {
	if here.Server != "" {
		return []adminwire.FailedServer{here}
	}
	return there
}
