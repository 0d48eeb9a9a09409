package httpguard

import (
	"errors"
	"net"
	"testing"
)

// pipes is a listener of pipes in memory; it counts who asks for the next one.
type pipes struct {
	net.Listener
	asked chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	p.asked <- struct{}{}
	c, _ := net.Pipe()
	return c, nil
}

func (p *pipes) Close() error { return nil }

// One connection over the bound waits until another ends, once however often it
// is closed, and the end of the listener ends the waiting.
func TestConnectionsAreBounded(t *testing.T) {
	p := &pipes{asked: make(chan struct{}, 8)}
	l := Limit(p, 2)
	var open []net.Conn
	for range 2 {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	accepted := make(chan error)
	go func() {
		for {
			_, err := l.Accept()
			accepted <- err
			if err != nil {
				return
			}
		}
	}()
	open[0].Close()
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	open[0].Close()
	l.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if got := len(p.asked); got != 3 {
		t.Errorf("%d connections were taken, want 3", got)
	}
}
