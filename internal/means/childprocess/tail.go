package childprocess

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// tail keeps the last bound.StderrBytes bytes that were written to it. It has
// one lock.
type tail struct {
	mask  *strings.Replacer // nil: nothing is masked
	spare int               // bytes of the longest masked text

	mu   sync.Mutex
	kept []byte
	cut  bool // something stood before what is kept
}

const (
	maskedFrom = 8 // bytes
	masked     = "[secret]"
)

// hide has the texts masked; it is called before the first byte comes. The longest
// goes first, so that a part of it leaves nothing of the whole.
func (t *tail) hide(texts []string) {
	texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return len(s) < maskedFrom })
	if len(texts) == 0 {
		return
	}
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range texts {
		pairs = append(pairs, s, masked)
	}
	t.mask, t.spare = strings.NewReplacer(pairs...), len(texts[0])
}

// collect reads until the end or an error, at bound.StderrRate once a second's
// worth has come at once, so that a command that floods its standard error waits
// for its own pipe instead of keeping the host busy.
func (t *tail) collect(from io.Reader) {
	const atOnce = time.Second
	buf, due := make([]byte, 4<<10), time.Now()
	for {
		n, err := from.Read(buf)
		t.add(buf[:n])
		if err != nil {
			return
		}
		now := time.Now()
		if due.Before(now) {
			due = now
		}
		due = due.Add(time.Duration(n) * time.Second / time.Duration(bound.StderrRate.Max))
		if ahead := due.Sub(now) - atOnce; ahead > 0 {
			time.Sleep(ahead) // at most the time of one buffer
		}
	}
}

// rest takes what lies in a pipe and waits for nothing. A read that begins after its
// deadline takes nothing, so on a busy machine collect may leave the last words there.
func (t *tail) rest(from *os.File) {
	const most = 64 << 10 // what a pipe holds; who escaped may go on writing
	if from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	pipe, err := from.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 4<<10)
	_ = pipe.Read(func(fd uintptr) bool { // its error is that of a closed file
		for taken := 0; taken < most; {
			n, err := syscall.Read(int(fd), buf)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 {
				break
			}
			t.add(buf[:n])
			taken += n
		}
		return true
	})
}

func (t *tail) add(b []byte) {
	keep := bound.StderrBytes.Int()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	// Twice the size before moving makes the cost of a byte constant.
	if len(t.kept) > 2*keep+t.spare {
		t.kept = t.kept[:copy(t.kept, t.kept[len(t.kept)-keep-t.spare:])]
		t.cut = true
	}
}

func (t *tail) text() string {
	keep := bound.StderrBytes.Int()
	t.mu.Lock()
	raw, cut := string(t.kept), t.cut
	t.mu.Unlock()
	if t.mask != nil {
		raw = t.mask.Replace(raw)
	}
	if cut {
		raw = raw[min(t.spare, len(raw)):] // it may begin inside a secret
	}
	raw = raw[max(0, len(raw)-keep):]

	// Escapes make text longer, so the front is given up a second time, at a
	// whole character.
	shown := escaped(raw)
	shown = shown[max(0, len(shown)-keep):]
	for len(shown) > 0 && !utf8.RuneStart(shown[0]) {
		shown = shown[1:]
	}
	return shown
}

// escaped shows every character that is not a printable one, a tab or a line
// end as an escape.
func escaped(raw string) string {
	var b strings.Builder
	for len(raw) > 0 {
		r, size := utf8.DecodeRuneInString(raw)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, raw[0])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		raw = raw[size:]
	}
	return b.String()
}
