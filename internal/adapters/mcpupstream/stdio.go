package mcpupstream

import "github.com/stewardhost/steward/internal/means/childprocess"

// NewStdio is the client of a local server that speaks over its standard input
// and output. Nothing is started yet. The command and its environment are the
// operator's choice; see childprocess for what it gets.
func NewStdio(name string, spec childprocess.Spec, opt Options) *Client {
	return newClient(name, opt.Version, func() (link, error) {
		p, err := childprocess.Start(spec, opt.Process)
		if err != nil {
			return link{}, err
		}
		return link{
			in: p.Stdin(), out: p.Stdout(), pid: p.PID(),
			stop: p.Stop, done: p.Done(), exit: p.Exit, stderr: p.StderrTail,
		}, nil
	})
}
