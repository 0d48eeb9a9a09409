package strictjson

import (
	"bytes"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// Members splits an object into its members, each value byte for byte as it was
// written, under the rules of Check. Anything but an object is a fault.
func Members(raw []byte, lim Limits) (map[string]Raw, error) {
	s, err := open(raw, lim)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.dec.PeekKind() != '{' {
		if err := s.check(nil); err != nil {
			return nil, err
		}
		return nil, at(fault.New(fault.InvalidRequest, "an object is expected"), "", 0)
	}
	out, err := s.members(raw)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// members reads an object; raw is the whole document.
func (s *scanner) members(raw []byte) (map[string]Raw, error) {
	parts, err := s.parts(raw)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Raw, len(parts))
	for _, p := range parts {
		out[p.Name] = bytes.Clone(raw[p.From:p.To])
	}
	return out, nil
}

// Part is the place of one direct child of an object or an array in its text.
type Part struct {
	Name     string // empty in an array
	From, To int
}

// Parts gives the places of the direct children of a document that is an object or an
// array, in their order, under the rules of Check. Any other document has none.
func Parts(raw []byte, lim Limits) ([]Part, error) {
	s, err := open(raw, lim)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if kind := s.dec.PeekKind(); kind != '{' && kind != '[' {
		return nil, s.check(nil)
	}
	parts, err := s.parts(raw)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return parts, nil
}

// parts reads an object or an array; raw is the whole document.
func (s *scanner) parts(raw []byte) ([]Part, error) {
	tok, err := s.next()
	if err != nil {
		return nil, err
	}
	inObject, out := tok.Kind() == '{', []Part{}
	for {
		var p Part
		if inObject || s.dec.PeekKind() == ']' {
			tok, err := s.next()
			if err != nil || tok.Kind() == '}' || tok.Kind() == ']' {
				return out, err
			}
			p.Name = tok.String()
		}
		from := s.dec.InputOffset()
		if err := s.skip(nil); err != nil {
			return nil, err
		}
		p.To = int(s.dec.InputOffset())
		p.From = p.To - len(bytes.TrimLeft(raw[from:p.To], " \t\r\n:,"))
		out = append(out, p)
	}
}
