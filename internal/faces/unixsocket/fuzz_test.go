package unixsocket

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// FuzzRecord holds the parser of records to this: bytes are a record or a fault with
// a code of the wing; what a request was read as is written as the same value; and
// what is refused as an envelope is answered under an ID that is one.
func FuzzRecord(f *testing.F) {
	const whole = `{"protocol_version":2,"kind":"request","request_id":"1","instance_id":null,"connection_id":null,"session_id":null,"operation_id":"o","control":{"grant_id":"g","generation":1},"method":"turn.start","payload":{"prompt":"x"}}`
	for _, seed := range []string{whole, "", "{}", "[]", "\r", "\ufeff{}", `{"a":1,"a":2}`, `{"request_id":"x y"}`, strings.Replace(whole, "2", "3", 1),
		strings.Replace(whole, `"o"`, `"\u0000"`, 1), strings.Replace(whole, `"grant_id":"g",`, "", 1), strings.Repeat("[", 40) + strings.Repeat("]", 40), `{"a":"\ud800"}`, whole[:len(whole)-1]} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		if err := checkRecord(record); err != nil {
			if !fault.Is(err, fault.MalformedRecord) {
				t.Fatal(err)
			}
			return
		}
		if len(record) > bound.RecordBytes.Int() {
			t.Fatalf("%d bytes are a record", len(record))
		}
		p := parseEnvelope(record)
		if p.RequestID != "" && !isIdentifier(p.RequestID) {
			t.Fatalf("answered under %q", p.RequestID)
		}
		if p.fault != nil {
			if p.fault.Code != fault.InvalidEnvelope && p.fault.Code != fault.UnsupportedVersion {
				t.Fatal(p.fault)
			}
			return
		}
		written, err := strictjson.Encode(p.Request)
		if err != nil {
			t.Fatal(err)
		}
		x, err1 := strictjson.Canonical(record, strictjson.Limits{})
		y, err2 := strictjson.Canonical(written, strictjson.Limits{})
		if err1 == nil && (err2 != nil || !bytes.Equal(x, y)) {
			t.Fatalf("%s was read as %s (%v)", record, written, err2)
		}
		if h := handlers()[p.Method]; h != nil {
			if _, err := h(p.Payload); err != nil {
				if row := fault.From(err).Row(); !isOurs(row.Code) {
					t.Fatalf("%s: %v", p.Method, err)
				}
			}
		}
	})
}

// A connection that is cut anywhere within a record gives no record, and one that
// comes in pieces gives the same as in one.
func TestRecordsAreCutAnywhere(t *testing.T) {
	stream := []byte("{\"a\":1}\n{\"b\":\"" + strings.Repeat("x", 3*readAhead) + "\"}\n{}\n")
	for cut := range len(stream) {
		if cut > 40 && cut%97 != 0 && cut < len(stream)-5 {
			continue
		}
		mine, its := net.Pipe()
		go func() {
			_, _ = mine.Write(stream[:cut])
			_, _ = mine.Write(stream[cut:])
			_ = mine.Close()
		}()
		r, n := newReader(its), 0
		for ; ; n++ {
			if _, err := r.next(); err != nil {
				break
			}
		}
		if n != 3 {
			t.Fatalf("in two pieces after %d bytes there are %d records", cut, n)
		}
		mine, its = net.Pipe()
		go func() {
			_, _ = mine.Write(stream[:cut])
			_ = mine.Close()
		}()
		r, n = newReader(its), 0
		for ; ; n++ {
			if _, err := r.next(); err != nil {
				break
			}
		}
		if want := bytes.Count(stream[:cut], []byte("\n")); n != want {
			t.Fatalf("cut after %d bytes there are %d records, want %d", cut, n, want)
		}
	}
}
