package mcpupstream

import (
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/local"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// NewStdio is the client of a local server that speaks over its standard input
// and output. Nothing is started yet. The command and its environment are the
// operator's choice; see childprocess for what it gets.
func NewStdio(name string, spec childprocess.Spec, opt Options) *Client {
	return newClient(name, opt.Version, func() (local.Link, error) {
		p, err := childprocess.Start(spec, opt.Process)
		if err != nil {
			return local.Link{}, err
		}
		return local.Link{
			In: p.Stdin(), Out: p.Stdout(), PID: p.PID(),
			Stop: p.Stop, Done: p.Done(), Exit: p.Exit, Stderr: p.StderrTail,
		}, nil
	})
}
