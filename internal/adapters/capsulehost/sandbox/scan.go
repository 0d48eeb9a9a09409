package sandbox

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// The sections of a module that are looked at, by their number.
const (
	types   = 1
	imports = 2
	tables  = 4
	code    = 10
)

const (
	header     = "\x00asm\x01\x00\x00\x00"
	wasi       = "wasi_snapshot_preview1"
	funcType   = 0x60
	importFunc = 0
)

// Check says whether a module may be compiled: a few bytes of it can ask for a
// great deal of the machine, already before it runs. Faults: too_large over one of
// the module rows, invalid_request for what is no module, unsupported for an import
// that is not of WASI preview 1.
func Check(raw []byte) error {
	_, err := tame(raw)
	return err
}

// tame is Check, and gives the module with tables that do not grow: nothing else
// bounds them.
func tame(raw []byte) ([]byte, error) {
	if err := bound.ModuleBytes.Check(len(raw)); err != nil {
		return nil, err
	}
	if len(raw) < len(header) || string(raw[:len(header)]) != header {
		return nil, fault.New(fault.InvalidRequest, "this is no WebAssembly module of version 1")
	}
	out := append(make([]byte, 0, len(raw)+64), header...)
	for s := (scan{rest: raw[len(header):]}); len(s.rest) > 0; {
		id := s.byte()
		body := s.bytes(s.number())
		if s.bad {
			return nil, malformed("a section")
		}
		inner := scan{rest: body}
		var err error
		switch id {
		case types:
			err = inner.types()
		case imports:
			err = inner.imports()
		case tables:
			body, err = inner.tables()
		case code:
			err = inner.code()
		}
		if err != nil {
			return nil, err
		}
		out = append(out, id)
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	return out, nil
}

func malformed(what string) error {
	return fault.New(fault.InvalidRequest, "the module is malformed in "+what)
}

// scan reads a part of a module; bad is set when it ends too early, and stays.
type scan struct {
	rest []byte
	bad  bool
}

func (s *scan) byte() byte {
	if len(s.rest) == 0 {
		s.bad = true
		return 0
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b
}

func (s *scan) number() int {
	n, size := binary.Uvarint(s.rest)
	if size <= 0 || n > math.MaxUint32 {
		s.bad, s.rest = true, nil
		return 0
	}
	s.rest = s.rest[size:]
	return int(n)
}

func (s *scan) bytes(n int) []byte {
	if n > len(s.rest) {
		s.bad, s.rest = true, nil
		return nil
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

// types bounds how long a signature is, since each use of it costs its length.
func (s *scan) types() error {
	for range s.number() {
		if s.byte() != funcType || s.bad {
			return malformed("its types")
		}
		for range 2 { // what goes in, what comes out
			n := s.number()
			if err := bound.ModuleSignature.Check(n); err != nil {
				return err
			}
			s.bytes(n)
		}
	}
	if s.bad {
		return malformed("its types")
	}
	return nil
}

// imports lets in functions of WASI alone.
func (s *scan) imports() error {
	for range s.number() {
		from, name, kind := string(s.bytes(s.number())), string(s.bytes(s.number())), s.byte()
		if s.bad {
			return malformed("its imports")
		}
		if from != wasi || kind != importFunc {
			return fault.New(fault.Unsupported, fmt.Sprintf("the module imports %.40q of %.40q; a capsule may import functions of %s alone", name, from, wasi))
		}
		s.number() // the type
	}
	if s.bad {
		return malformed("its imports")
	}
	return nil
}

// tables bounds all tables together, and fixes each at the size that it begins with.
func (s *scan) tables() ([]byte, error) {
	count := s.number()
	out, entries := binary.AppendUvarint(nil, uint64(count)), 0
	for range count {
		kind, limits, least := s.byte(), s.byte(), s.number()
		most := least
		if limits == 1 {
			most = min(s.number(), least)
		}
		if s.bad || limits > 1 {
			return nil, malformed("its tables")
		}
		entries += least
		if err := bound.ModuleTable.Check(entries); err != nil {
			return nil, err
		}
		out = append(out, kind, 1)
		out = binary.AppendUvarint(out, uint64(least))
		out = binary.AppendUvarint(out, uint64(most))
	}
	if s.bad || len(s.rest) > 0 {
		return nil, malformed("its tables")
	}
	return out, nil
}

// code bounds the local variables, which take five bytes to declare by the million.
func (s *scan) code() error {
	locals := 0
	for range s.number() {
		body := scan{rest: s.bytes(s.number())}
		if s.bad {
			return malformed("its code")
		}
		for range body.number() {
			locals += body.number()
			body.byte() // the type
			if body.bad {
				return malformed("its code")
			}
			if err := bound.ModuleLocals.Check(locals); err != nil {
				return err
			}
		}
		if body.bad {
			return malformed("its code")
		}
	}
	if s.bad {
		return malformed("its code")
	}
	return nil
}
