package live_test

import (
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// A no is kept over restarts: it waits for nobody, --all leaves it out, and only
// its own name approves it.
func TestANoIsRemembered(t *testing.T) {
	h, config, _ := notes(t)
	h.Import(config)
	waiting := func() int {
		var s adminwire.Status
		h.JSON(&s, "status")
		return s.Count.Review
	}
	before := waiting()
	typed(t, h, 1, "review", "--decline", "my notes", "--methods", "send_note", "--shown", "sha256:"+strings.Repeat("0", 64))
	typed(t, h, 1, "review", "--decline", "my notes", "--methods", "send_note,no_such")
	typed(t, h, 2, "review", "--decline", "my notes")
	if n := waiting(); n != before {
		t.Errorf("%d wait after refused answers, %d before", n, before)
	}
	typed(t, h, 0, "review", "--decline", "my notes", "--methods", "send_note")
	h.Restart()
	if n := waiting(); n != before-1 {
		t.Errorf("%d wait, %d before the no", n, before)
	}
	if list := typed(t, h, 0, "review", "--effect", "communicate"); !strings.Contains(list.out, "No such method waits") {
		t.Errorf("%s", list.out)
	}
	if list := typed(t, h, 0, "review", "--effect", "communicate", "--declined"); !strings.Contains(list.out, "send_note") {
		t.Errorf("%s", list.out)
	}
	typed(t, h, 0, "review", "--approve", "my notes", "--all")
	if n := waiting(); n != 0 {
		t.Errorf("%d wait after a yes to all", n)
	}
	for _, m := range h.Review("my notes").Methods {
		if declined := m.Answer == "no"; declined != (m.State == "proposed") || declined != (m.Method == "send_note") {
			t.Errorf("%s is %s, and the answer was %q", m.Method, m.State, m.Answer)
		}
	}
	typed(t, h, 1, "review", "--reaffirm", "my notes")
	typed(t, h, 0, "review", "--approve", "my notes", "--methods", "send_note")
}
