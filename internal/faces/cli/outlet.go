package cli

import (
	"io"

	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

// outlet is a stream that remembers why it could not take something, since few
// of those who print can say so.
type outlet struct {
	io.Writer
	bad error
}

func (o *outlet) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.bad == nil {
		o.bad = err
	}
	return n, err
}

// unprinted is why a part of the output is missing, if it is.
func (d *desk) unprinted() error {
	if o, ok := d.out.(*outlet); ok {
		return o.bad
	}
	return nil
}

// unheard is the trouble of a command that did its work and could not tell of it.
func (d *desk) unheard() error {
	bad := d.unprinted()
	if bad == nil {
		return nil
	}
	return trouble.New(trouble.Failed, "it is done, but could not be printed: "+bad.Error(), nextStatus)
}
