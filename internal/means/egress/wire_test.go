package egress

import (
	"net"
	"testing"
)

// slipping is a connection to which somebody writes in the moment of its end.
type slipping struct {
	net.Conn
	last func()
}

func (s slipping) Close() error                { s.last(); return nil }
func (s slipping) Write(p []byte) (int, error) { return len(p), nil }

// A write that slips in while the connection is cut off counts as one (I59).
func TestACutCountsTheLastWrite(t *testing.T) {
	for _, writes := range []bool{false, true} {
		w := &wire{}
		w.Conn = slipping{last: func() {
			if writes {
				_, _ = w.Write([]byte("POST"))
			}
		}}
		if got := w.cut(); got != writes {
			t.Errorf("written %v, told %v", writes, got)
		}
	}
}
