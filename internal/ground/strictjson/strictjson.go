// Package strictjson reads and writes every JSON document that crosses
// steward's walls.
//
// A document is refused for: a member name that stands twice in one object
// (however it is escaped), invalid UTF-8, an unpaired surrogate, a byte order
// mark, anything after the value, and being over the bytes, depth or nodes of
// its Limits. A node is a value: object, array or scalar; a member name is
// none. Depth counts objects and arrays, so a lone scalar has depth 0; it is
// checked while parsing and no call nests deeper than it. Numbers stay as they
// were written until somebody asks for their canonical form; a Decimal is the
// exact value of one.
//
// Faults: invalid_request, with details "offset" (in bytes) and "pointer"
// (RFC 6901) where the place is known, or the fault of the bound that was
// exceeded. Their text is fixed and never repeats a value; the pointer, which
// holds member names, is bounded.
//
// Nothing here says whether a document fits a schema. Results never alias the
// input. Everything is safe for concurrent use.
package strictjson

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Raw is one JSON value as it was written. It is an alias, so that no other
// package needs the library.
type Raw = jsontext.Value

// Limits are the bounds of one document. A row that is left out stands for the
// package's own ceiling: the JSON rows of the bound table.
type Limits struct{ Bytes, Depth, Nodes bound.Row }

// RequestLimits are those of a request, and so of the arguments in it, wherever they go.
var RequestLimits = Limits{Bytes: bound.RequestBytes, Depth: bound.RequestDepth, Nodes: bound.RequestNodes}

func (l Limits) orCeilings() Limits {
	none := bound.Row{}
	if l.Bytes == none {
		l.Bytes = bound.JSONBytes
	}
	if l.Depth == none {
		l.Depth = bound.JSONDepth
	}
	if l.Nodes == none {
		l.Nodes = bound.JSONNodes
	}
	return l
}

// Check holds a document to the package's rules and keeps nothing of it.
func Check(raw []byte, lim Limits) error {
	s, err := open(raw, lim)
	if err != nil {
		return err
	}
	defer s.close()
	return s.check(nil)
}

// Parse reads a whole document under the rules of Check.
func Parse(raw []byte, lim Limits) (Value, error) {
	s, err := open(raw, lim)
	if err != nil {
		return Value{}, err
	}
	defer s.close()
	tok, err := s.next()
	if err != nil {
		return Value{}, err
	}
	v, err := s.value(tok)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// scanner reads one document token by token and counts against its limits.
type scanner struct {
	src   bytes.Buffer // the decoder reads it without a copy
	dec   jsontext.Decoder
	lim   Limits
	nodes int
	nulls bool // whether a null was seen
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func open(raw []byte, lim Limits) (*scanner, error) {
	lim = lim.orCeilings()
	if err := lim.Bytes.Check(len(raw)); err != nil {
		return nil, err
	}
	s := scanners.Get().(*scanner)
	s.src = *bytes.NewBuffer(raw)
	s.dec.Reset(&s.src)
	s.lim, s.nodes, s.nulls = lim, 0, false
	return s, nil
}

// pooledBytes bounds the documents whose scanner is used again, since a decoder
// keeps room for the names that it has seen.
const pooledBytes = 64 << 10

func (s *scanner) close() {
	if s.dec.InputOffset() > pooledBytes {
		return
	}
	s.src = bytes.Buffer{}
	s.dec.Reset(&s.src) // a pooled scanner must not hold the document
	scanners.Put(s)
}

// next gives the next token; it is valid until the one after it is read.
func (s *scanner) next() (jsontext.Token, error) {
	tok, err := s.dec.ReadToken()
	if err != nil {
		return tok, refuse(err)
	}
	switch tok.Kind() {
	case '}', ']':
		return tok, nil
	case '{', '[':
		if int64(s.dec.StackDepth()) > s.lim.Depth.Max {
			return tok, s.here(s.lim.Depth.Exceeded())
		}
	case '"':
		if s.atName() {
			return tok, nil
		}
	case 'n':
		s.nulls = true
	}
	s.nodes++
	if int64(s.nodes) > s.lim.Nodes.Max {
		return tok, s.here(s.lim.Nodes.Exceeded())
	}
	return tok, nil
}

// atName reports whether the string that was just read is a member name.
func (s *scanner) atName() bool {
	kind, read := s.dec.StackIndex(s.dec.StackDepth())
	return kind == '{' && read%2 == 1
}

// check reads the whole document; number, if any, judges each literal.
func (s *scanner) check(number func(literal string) error) error {
	if err := s.skip(number); err != nil {
		return err
	}
	return s.end()
}

// skip reads one value and keeps nothing of it.
func (s *scanner) skip(number func(literal string) error) error {
	for depth := s.dec.StackDepth(); ; {
		tok, err := s.next()
		if err != nil {
			return err
		}
		if number != nil && tok.Kind() == '0' {
			if err := number(tok.String()); err != nil {
				return s.here(fault.From(err))
			}
		}
		if s.dec.StackDepth() == depth {
			return nil
		}
	}
}

// value builds the value that starts with tok.
func (s *scanner) value(tok jsontext.Token) (Value, error) {
	switch tok.Kind() {
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		return Value{Kind: String, Text: tok.String()}, nil
	case '0':
		return Value{Kind: Number, Text: tok.String()}, nil
	case 't', 'f':
		return Value{Kind: Bool, Bool: tok.Bool()}, nil
	default:
		return Value{Kind: Null}, nil
	}
}

func (s *scanner) object() (Value, error) {
	v := Value{Kind: Object}
	for {
		tok, err := s.next()
		if err != nil || tok.Kind() == '}' {
			return v, err
		}
		m := Member{Name: tok.String()}
		if tok, err = s.next(); err != nil {
			return v, err
		}
		if m.Value, err = s.value(tok); err != nil {
			return v, err
		}
		v.Members = append(v.Members, m)
	}
}

func (s *scanner) array() (Value, error) {
	v := Value{Kind: Array}
	for {
		tok, err := s.next()
		if err != nil || tok.Kind() == ']' {
			return v, err
		}
		item, err := s.value(tok)
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, item)
	}
}

// end makes sure that only white space follows.
func (s *scanner) end() error {
	switch _, err := s.dec.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return refuse(err)
	}
	return at(fault.New(fault.InvalidRequest, "something follows the JSON value"), "", s.dec.InputOffset())
}

// here adds the place of the token that was just read.
func (s *scanner) here(f *fault.Fault) error {
	return at(f, s.dec.StackPointer(), s.dec.InputOffset())
}

// refuse turns the library's complaint into a fault without its text, which
// may repeat the input.
func refuse(err error) error {
	f := fault.New(fault.InvalidRequest, "not strict JSON")
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		f = fault.New(fault.InvalidRequest, "a member name stands twice in one object")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f = fault.New(fault.InvalidRequest, "the JSON document ends too early")
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return at(f, syntax.JSONPointer, syntax.ByteOffset)
	}
	return f
}

// pointerBytes bounds the pointer in a fault.
const pointerBytes = 256

// at adds a place. A pointer that is too long is shortened to the nearest
// enclosing value whose pointer is not.
func at(f *fault.Fault, p jsontext.Pointer, offset int64) *fault.Fault {
	text := string(p)
	for len(text) > pointerBytes {
		text = text[:strings.LastIndexByte(text, '/')]
	}
	return f.With("pointer", text).With("offset", offset)
}
