package eventstream_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/model/eventstream"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

func all(r io.Reader) ([]eventstream.Event, error) {
	in := eventstream.NewReader(r)
	var out []eventstream.Event
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
}

// slow is a second reading of the format, over the whole text at once.
func slow(text string) []eventstream.Event {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\ufeff"))
	lines := strings.Split(text, "\n")
	var out []eventstream.Event
	var data []string
	name := ""
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				if name == "" {
					name = "message"
				}
				out = append(out, eventstream.Event{Name: name, Data: []byte(strings.Join(data, "\n"))})
			}
			data, name = nil, ""
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		}
	}
	return out
}

var streams = []string{
	"", "\n", "data: a\n\n", "data:a\r\rdata: b\r\n\r\n", "event: x\ndata: 1\ndata: 2\n\n", ": a comment\n\ndata\n\n",
	"\ufeffdata: first\n\ndata: never ended\n", "event: alone\n\ndata: m\n\n", "data:  two spaces\n\nid: 4\nretry: 1\n\n", "data: a\r", "data:\r\ndata:\n\n",
}

func FuzzReader(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := all(bytes.NewReader(text))
		if err != nil {
			if len(text) <= bound.ModelEventBytes.Int() {
				t.Fatal(err)
			}
			return
		}
		byOne, err := all(iotest.OneByteReader(bytes.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		empty := cmp.Transformer("empty", func(b []byte) string { return string(b) })
		if diff := cmp.Diff(slow(string(text)), got, empty); diff != "" {
			t.Errorf("%q reads otherwise:\n%s", text, diff)
		}
		if diff := cmp.Diff(got, byOne, empty); diff != "" {
			t.Errorf("%q, byte by byte:\n%s", text, diff)
		}
	})
}

func TestAStreamIsBounded(t *testing.T) {
	long := bytes.Repeat([]byte("x"), bound.ModelEventBytes.Int()+1)
	many := bytes.Repeat([]byte("data: "+strings.Repeat("y", 1000)+"\n\n"), bound.ModelStreamBytes.Int()/1000)
	lines := bytes.Repeat([]byte("data: z\n"), bound.ModelEventBytes.Int()/6)
	for name, text := range map[string][]byte{"a line": long, "an event of many lines": lines, "a stream": many} {
		if _, err := all(bytes.NewReader(text)); !fault.Is(err, fault.TooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
