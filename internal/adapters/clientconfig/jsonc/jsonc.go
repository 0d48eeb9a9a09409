// Package jsonc reads and changes JSON as editors write it: with comments, commas
// before a closing bracket and a byte order mark. It keeps what it does not
// change byte for byte.
//
// Plain gives a document of the same length with blanks in the place of what JSON
// does not know, so that a place in one is the place in the other; what else is
// wrong with a document is left for the strict reader to refuse. Set changes one
// member. It does not promise that a comment stays beside what it speaks of when
// that is what is replaced. Work is in proportion to the input, which the caller bounds.
// The functions keep nothing and are safe for concurrent use.
package jsonc

import (
	"bytes"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Plain gives the document without comments, without commas before a closing
// bracket and without a byte order mark. It has the length of raw.
func Plain(raw []byte) []byte {
	out := bytes.Clone(raw)
	if bytes.HasPrefix(out, []byte("\ufeff")) {
		blank(out[:3])
	}
	comma := -1 // the last comma that only white space has followed
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			comma, i = -1, stringEnd(out, i)
			continue
		case c == '/':
			end := commentEnd(out, i)
			if end == i {
				comma, i = -1, i+1
				continue
			}
			blank(out[i:end])
			i = end
			continue
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 && follows(out, comma) {
				out[comma] = ' '
			}
			comma = -1
		case !isBlank(c):
			comma = -1
		}
		i++
	}
	return out
}

