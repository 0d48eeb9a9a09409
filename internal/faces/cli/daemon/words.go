package daemon

import (
	"io"
	"os"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

const lastBytes = 4096 // of a log, which are looked at

// lastWords is the trouble of a daemon that ended at once: what it said itself, else
// the last line of its log.
func lastWords(exit int, log string) error {
	lines := strings.Split(strings.TrimRight(tail(log), "\n"), "\n")
	last := lines[len(lines)-1]
	next, told := strings.CutPrefix(last, "next: ")
	if told && len(lines) > 1 {
		if what, is := strings.CutPrefix(lines[len(lines)-2], "error: "); is {
			return trouble.New(exit, "the daemon ended at once: "+paper.Line(what), paper.Line(next))
		}
	}
	what := "the daemon ended at once"
	if last != "" {
		what += ": " + paper.Line(last)
	}
	return trouble.New(exit, what, "look into "+paper.Word(log))
}

// tail is the end of a file; empty where it cannot be read.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	raw, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-lastBytes), lastBytes))
	if err != nil {
		return ""
	}
	return string(raw)
}
