package copies

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/faces/cli/outlet"
)

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

// bar draws how far long work is on one line of a terminal, and nothing elsewhere.
type bar struct {
	out   io.Writer // nil: nobody looks
	step  string
	drawn time.Time
	width int // of what stands there
}

func (d verbs) bar() *bar {
	if !outlet.Terminal(d.Err) {
		return &bar{}
	}
	return &bar{out: d.Err}
}

// tell draws a new step at once, and the same one a few times a second.
func (b *bar) tell(step string, done, total int64) {
	if b.out == nil || step == b.step && done < total && time.Since(b.drawn) < barEvery {
		return
	}
	b.step, b.drawn = step, time.Now()
	b.draw(line(step, done, total))
}

func line(step string, done, total int64) string {
	if total <= 0 {
		return step
	}
	full := int(min(done, total) * barWidth / total)
	return fmt.Sprintf("[%s%s] %3d %%  %s", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), min(done, total)*100/total, step)
}

func (b *bar) draw(text string) {
	fmt.Fprintf(b.out, "\r%-*s", b.width, text)
	b.width = len(text)
}

// end takes the bar away.
func (b *bar) end() {
	if b.out != nil && b.width > 0 {
		b.draw("")
		fmt.Fprint(b.out, "\r")
	}
}
