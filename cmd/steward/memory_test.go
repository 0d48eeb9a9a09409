package main

import "testing"

func TestTheLimitStaysAboveWhatIsInUse(t *testing.T) {
	last := int64(0)
	for used := int64(0); used < 4<<30; used += 5 << 20 {
		got := limitFor(used)
		if got < aim || got < last || got > aim && (got < used+used/2+room || got > used+used/2+2*room) {
			t.Errorf("%d in use: a limit of %d after one of %d", used, got, last)
		}
		last = got
	}
}
