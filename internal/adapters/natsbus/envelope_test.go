package natsbus

import (
	"bytes"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// FuzzEnvelope: what is accepted is encoded to something that is accepted as the
// same, and what is refused gives nothing.
func FuzzEnvelope(f *testing.F) {
	full, err := envelope{ID: "a", Round: "r", Deadline: time.Unix(1, 0).UnixMilli(), Hops: 8, Build: digest.Join("x").Sum(digest.Source), Payload: []byte("{}\n{}")}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	for _, text := range []string{"", "\n", "{}\n{}", `{"v":1,"id":"a","round":"","deadline-ms":0,"hops":0}` + "\n", `{"v":1,"id":"a","round":"","deadline-ms":0,"hops":9}` + "\n{}",
		`{"v":2,"id":"a","round":"","deadline-ms":0,"hops":0}` + "\n{}", `{"v":1,"id":"a","id":"b","round":"","deadline-ms":0,"hops":0}` + "\n{}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decodeEnvelope(raw)
		if err != nil {
			if e.ID != "" || e.Payload != nil {
				t.Errorf("refused with %+v", e)
			}
			return
		}
		again, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := decodeEnvelope(again); err != nil || twice.ID != e.ID || twice.Round != e.Round || twice.Deadline != e.Deadline ||
			twice.Hops != e.Hops || twice.Build != e.Build || !bytes.Equal(twice.Payload, e.Payload) {
			t.Errorf("%+v became %+v, %v", e, twice, err)
		}
	})
}

func TestEnvelopesAreBounded(t *testing.T) {
	whole, err := envelope{ID: "a", Payload: []byte("{}")}.encode()
	if err != nil {
		t.Fatal(err)
	}
	room := bound.BusMessageBytes.Int() - len(whole) + 2
	if _, err := (envelope{ID: "a", Payload: make([]byte, room)}).encode(); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	if _, err := (envelope{ID: "a", Payload: make([]byte, room+1)}).encode(); !fault.Is(err, fault.TooLarge) {
		t.Errorf("one over: %v", err)
	}
	for i := range whole {
		if e, err := decodeEnvelope(whole[:i]); err == nil && i < len(whole)-1 {
			t.Errorf("cut at %d: %+v", i, e)
		}
	}
	if _, err := decodeEnvelope(append(bytes.Repeat([]byte(" "), bound.EnvelopeBytes.Int()), whole...)); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a long line: %v", err)
	}
}
