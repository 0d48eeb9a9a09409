package sqldb

import (
	"fmt"
	"strconv"
	"strings"
)

// verb says what a statement can do to the database.
type verb int

const (
	other   verb = iota // may change anything, and its row count proves nothing
	reads               // SELECT: changes nothing
	changes             // INSERT, UPDATE or DELETE: changed something only if its row count is not zero
)

// template is one statement text as callers write it, taken apart once.
type template struct {
	pieces []piece
	params int // highest n of $n; each of 1..params occurs
	verb   verb
}

// piece is a stretch of text and the number of the parameter that follows it;
// zero at the end.
type piece struct {
	text  string
	param int
}

// parseTemplate reads the one form of statement that both engines take: $1 to
// $n without a gap, no ?, one statement.
func parseTemplate(query string) (template, error) {
	var t template
	var text strings.Builder
	seen := map[int]bool{}
	for _, part := range split(query) {
		if part.literal {
			text.WriteString(part.text)
			continue
		}
		rest := part.text
		for {
			at := strings.IndexAny(rest, "$?;")
			if at < 0 {
				text.WriteString(rest)
				break
			}
			if rest[at] != '$' {
				return t, fmt.Errorf("%q does not belong in a statement", rest[at])
			}
			digits := rest[at+1:]
			if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
				digits = digits[:end]
			}
			n, err := strconv.Atoi(digits)
			if err != nil || n < 1 || n > maxParams || digits[0] == '0' {
				return t, fmt.Errorf("$%s is not a parameter", digits)
			}
			text.WriteString(rest[:at])
			t.pieces = append(t.pieces, piece{text.String(), n})
			text.Reset()
			seen[n] = true
			t.params = max(t.params, n)
			rest = rest[at+1+len(digits):]
		}
	}
	t.pieces = append(t.pieces, piece{text.String(), 0})
	if len(seen) != t.params {
		return t, fmt.Errorf("$%d is the highest parameter, but only %d occur", t.params, len(seen))
	}
	t.verb = verbOf(query)
	return t, nil
}

// maxParams is the lower of the two engines' limits.
const maxParams = 32766

func verbOf(statement string) verb {
	switch strings.ToUpper(firstWord(statement)) {
	case "SELECT", "VALUES":
		return reads
	case "INSERT", "UPDATE", "DELETE":
		return changes
	}
	return other
}

func firstWord(statement string) string {
	for _, part := range split(statement) {
		if words := strings.Fields(part.text); !part.literal && len(words) > 0 {
			return words[0]
		}
	}
	return ""
}

// statements splits a script at the semicolons that stand outside of quotes
// and comments, and leaves out what holds no word.
func statements(script string) []string {
	var list []string
	var text strings.Builder
	end := func() {
		if firstWord(text.String()) != "" {
			list = append(list, strings.TrimSpace(text.String()))
		}
		text.Reset()
	}
	for _, part := range split(script) {
		if part.literal {
			text.WriteString(part.text)
			continue
		}
		for i, s := range strings.Split(part.text, ";") {
			if i > 0 {
				end()
			}
			text.WriteString(s)
		}
	}
	end()
	return list
}

// stretch is a part of SQL text: a quoted string, a quoted name or a comment
// (literal), or what stands between those.
type stretch struct {
	text    string
	literal bool
}

// split cuts SQL text into stretches that joined give the text again. What is
// not closed runs to the end.
func split(text string) []stretch {
	var list []stretch
	plain := 0
	for i := 0; i < len(text); {
		n := literalLen(text[i:])
		if n == 0 {
			i++
			continue
		}
		if i > plain {
			list = append(list, stretch{text[plain:i], false})
		}
		list = append(list, stretch{text[i : i+n], true})
		i += n
		plain = i
	}
	if plain < len(text) {
		list = append(list, stretch{text[plain:], false})
	}
	return list
}

// literalLen is the length of the quoted or commented stretch that text begins
// with, or zero.
func literalLen(text string) int {
	switch {
	case text[0] == '\'' || text[0] == '"':
		// A doubled quote reads as two stretches side by side, which is the same.
		return through(text, 1, text[:1])
	case strings.HasPrefix(text, "--"):
		return through(text, 2, "\n")
	case strings.HasPrefix(text, "/*"):
		return through(text, 2, "*/")
	}
	return 0
}

func through(text string, from int, mark string) int {
	if at := strings.Index(text[from:], mark); at >= 0 {
		return from + at + len(mark)
	}
	return len(text)
}
