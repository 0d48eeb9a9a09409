package importer

import (
	"runtime/debug"
	"sync"
)

// lean keeps the collector close behind while something large is worked on. A host
// trades memory for speed, since calls leave mostly garbage; a listing of megabytes
// leaves so much at once that the host would stay several times as large. One lock
// guards it; it is safe for concurrent use.
type lean struct {
	mu     sync.Mutex
	users  int
	before int // what the collector was set to
}

const (
	leanPercent = 25
	large       = 1 << 20 // bytes of definitions from which on this is worth it
)

// Frugally has the host use little memory until the returned function is called,
// which also gives back what is not needed any more.
func (im *Importer) Frugally() (done func()) {
	l := &im.lean
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users++; l.users == 1 {
		l.before = debug.SetGCPercent(leanPercent)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.users--; l.users == 0 {
			debug.SetGCPercent(l.before)
		}
		debug.FreeOSMemory()
	}
}

// sizeOf is how many bytes of definitions were listed.
func sizeOf(l Listed) (size int) {
	for _, t := range l.Tools {
		size += len(t.Raw)
	}
	return size
}
