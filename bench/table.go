package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/bench/whole"
)

// row is one line of the table. bar and stretch are limits on figure: from below
// where more is better, else from above; zero means that there is none.
type row struct {
	what         string
	figure       float64
	unit         string
	bar, stretch float64
	more         bool
	beside       string // what the figure is held against, in words
}

func (r row) holds(limit float64) bool {
	if r.more {
		return r.figure >= limit
	}
	return r.figure <= limit
}

func (r row) verdict() string {
	switch {
	case r.bar == 0:
		return ""
	case !r.holds(r.bar):
		return "short"
	case r.stretch != 0 && r.holds(r.stretch):
		return "ok, stretch"
	}
	return "ok"
}

func (r row) limit(l float64) string {
	switch {
	case l == 0:
		return "-"
	case r.more:
		return ">= " + number(l, r.unit)
	}
	return "<= " + number(l, r.unit)
}

func number(v float64, unit string) string {
	digits := 2
	switch {
	case v >= 100 || v == float64(int64(v)):
		digits = 0
	case v >= 10:
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, v, unit)
}

func (b *bench) add(r row) { b.found = append(b.found, r) }

// table prints what was found.
func (b *bench) table(w io.Writer) {
	fmt.Fprintf(w, "steward bench, %s, %s/%s, %d processors, load %s before and %s after, %d rounds, %.0f s\n\n",
		b.began.Format("2006-01-02"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.loadBefore, meter.Load(), b.rounds, time.Since(b.began).Seconds())
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| what\t| figure\t| bar\t| stretch\t| verdict\t| beside\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	short := 0
	for _, r := range b.found {
		if r.verdict() == "short" {
			short++
		}
		fmt.Fprintf(t, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t|\n", r.what, number(r.figure, r.unit), r.limit(r.bar), r.limit(r.stretch), r.verdict(), r.beside)
	}
	t.Flush()
	fmt.Fprintf(w, "\n%d rows are short of their bar. The operator's ceilings were raised to %d calls a minute and %d at once.\n",
		short, whole.Ceiling.PerMinute, whole.Ceiling.AtOnce)
}

// note shows on a terminal what is being done; elsewhere it is silent.
func (b *bench) note(format string, args ...any) {
	if info, err := os.Stderr.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(os.Stderr, "\r%s%s\r%s", text, strings.Repeat(" ", max(0, 70-len(text))), text)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
