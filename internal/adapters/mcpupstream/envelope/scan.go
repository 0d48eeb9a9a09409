package envelope

import (
	"bytes"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Span is a part of a text, from its first byte to after its last.
type Span struct{ From, To int }

// Scan finds the members of one JSON object that arrives in pieces, in one pass
// and constant memory. It looks at the outermost object only and judges nothing
// inside a value; whether the text is JSON at all is strictjson's to say.
//
// Of two members with one name the first counts. The zero Scan finds nothing;
// use NewScan.
type Scan struct {
	names   []string
	spans   [maxNames]Span // To is zero where the member was not seen to its end
	seen    int            // bytes so far
	phase   phase
	depth   int  // of objects and arrays inside the value
	quoted  bool // inside a string
	escaped bool // the next byte of the string stands for itself
	current int  // index of the member that is being read, or unknown
	from    int  // where its value began

	key        [keyBytes]byte
	keyLen     int
	keyEscapes bool

	keep    int // index of the member whose text is kept, if it is a scalar, or unknown
	kept    [keptBytes]byte
	keptLen int
}

// maxNames is how many members one Scan can look for.
const maxNames = 8

// keyBytes is the length of the longest name that is compared; a character of
// it may be written as six.
const keyBytes = 128

// keptBytes is more than any whole number of 64 bits takes.
const keptBytes = 24

const unknown = -1

type phase byte

const (
	beforeObject phase = iota
	beforeKey
	inKey
	beforeColon
	beforeValue
	inScalar
	inString
	inContainer
	afterValue
	afterObject
	misformed
)

// NewScan looks for members of the given names, at most maxNames. It keeps the
// slice.
func NewScan(names []string) Scan { return Scan{names: names, keep: unknown} }

// Member is the place of the value of the i-th name, once it was seen whole.
func (s *Scan) Member(i int) (Span, bool) { return s.spans[i], s.spans[i].To > 0 }

// Feed takes the next piece of the text.
func (s *Scan) Feed(piece []byte) {
	for len(piece) > 0 && s.phase < afterObject {
		n := 1
		if s.quoted {
			n = s.inQuotes(piece)
		} else {
			s.step(piece[0])
		}
		s.seen += n
		if s.phase == inString && !s.quoted {
			s.endValue(s.seen)
		}
		piece = piece[n:]
	}
}

// inQuotes reads on in a string and returns how many bytes it took, the closing
// quote with them.
func (s *Scan) inQuotes(piece []byte) int {
	for i, c := range piece {
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped, s.keyEscapes = true, true
		case c == '"':
			s.quoted = false
			if s.phase == inKey {
				s.phase, s.current = beforeColon, s.lookUp()
			}
			return i + 1
		}
		if s.phase == inKey {
			if s.keyLen < keyBytes {
				s.key[s.keyLen] = c
			}
			s.keyLen++
		}
	}
	return len(piece)
}

// step takes one byte outside of any string.
func (s *Scan) step(c byte) {
	switch s.phase {
	case inContainer:
		switch c {
		case '"':
			s.quoted = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				s.endValue(s.seen + 1)
			}
		}
		return
	case inScalar:
		if !isSpace(c) && c != ',' && c != '}' {
			s.keepText(c)
			return
		}
		s.endValue(s.seen)
	}
	if !isSpace(c) {
		s.between(c)
	}
}

// between takes a byte that is no part of a key or value.
func (s *Scan) between(c byte) {
	switch {
	case s.phase == beforeObject && c == '{':
		s.phase = beforeKey
	case s.phase == beforeKey && c == '"':
		s.phase, s.quoted, s.keyLen, s.keyEscapes = inKey, true, 0, false
	case s.phase == beforeColon && c == ':':
		s.phase = beforeValue
	case s.phase == beforeValue:
		s.beginValue(c)
	case s.phase == afterValue && c == ',':
		s.phase = beforeKey
	case (s.phase == afterValue || s.phase == beforeKey) && c == '}':
		s.phase = afterObject
	default:
		s.phase = misformed
	}
}

func (s *Scan) beginValue(c byte) {
	s.from = s.seen
	switch c {
	case '"':
		s.phase, s.quoted = inString, true
	case '{', '[':
		s.phase, s.depth = inContainer, 1
	case ',', ':', '}', ']':
		s.phase = misformed
	default:
		s.phase = inScalar
		s.keepText(c)
	}
}

func (s *Scan) keepText(c byte) {
	if s.current == unknown || s.current != s.keep || s.spans[s.keep].To > 0 {
		return
	}
	if s.keptLen < keptBytes {
		s.kept[s.keptLen] = c
	}
	s.keptLen++
}

func (s *Scan) endValue(to int) {
	if s.current != unknown && s.spans[s.current].To == 0 {
		s.spans[s.current] = Span{s.from, to}
	}
	s.phase = afterValue
}

// lookUp finds the key that was just read among the names.
func (s *Scan) lookUp() int {
	if s.keyLen > keyBytes {
		return unknown
	}
	key := s.key[:s.keyLen]
	if s.keyEscapes {
		v, err := strictjson.Parse(bytes.Join([][]byte{{'"'}, key, {'"'}}, nil), strictjson.Limits{})
		if err != nil {
			return unknown
		}
		key = []byte(v.Text)
	}
	for i, name := range s.names {
		if string(key) == name {
			return i
		}
	}
	return unknown
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Items calls visit with each item of an array as it is written, until visit
// returns false. The text must be a JSON array; other text is not visited.
func Items(array []byte, visit func(item []byte) bool) {
	array = bytes.TrimSpace(array)
	if len(array) < 2 || array[0] != '[' {
		return
	}
	depth, from, quoted := 0, 1, false
	for i := 1; i < len(array); i++ {
		c := array[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ']'):
			item := bytes.TrimSpace(array[from:i])
			if len(item) > 0 && !visit(item) {
				return
			}
			from = i + 1
		case c == '}' || c == ']':
			depth--
		}
	}
}
