package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// collectAt trades memory for speed, in percent, since a call leaves mostly garbage.
	collectAt = 400

	// aim is where that trade ends: beyond it, in bytes, the collector works harder
	// instead of letting the process grow (quality page, section 1).
	aim = 80 << 20

	// room is what is left for garbage, in bytes, where what is in use comes near to
	// the aim. Less would have the collector work all the time.
	room = 32 << 20

	lookEvery = time.Second
)

// frugal sets the collector up, unless the environment does, and returns what is to
// run beside the host.
func frugal() (run func(context.Context)) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return func(context.Context) {}
	}
	debug.SetMemoryLimit(aim)
	return follow
}

// follow keeps the limit above what is in use until ctx ends.
func follow(ctx context.Context) {
	limit := int64(aim)
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if next := limitFor(inUse()); next != limit {
			limit = next
			debug.SetMemoryLimit(limit)
		}
	}
}

// limitFor is the limit of a process that uses so many bytes, in steps of its room.
func limitFor(used int64) int64 {
	want := used + used/2 + room
	if want <= aim {
		return aim
	}
	return (want + room - 1) / room * room
}

// inUse is what the process cannot do without: what the last collection left, stacks,
// and the runtime's own.
func inUse() (bytes int64) {
	read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/metadata/other:bytes"},
		{Name: "/memory/classes/metadata/mcache/inuse:bytes"}, {Name: "/memory/classes/metadata/mspan/inuse:bytes"}, {Name: "/memory/classes/other:bytes"}}
	metrics.Read(read)
	for _, s := range read {
		bytes += int64(s.Value.Uint64())
	}
	return bytes
}
