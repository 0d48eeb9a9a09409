package natsbus

import (
	"bytes"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const (
	lostUnsent = "unsent"   // the capsule was not told of the call
	lostEnded  = "ended"    // it was, and what it did is not known
	declined   = "declined" // it was asked for a URI, and has none such

	envelopeVersion = 1
	maxHops         = 8
)

// envelope stands before every payload, as a line of JSON. Adapters write it;
// capsules never see one. It says nothing of who speaks: that is the subject. What
// it costs does not depend on how long the payload is.
//
//	{"v":1,"id":…,"round":…,"deadline-ms":…,"hops":0} LF payload
type envelope struct {
	Version  int           `json:"v"`
	ID       string        `json:"id"`             // of the message
	Round    string        `json:"round"`          // of a describe, or the correlation of a read; an answer echoes it
	Deadline int64         `json:"deadline-ms"`    // Unix milliseconds; 0 in an answer
	Hops     int           `json:"hops"`           //
	Life     int64         `json:"life,omitzero"`  // of the capsule that a call is for
	Build    digest.Digest `json:"build,omitzero"` // of the capsule that answers
	Lost     string        `json:"lost,omitzero"`  // in the place of an answer: there will be none; lostUnsent, lostEnded, declined
	Payload  []byte        `json:"-"`              // a record of the contract
}

var envelopeLimits = strictjson.Limits{Bytes: bound.EnvelopeBytes}

func (e envelope) encode() ([]byte, error) {
	e.Version = envelopeVersion
	line, err := strictjson.Encode(e)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(line)+1+len(e.Payload))
	out = append(append(append(out, line...), '\n'), e.Payload...)
	return out, bound.BusMessageBytes.Check(len(out))
}

func decodeEnvelope(raw []byte) (envelope, error) {
	if err := bound.BusMessageBytes.Check(len(raw)); err != nil {
		return envelope{}, err
	}
	line, payload, _ := bytes.Cut(raw, []byte{'\n'})
	var e envelope
	if err := strictjson.Decode(line, envelopeLimits, &e); err != nil {
		return envelope{}, err
	}
	if e.Version != envelopeVersion || e.ID == "" || e.Hops < 0 || e.Hops > maxHops || len(payload) == 0 {
		return envelope{}, fault.New(fault.InvalidRequest, "not an envelope of this bus")
	}
	e.Payload = payload
	return e, nil
}

func (e envelope) deadline() time.Time { return time.UnixMilli(e.Deadline) }
