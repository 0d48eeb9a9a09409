package unixsocket

import (
	"reflect"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// parsed is a record that is strict JSON, as far as it could be read: what an
// answer repeats of it is there even where the envelope is refused.
type parsed struct {
	sessionwire.Request
	fault *fault.Fault // invalid_envelope or unsupported_version, else nil
}

// parseEnvelope reads a record that checkRecord has let pass.
func parseEnvelope(record []byte) parsed {
	members, err := strictjson.Members(record, recordLimits)
	if err != nil {
		return parsed{fault: misfit("a request is an object")}
	}
	p := parsed{}
	if id, ok := text(members["request_id"]); ok && isIdentifier(id) {
		p.RequestID = id
	}
	var r sessionwire.Request
	if missing(members, reflect.TypeFor[sessionwire.Request]()) {
		p.fault = misfit("a request has every member of its envelope")
		return p
	}
	if err := strictjson.Decode(record, recordLimits, &r); err != nil {
		p.fault = misfit("a member of the envelope has another form")
		return p
	}
	if !whole(members["control"], reflect.TypeFor[*sessionwire.Control]()) {
		p.fault = misfit("a control token has its grant and its generation")
		return p
	}
	switch {
	case r.Kind != sessionwire.KindRequest || p.RequestID == "" || !identifiers(r):
		p.fault = misfit("a kind or an identifier of the envelope has another form")
	case r.ProtocolVersion != sessionwire.Version:
		p.fault = fault.New(fault.UnsupportedVersion, "this is another version")
	}
	if p.fault == nil || p.RequestID != "" && identifiers(r) {
		r.RequestID = p.RequestID
		p.Request = r
	}
	return p
}

func misfit(text string) *fault.Fault { return fault.New(fault.InvalidEnvelope, text) }

func text(raw strictjson.Raw) (string, bool) {
	var s string
	err := strictjson.Decode(raw, recordLimits, &s)
	return s, err == nil
}

// identifiers holds the identifiers of an envelope to their form.
func identifiers(r sessionwire.Request) bool {
	for _, id := range []*string{r.InstanceID, r.ConnectionID, r.SessionID, r.OperationID} {
		if id != nil && !isIdentifier(*id) {
			return false
		}
	}
	return true
}

// isIdentifier reports whether a text is 1 to 128 bytes of [A-Za-z0-9._:-].
func isIdentifier(text string) bool {
	if text == "" || bound.IdentifierBytes.Check(len(text)) != nil {
		return false
	}
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("._:-", rune(c)) {
			return false
		}
	}
	return true
}

// decode reads a payload strictly: every member that may not be left out is
// there, at every depth.
func decode[P any](raw sessionwire.Raw) (P, error) {
	var p P
	if err := bound.PayloadBytes.Check(len(raw)); err != nil {
		return p, err
	}
	if err := strictjson.Decode(strictjson.Raw(raw), recordLimits, &p); err != nil {
		return p, badPayload("a member of the payload has another form or is not known").Because(err)
	}
	if !whole(strictjson.Raw(raw), reflect.TypeFor[P]()) {
		return p, badPayload("a member of the payload is missing")
	}
	return p, nil
}

func badPayload(text string) *fault.Fault { return fault.New(fault.InvalidPayload, text) }

// exact are the messages whose members say which variant they are: there a member
// that may be left out must not be null instead.
var exact = map[reflect.Type]bool{
	reflect.TypeFor[sessionwire.Source]():        true,
	reflect.TypeFor[sessionwire.ResultOutcome](): true,
}

// whole reports whether a value that fits a type has every member that may not be
// left out.
func whole(raw strictjson.Raw, t reflect.Type) bool {
	switch {
	case t.Kind() == reflect.Pointer:
		return string(raw) == "null" || whole(raw, t.Elem())
	case t == reflect.TypeFor[sessionwire.Raw]():
		return true
	case t.Kind() == reflect.Slice:
		v, err := strictjson.Parse(raw, recordLimits)
		for i := 0; err == nil && i < len(v.Items); i++ {
			if !whole(v.Items[i].Append(nil), t.Elem()) {
				return false
			}
		}
		return err == nil
	case t.Kind() != reflect.Struct:
		return true
	}
	members, err := strictjson.Members(raw, recordLimits)
	if err != nil || missing(members, t) {
		return false
	}
	for i := range t.NumField() {
		name, _ := member(t.Field(i))
		value, ok := members[name]
		if ok && exact[t] && string(value) == "null" && t.Field(i).Type.Kind() == reflect.Pointer {
			return false
		}
		if ok && !whole(value, t.Field(i).Type) {
			return false
		}
	}
	return true
}

// missing reports whether a member of t that may not be left out is not there.
func missing(members map[string]strictjson.Raw, t reflect.Type) bool {
	for i := range t.NumField() {
		name, optional := member(t.Field(i))
		if _, ok := members[name]; !ok && !optional {
			return true
		}
	}
	return false
}

func member(f reflect.StructField) (name string, optional bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, options == "omitzero"
}
