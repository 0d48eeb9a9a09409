// Package statement reads SQL as callers write it: one text for every engine,
// with the parameters $1 to $n.
//
// It promises to find parameters, ends of statements and words only outside of
// quoted strings, quoted names and comments, and to refuse what one of the
// engines would take and another would not: ? for a parameter, a gap in the
// numbers, two statements in one. It does not check that a text is SQL, and it
// knows neither dollar quotes nor backslash escapes, which are one engine's own.
// Cost grows with the length of the text. Its values are immutable; its errors
// are for logs.
package statement

import (
	"fmt"
	"strconv"
	"strings"
)

// Verb says what a statement can do to the database.
type Verb int

// The verbs.
const (
	Other   Verb = iota // may change anything, and its row count proves nothing
	Reads               // SELECT or VALUES: changes nothing
	Changes             // INSERT, UPDATE or DELETE: changed something only if its row count is not zero
)

// MaxParams is the highest parameter, the lower of the engines' limits.
const MaxParams = 32766

// Statement is one text taken apart.
type Statement struct {
	Params int // highest n of $n; each of 1 to Params occurs
	Verb   Verb
	pieces []piece
}

// piece is a stretch of text and the number of the parameter that follows it;
// zero at the end.
type piece struct {
	text  string
	param int
}

// Parse takes one statement apart.
func Parse(text string) (Statement, error) {
	var s Statement
	var before strings.Builder
	seen := map[int]bool{}
	for _, part := range split(text) {
		if part.literal {
			before.WriteString(part.text)
			continue
		}
		for rest := part.text; rest != ""; {
			at := strings.IndexAny(rest, "$?;")
			if at < 0 {
				before.WriteString(rest)
				break
			}
			if rest[at] != '$' {
				return Statement{}, fmt.Errorf("%q does not belong in a statement", rest[at])
			}
			n, length := number(rest[at+1:])
			if n == 0 {
				return Statement{}, fmt.Errorf("$ without a number from 1 to %d", MaxParams)
			}
			before.WriteString(rest[:at])
			s.pieces = append(s.pieces, piece{before.String(), n})
			before.Reset()
			seen[n] = true
			s.Params = max(s.Params, n)
			rest = rest[at+1+length:]
		}
	}
	if len(seen) != s.Params {
		return Statement{}, fmt.Errorf("$%d is the highest parameter, but only %d occur", s.Params, len(seen))
	}
	s.pieces = append(s.pieces, piece{before.String(), 0})
	s.Verb = verbOf(text)
	return s, nil
}

// number reads the digits that text begins with; n is zero if they are no number
// of a parameter.
func number(text string) (n, length int) {
	for length < len(text) && '0' <= text[length] && text[length] <= '9' {
		length++
	}
	n, err := strconv.Atoi(text[:length])
	if err != nil || n > MaxParams || text[0] == '0' {
		return 0, 0
	}
	return n, length
}

// With writes the statement with an engine's own mark before the numbers.
func (s Statement) With(mark string) string {
	var b strings.Builder
	for _, p := range s.pieces {
		b.WriteString(p.text)
		if p.param > 0 {
			b.WriteString(mark)
			b.WriteString(strconv.Itoa(p.param))
		}
	}
	return b.String()
}

func verbOf(text string) Verb {
	switch strings.ToUpper(firstWord(text)) {
	case "SELECT", "VALUES":
		return Reads
	case "INSERT", "UPDATE", "DELETE":
		return Changes
	}
	return Other
}

func firstWord(text string) string {
	for _, part := range split(text) {
		if words := strings.Fields(part.text); !part.literal && len(words) > 0 {
			return words[0]
		}
	}
	return ""
}

// Script cuts a script at its semicolons and leaves out what holds no word.
func Script(text string) []string {
	var list []string
	var b strings.Builder
	end := func() {
		if firstWord(b.String()) != "" {
			list = append(list, strings.TrimSpace(b.String()))
		}
		b.Reset()
	}
	for _, part := range split(text) {
		if part.literal {
			b.WriteString(part.text)
			continue
		}
		for i, s := range strings.Split(part.text, ";") {
			if i > 0 {
				end()
			}
			b.WriteString(s)
		}
	}
	end()
	return list
}

// Edit applies a function to the stretches that are neither quoted nor comment.
func Edit(text string, edit func(string) string) string {
	var b strings.Builder
	for _, part := range split(text) {
		if part.literal {
			b.WriteString(part.text)
		} else {
			b.WriteString(edit(part.text))
		}
	}
	return b.String()
}

// stretch is a quoted string, a quoted name or a comment (literal), or what
// stands between those.
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
