package natsbus

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const (
	envelopeVersion = 1
	maxHops         = 8
)

// envelope stands around every payload. Adapters write it; capsules never see
// one. It says nothing of who speaks: that is the subject.
type envelope struct {
	Version  int            `json:"v"`
	ID       string         `json:"id"`             // of the message
	Round    string         `json:"round"`          // of a describe, or the correlation of a read; an answer echoes it
	Deadline int64          `json:"deadline-ms"`    // Unix milliseconds; 0 in an answer
	Hops     int            `json:"hops"`           //
	Build    digest.Digest  `json:"build,omitzero"` // of the capsule that answers
	Lost     bool           `json:"lost,omitzero"`  // in the place of an answer: what was asked ended without one
	Payload  strictjson.Raw `json:"payload"`
}

var envelopeLimits = strictjson.Limits{Bytes: bound.BusMessageBytes, Nodes: bound.JSONNodes}

func (e envelope) encode() ([]byte, error) {
	e.Version = envelopeVersion
	out, err := strictjson.Encode(e)
	if err != nil {
		return nil, err
	}
	return out, bound.BusMessageBytes.Check(len(out))
}

func decodeEnvelope(raw []byte) (envelope, error) {
	var e envelope
	if err := strictjson.Decode(raw, envelopeLimits, &e); err != nil {
		return envelope{}, err
	}
	if e.Version != envelopeVersion || e.ID == "" || e.Hops < 0 || e.Hops > maxHops || len(e.Payload) == 0 {
		return envelope{}, fault.New(fault.InvalidRequest, "not an envelope of this bus")
	}
	return e, nil
}

func (e envelope) deadline() time.Time { return time.UnixMilli(e.Deadline) }
