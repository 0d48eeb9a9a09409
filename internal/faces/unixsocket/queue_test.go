package unixsocket

import (
	"net"
	"testing"
)

// Who reads an answer may use its ID again at once, so the ID is free before the first
// byte is out.
func TestAnIDIsFreeBeforeItsAnswerIsRead(t *testing.T) {
	ours, theirs := net.Pipe()
	free := false
	q := newQueue(ours, func(request string) { free = request == "r1" })
	q.put(outgoing{[]byte("{}\n"), "r1"})
	done := make(chan struct{})
	go func() { defer close(done); q.run() }()
	one := make([]byte, 1)
	if _, err := theirs.Read(one); err != nil || !free { // the rest is not read, so the write goes on
		t.Errorf("the answer comes, %v, and the ID is free: %v", err, free)
	}
	q.close(false)
	theirs.Close()
	<-done
}
