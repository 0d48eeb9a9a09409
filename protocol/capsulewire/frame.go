package capsulewire

import (
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Version is that of the frames.
const Version = 1

// A capsule that is a process speaks with the host over its standard input and
// output, one frame a line; standard error is its log.
//
//	host     hello    first, once: for whom the process runs
//	capsule  ready    the capsule takes requests; before it, they wait
//	host     request  one question; several may be open
//	host     cancel   nobody waits for the answer any more
//	capsule  reply    the answer, once for a request
//	capsule  silent   there will be no answer: the URI is not the capsule's
//
// The end of its input tells a capsule to end.
const (
	Hello   = "hello"
	Ready   = "ready"
	Request = "request"
	Cancel  = "cancel"
	Reply   = "reply"
	Silent  = "silent"
)

// LineBytes is how long a line may be at most, with its end.
func LineBytes() int { return bound.CapsuleFrameBytes.Int() + 1 }

// OpenRequests is how many requests a capsule is asked to work on at once, at most.
func OpenRequests() int { return bound.CapsuleCalls.Int() }

// HostFrame is what the host sends.
type HostFrame struct {
	Type       string `json:"type"`
	Version    int    `json:"version,omitzero"`     // of a hello
	Principal  string `json:"principal,omitzero"`   // of a hello: the verified one, for the life of the process
	Capsule    string `json:"capsule,omitzero"`     // of a hello: the name that the manifest gives
	ID         string `json:"id,omitzero"`          // of a request or a cancel
	Topic      string `json:"topic,omitzero"`       // of a request
	DeadlineMS int64  `json:"deadline-ms,omitzero"` // of a request: how long the host waits, from the frame on
	Payload    Raw    `json:"payload,omitzero"`     // of a request
}

// CapsuleFrame is what the capsule sends.
type CapsuleFrame struct {
	Type    string `json:"type"`
	ID      string `json:"id,omitzero"` // of the request that it is about
	Payload Raw    `json:"payload,omitzero"`
}

// DecodeHostFrame reads a line, on the capsule's side.
func DecodeHostFrame(line []byte) (HostFrame, error) {
	var f HostFrame
	if err := strictjson.Decode(line, frame, &f); err != nil {
		return HostFrame{}, err
	}
	ok := f.Type == Hello && f.Version == Version && f.Principal != "" || f.Type == Request && f.ID != "" && f.Topic != "" && len(f.Payload) > 0 ||
		f.Type == Cancel && f.ID != ""
	if !ok {
		return HostFrame{}, fault.New(fault.InvalidRequest, "not a frame of the host")
	}
	return f, nil
}

// DecodeCapsuleFrame reads a line, on the host's side.
func DecodeCapsuleFrame(line []byte) (CapsuleFrame, error) {
	var f CapsuleFrame
	if err := strictjson.Decode(line, frame, &f); err != nil {
		return CapsuleFrame{}, err
	}
	ok := f.Type == Ready && f.ID == "" && f.Payload == nil || f.Type == Reply && f.ID != "" && len(f.Payload) > 0 ||
		f.Type == Silent && f.ID != "" && f.Payload == nil
	if !ok {
		return CapsuleFrame{}, fault.New(fault.InvalidRequest, "not a frame of a capsule")
	}
	if err := bound.CapsuleBytes.Check(len(f.Payload)); err != nil {
		return CapsuleFrame{}, err
	}
	return f, nil
}

// EncodeFrame writes a frame as one line, at most bound.CapsuleFrameBytes.
func EncodeFrame(f any) ([]byte, error) {
	line, err := strictjson.Encode(f)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), bound.CapsuleFrameBytes.Check(len(line))
}
