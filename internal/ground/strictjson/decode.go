package strictjson

import (
	"errors"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stewardhost/steward/internal/ground/fault"
)

var (
	decoding = json.RejectUnknownMembers(true)
	encoding = json.JoinOptions(json.Deterministic(true), jsontext.PreserveRawStrings(true))

	guarded = json.JoinOptions(decoding, json.WithUnmarshalers(json.UnmarshalFromFunc(refuseNull)))
)

var errNull = errors.New("null has no place here")

// Decode reads a whole document into a struct under the rules of Check. A
// member that the struct does not have, or has in another case, is refused, and
// so is a value of another type: a fraction for an integer, a number out of its
// type's range.
//
// Absent, null and present are three things. A member that may be null is a
// pointer or a Raw; null for anything else is refused. A pointer cannot tell
// null from absent: where that matters, use Raw, which is "null" or empty.
// A fault that a field's own UnmarshalText gives is passed on with its place.
//
// When Decode fails, what into holds is unspecified. It must be a non-nil
// pointer. Numbers in an any become float64; use Raw or Parse where they matter.
func Decode(raw []byte, lim Limits, into any) error { return decode(raw, lim, into) }

// DecodeReply is Decode for who reads what a newer program may have written: a
// member that the struct does not have is passed over. Everything else holds.
func DecodeReply(raw []byte, lim Limits, into any) error {
	return decode(raw, lim, into, json.RejectUnknownMembers(false))
}

func decode(raw []byte, lim Limits, into any, more ...json.Options) error {
	s, err := open(raw, lim)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.check(nil); err != nil {
		return err
	}
	opts := decoding
	if s.nulls {
		opts = guarded
	}
	if err := json.Unmarshal(raw, into, append([]json.Options{opts}, more...)...); err != nil {
		return misfit(err)
	}
	return nil
}

// refuseNull sees every value before it is decoded, in documents with a null.
func refuseNull(dec *jsontext.Decoder, into any) error {
	if dec.PeekKind() == 'n' && !mayBeNull(into) {
		return errNull
	}
	return errors.ErrUnsupported
}

func mayBeNull(into any) bool {
	switch into.(type) {
	case *Raw, json.Unmarshaler, json.UnmarshalerFrom:
		return true
	}
	kind := reflect.TypeOf(into).Elem().Kind()
	return kind == reflect.Pointer || kind == reflect.Interface
}

// misfit turns a failed decode into a fault without the library's text.
func misfit(err error) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return refuse(err)
	}
	f := fault.New(fault.InvalidRequest, "a member has a value of the wrong type")
	var own *fault.Fault
	switch {
	case errors.As(err, &own):
		f = own
	case errors.Is(err, json.ErrUnknownName):
		f = fault.New(fault.InvalidRequest, "an unknown member")
	case errors.Is(err, errNull):
		f = fault.New(fault.InvalidRequest, "null where a value is needed")
	}
	return at(f, semantic.JSONPointer, semantic.ByteOffset)
}

// Encode writes our own struct as compact JSON; equal values give equal bytes.
// A Raw inside it must be valid JSON and loses only its white space. A nil
// slice is [] and a nil map is {}. A value that cannot be written, such as text
// that is not UTF-8, is an internal fault.
func Encode(v any) ([]byte, error) {
	out, err := json.Marshal(v, encoding)
	if err != nil {
		return nil, fault.From(err)
	}
	return out, nil
}
