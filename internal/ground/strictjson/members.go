package strictjson

import (
	"bytes"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// Members splits an object into its members, each value byte for byte as it was
// written, under the rules of Check. Anything but an object is a fault.
func Members(raw []byte, lim Limits) (map[string]Raw, error) {
	if err := Check(raw, lim); err != nil {
		return nil, err
	}
	s, err := open(raw, lim)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.dec.PeekKind() != '{' {
		return nil, s.here(fault.New(fault.InvalidRequest, "an object is expected"))
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return nil, refuse(err)
	}
	out := make(map[string]Raw)
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return nil, refuse(err)
		}
		key := name.String()
		value, err := s.dec.ReadValue()
		if err != nil {
			return nil, refuse(err)
		}
		out[key] = bytes.Clone(value)
	}
	return out, nil
}
