// Package paper lays out what the command line shows a person: tables, blocks of
// text, JSON and times. It promises that no character reaches a terminal that
// cannot be seen as it is: such characters are written as escapes, and nothing
// is ever cut (field faults, FF79 and FF96). The functions are pure, take work
// in proportion to their input, and are safe for concurrent use.
package paper

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Line is a text on one line: unseen characters, line feeds and tabs are escapes.
func Line(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(resource.Visible(text))
}

// Block is a text that may have several lines, each behind the indent, and no
// line feed at its end.
func Block(text, indent string) string {
	text = strings.ReplaceAll(resource.Visible(text), "\t", "    ")
	return indent + strings.ReplaceAll(text, "\n", "\n"+indent)
}

// Wrapped is Block with its long lines broken at spaces, so that no line is wider
// than width and a terminal breaks none itself: what stands at the left edge is
// never the text's. What goes on from the line above has two spaces more.
func Wrapped(text, indent string, width int) string {
	text = strings.ReplaceAll(resource.Visible(text), "\t", "    ")
	var out []string
	for _, line := range strings.Split(text, "\n") {
		lead := indent
		for {
			head, rest := broken(line, width-len(lead))
			out = append(out, lead+head)
			if rest == "" {
				break
			}
			line, lead = rest, indent+"  "
		}
	}
	return strings.Join(out, "\n")
}

// broken splits a line at the last space within a width, or within a word that is
// wider. Characters that may take two columns count as two.
func broken(line string, width int) (head, rest string) {
	space, used := -1, 0
	for at, r := range line {
		if r == ' ' {
			space = at
		}
		if used++; r >= 0x1100 {
			used++
		}
		switch {
		case used <= width || at == 0:
		case space > 0 && strings.Trim(line[:space], " ") != "":
			return line[:space], line[space+1:]
		default:
			return line[:at], line[at:]
		}
	}
	return line, ""
}

// JSON is a document on as many lines as it likes, each behind the indent. It is
// the same document: unseen characters inside its strings are JSON escapes. What
// is no JSON is shown as a Block.
func JSON(raw []byte, indent string) string {
	doc := strictjson.Raw(bytes.Clone(raw))
	if err := doc.Indent(); err != nil {
		return Block(string(raw), indent)
	}
	var out strings.Builder
	for i, line := range strings.Split(string(doc), "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		rest := strings.TrimLeft(line, "\t")
		out.WriteString(indent + strings.Repeat("  ", len(line)-len(rest)))
		for _, r := range rest {
			writeRune(&out, r)
		}
	}
	return out.String()
}

// Escaped gives the same JSON document with an escape for each character that a
// terminal might obey or hide; what a program reads from it is unchanged.
func Escaped(document string) string {
	if resource.Readable(document) {
		return document
	}
	var out strings.Builder
	for _, r := range document {
		writeRune(&out, r)
	}
	return out.String()
}

func writeRune(out *strings.Builder, r rune) {
	switch {
	case resource.Readable(string(r)):
		out.WriteRune(r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(out, `\u%04x\u%04x`, high, low)
	default:
		fmt.Fprintf(out, `\u%04x`, r)
	}
}

// Stamp is a time as the command line writes it, in UTC; the zero time is a dash.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// Fine is Stamp to the millisecond.
func Fine(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000Z")
}

// Count is a number of things: 1 tool, 2 tools.
func Count(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(one, "y"))
	default:
		return fmt.Sprintf("%d %ss", n, one)
	}
}

// Word is a text as one word of a POSIX shell's command line.
func Word(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
