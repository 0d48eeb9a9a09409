// Package difference tells what changed from one text to another: by lines, as
// patches are written, or by words within one text. What it gives, put together
// again without what is new, is the text before; without what is gone, the text
// after.
//
// Where two texts have so little in common that looking for it would cost more
// than bound.DiffCells steps, the whole between their common beginning and end is
// gone and new. It does not promise the shortest difference then. The functions are
// pure and safe for concurrent use.
package difference

import (
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// Kind says what became of a part.
type Kind byte

// The kinds.
const (
	Same Kind = ' '
	Gone Kind = '-'
	New  Kind = '+'
)

// Part is a stretch of text.
type Part struct {
	Kind Kind
	Text string
}

// Lines compares by lines, which keep their line ends.
func Lines(before, after string) []Part { return compare(lines(before), lines(after)) }

func lines(text string) (out []string) {
	for l := range strings.Lines(text) {
		out = append(out, l)
	}
	return out
}

// Words compares by words and the white space between them.
func Words(before, after string) []Part { return joined(compare(words(before), words(after))) }

func words(text string) (out []string) {
	begin := 0
	for i := 1; i < len(text); i++ {
		if class(text[i]) != class(text[i-1]) || class(text[i]) == other {
			out = append(out, text[begin:i])
			begin = i
		}
	}
	if begin < len(text) {
		out = append(out, text[begin:])
	}
	return out
}

type sort byte

const (
	blank sort = iota
	letter
	other
)

func class(c byte) sort {
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return blank
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80:
		return letter
	}
	return other
}

// compare keeps the longest common run of pieces between the common beginning and
// end.
func compare(a, b []string) (out []Part) {
	begin := 0
	for begin < len(a) && begin < len(b) && a[begin] == b[begin] {
		begin++
	}
	end := 0
	for end < len(a)-begin && end < len(b)-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	out = appendAll(out, Same, a[:begin])
	out = append(out, middle(a[begin:len(a)-end], b[begin:len(b)-end])...)
	return appendAll(out, Same, a[len(a)-end:])
}

func appendAll(out []Part, k Kind, pieces []string) []Part {
	for _, p := range pieces {
		if p != "" {
			out = append(out, Part{k, p})
		}
	}
	return out
}

func middle(a, b []string) (out []Part) {
	if len(a) > 0 && len(b) > bound.DiffCells.Int()/len(a) {
		return appendAll(appendAll(nil, Gone, a), New, b)
	}
	// length[i][j] is that of the longest common run of a[i:] and b[j:].
	width := len(b) + 1
	length := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, Part{Same, a[i]})
			i, j = i+1, j+1
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			out = append(out, Part{Gone, a[i]})
			i++
		default:
			out = append(out, Part{New, b[j]})
			j++
		}
	}
	return appendAll(appendAll(out, Gone, a[i:]), New, b[j:])
}

// joined puts neighbours of one kind together.
func joined(parts []Part) (out []Part) {
	for _, p := range parts {
		if n := len(out); n > 0 && out[n-1].Kind == p.Kind {
			out[n-1].Text += p.Text
			continue
		}
		out = append(out, p)
	}
	return out
}

// around is how many lines that stayed are told beside those that did not.
const around = 3

// Patch is the changed lines between two texts with some around them, each behind
// its sign, and … where lines are left out. It is empty where nothing changed.
func Patch(before, after string) string {
	parts := Lines(before, after)
	near := make([]bool, len(parts))
	for i, p := range parts {
		if p.Kind != Same {
			for k := max(0, i-around); k <= min(len(parts)-1, i+around); k++ {
				near[k] = true
			}
		}
	}
	var out strings.Builder
	left := false
	for i, p := range parts {
		if !near[i] {
			left = true
			continue
		}
		if left {
			out.WriteString("  …\n")
		}
		left = false
		out.WriteString(string(p.Kind) + " " + strings.TrimRight(p.Text, "\r\n") + "\n")
	}
	if out.Len() > 0 && left {
		out.WriteString("  …\n")
	}
	return out.String()
}