// follows reports whether a value stands before the comma: [,] stays what it is.
func follows(doc []byte, comma int) bool {
	before := bytes.TrimRight(doc[:comma], " \t\r\n")
	return len(before) > 0 && !bytes.ContainsAny(before[len(before)-1:], "[{,:")
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// blank keeps line ends, so that lines keep their numbers.
func blank(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
}

// commentEnd is the end of a comment that begins at i, or i where none does.
func commentEnd(doc []byte, i int) int {
	rest := doc[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			return i + n
		}
		return len(doc)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return i
}

// stringEnd is the place behind the string that begins at i.
func stringEnd(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// member is where a member of an object stands.
type member struct {
	name                   string
	start, value, valueEnd int
}

// object lists the members of the object that begins at i of a document that the
// strict reader takes, and the place of its closing bracket.
func object(doc []byte, i int) (members []member, end int) {
	i = skip(doc, i+1)
	for doc[i] != '}' {
		m := member{start: i}
		i = stringEnd(doc, i)
		if v, err := strictjson.Parse(doc[m.start:i], strictjson.Limits{}); err == nil {
			m.name = v.Text
		}
		m.value = skip(doc, skip(doc, i)+1) // behind the colon
		m.valueEnd = valueEnd(doc, m.value)
		members = append(members, m)
		if i = skip(doc, m.valueEnd); doc[i] == ',' {
			i = skip(doc, i+1)
		}
	}
	return members, i
}

func skip(doc []byte, i int) int {
	for i < len(doc) && isBlank(doc[i]) {
		i++
	}
	return i
}

func valueEnd(doc []byte, i int) int {
	depth := 0
	for i < len(doc) {
		switch c := doc[i]; c {
		case '"':
			i = stringEnd(doc, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		default:
			if depth == 0 && (c == ',' || isBlank(c)) {
				return i
			}
			i++
			continue // a number or a word goes on
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// Set gives the document with a value at a path of member names; objects on the
// way that are not there are made. An empty document is an empty object, and a
// value that is there already changes nothing. All other bytes stay as they are, and the new lines are laid out as those beside
// them. The fault is the strict reader's, or invalid_request where something on
// the way is no object.
func Set(raw []byte, path []string, value []byte, lim strictjson.Limits) ([]byte, error) {
	plain := Plain(raw)
	if len(bytes.TrimSpace(plain)) == 0 {
		object := "{}"
		if len(raw) > 0 {
			object = "\n{}" // behind a comment
		}
		raw, plain = append(bytes.Clone(raw), object...), append(plain, object...)
	}
	if err := strictjson.Check(plain, lim); err != nil {
		return nil, err
	}
	at, place := skip(plain, 0), ""
	for {
		if plain[at] != '{' {
			return nil, fault.New(fault.InvalidRequest, "there is no object at "+place+"/").With("pointer", place)
		}
		members, end := object(plain, at)
		found := -1
		for i, m := range members {
			if m.name == path[0] {
				found = i
			}
		}
		lay := layoutOf(raw, at, members)
		switch {
		case found < 0:
			return insert(raw, members, end, lay, nested(path, value)), nil
		case len(path) == 1:
			m := members[found]
			if bytes.Equal(parsed(plain[m.value:m.valueEnd]).Append(nil), parsed(value).Append(nil)) {
				return raw, nil
			}
			return splice(raw, m.value, m.valueEnd, lay.text(value)), nil
		}
		at, place, path = members[found].value, place+"/"+path[0], path[1:]
	}
}

// nested is a member with its name, whose value is at the path below it.
func nested(path []string, value []byte) []byte {
	for i := len(path) - 1; i > 0; i-- {
		value = strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{{Name: path[i], Value: parsed(value)}}}.Append(nil)
	}
	name := strictjson.Value{Kind: strictjson.String, Text: path[0]}
	return append(append(name.Append(nil), ": "...), value...)
}

// parsed reads a value that is our own or was checked before; one that is over
// the usual limits is none of ours.
func parsed(value []byte) strictjson.Value {
	v, _ := strictjson.Parse(value, strictjson.Limits{})
	return v
}

func splice(raw []byte, from, to int, text string) []byte {
	out := make([]byte, 0, len(raw)+len(text))
	return append(append(append(out, raw[:from]...), text...), raw[to:]...)
}

// insert puts a member behind the last one and what is said of it.
func insert(raw []byte, members []member, end int, lay layout, named []byte) []byte {
	name, value, _ := strings.Cut(string(named), ": ")
	text := name + ": " + lay.text([]byte(value))
	place := len(bytes.TrimRight(raw[:end], " \t\r\n"))
	switch {
	case !lay.lines && len(members) == 0:
		text = lay.newline + lay.indent + text + lay.newline + strings.TrimSuffix(lay.indent, lay.unit)
	case !lay.lines:
		text = " " + text
	default:
		text = lay.newline + lay.indent + text
	}
	out := splice(raw, place, place, text)
	if len(members) == 0 {
		return out
	}
	last := members[len(members)-1].valueEnd
	if hasComma(raw, last, end) {
		return out // before the bracket, as editors leave it
	}
	return splice(out, last, last, ",")
}

// hasComma reports whether a comma stands between two places, outside comments.
func hasComma(raw []byte, from, to int) bool {
	for i := from; i < to; i++ {
		if end := commentEnd(raw, i); end > i {
			i = end - 1
		} else if raw[i] == ',' {
			return true
		}
	}
	return false
}

// layout is how the members of an object are written.
type layout struct {
	lines                 bool   // each on a line of its own
	newline, indent, unit string // indent is that of a member
}

func layoutOf(raw []byte, at int, members []member) layout {
	lay := layout{newline: "\n", unit: "  "}
	if bytes.Contains(raw, []byte("\r\n")) {
		lay.newline = "\r\n"
	}
	own := indentOf(raw, at)
	lay.indent = own + lay.unit
	if len(members) == 0 {
		if strings.Contains(own, "\t") {
			lay.unit, lay.indent = "\t", own+"\t"
		}
		return lay
	}
	first := members[0].start
	line := raw[:first]
	blank := line[bytes.LastIndexByte(line, '\n')+1:]
	if lay.lines = len(bytes.TrimSpace(blank)) == 0 && bytes.LastIndexByte(line, '\n') >= at; lay.lines {
		lay.indent = string(blank)
		if unit, ok := strings.CutPrefix(lay.indent, own); ok && unit != "" {
			lay.unit = unit
		}
	}
	return lay
}

// indentOf is the white space that the line of a place begins with.
func indentOf(raw []byte, at int) string {
	line := raw[bytes.LastIndexByte(raw[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// text lays a value out behind the indent of its member.
func (l layout) text(value []byte) string {
	doc := strictjson.Raw(bytes.Clone(value))
	if err := doc.Indent(); err != nil {
		return string(value)
	}
	lines := strings.Split(string(doc), "\n")
	for i, line := range lines[1:] {
		rest := strings.TrimLeft(line, "\t")
		lines[i+1] = l.indent + strings.Repeat(l.unit, len(line)-len(rest)) + rest
	}
	return strings.Join(lines, l.newline)
}

// Line is the line, from 1, on which the member at a path of names stands in a
// document that the strict reader takes; 0 where there is none.
func Line(plain []byte, path ...string) int {
	at := skip(plain, 0)
	for {
		if at >= len(plain) || plain[at] != '{' {
			return 0
		}
		members, _ := object(plain, at)
		i := slices.IndexFunc(members, func(m member) bool { return m.name == path[0] })
		switch {
		case i < 0:
			return 0
		case len(path) == 1:
			return 1 + bytes.Count(plain[:members[i].start], []byte("\n"))
		}
		at, path = members[i].value, path[1:]
	}
}
