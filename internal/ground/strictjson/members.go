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
	if _, err := s.next(); err != nil {
		return nil, err
	}
	out := make(map[string]Raw)
	for {
		tok, err := s.next()
		if err != nil || tok.Kind() == '}' {
			return out, err
		}
		name, from := tok.String(), s.dec.InputOffset()
		if err := s.skip(nil); err != nil {
			return nil, err
		}
		value := bytes.TrimLeft(raw[from:s.dec.InputOffset()], " \t\r\n:")
		out[name] = bytes.Clone(value)
	}
}
