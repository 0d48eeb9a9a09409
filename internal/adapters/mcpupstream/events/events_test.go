package events_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/events"
	"github.com/stewardhost/steward/internal/ground/bound"
)

type told struct {
	Data, ID string
	Retry    time.Duration
	Err      string
}

func all(src io.Reader, most int) (out []told) {
	r := events.NewReader(src)
	for {
		e, err := r.Next(most)
		switch {
		case err == nil:
			out = append(out, told{string(e.Data), e.ID, e.Retry, ""})
		case errors.Is(err, events.ErrLong):
			out = append(out, told{Err: "long"})
		default:
			return out
		}
	}
}

var streams = []struct {
	name, stream string
	want         []told
}{
	{"one", "data: {}\n\n", []told{{Data: "{}"}}},
	{"without a blank", "data:{}\n\n", []told{{Data: "{}"}}},
	{"two blanks", "data:  x\n\n", []told{{Data: " x"}}},
	{"named", "event: message\ndata: a\n\n", []told{{Data: "a"}}},
	{"two lines", "data: a\ndata: b\n\n", []told{{Data: "a\nb"}}},
	{"empty data", "data\n\ndata:\n\n", []told{{}, {}}},
	{"ids stay", "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []told{{Data: "a", ID: "7"}, {Data: "b", ID: "7"}, {Data: "c"}}},
	{"retry", "retry: 250\n\nretry: x\n\nretry: 99999999\n\n", []told{{Retry: 250 * time.Millisecond}, {Retry: 30 * time.Second}}},
	{"comments", ": x\n\n:\n\n: " + strings.Repeat("y", 10_000) + "\n\ndata: a\n: z\n\n", []told{{Data: "a"}}},
	{"other fields", "foo: bar\n" + strings.Repeat("z", 9000) + ": q\ndata: a\n\n", []told{{Data: "a"}}},
	{"line ends", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", []told{{Data: "a"}, {Data: "b"}, {Data: "c"}}},
	{"a mark", "\xef\xbb\xbfdata: a\n\n", []told{{Data: "a"}}},
	{"unfinished", "data: a\n\ndata: b\n", []told{{Data: "a"}}},
	{"at the bound", "data: 0123456789\n\n", []told{{Data: "0123456789"}}},
	{"over the bound", "data: 0123456789x\n\ndata: a\n\n", []told{{Err: "long"}, {Data: "a"}}},
	{"over in two", "data: 012345\ndata: 6789\n\ndata: a\n\n", []told{{Err: "long"}, {Data: "a"}}},
	{"far over", "data: " + strings.Repeat("x", 100_000) + "\ndata: y\n\ndata: a\n\n", []told{{Err: "long"}, {Data: "a"}}},
}

func TestStreams(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			for how, src := range map[string]io.Reader{"whole": strings.NewReader(c.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(c.stream))} {
				if diff := cmp.Diff(c.want, all(src, 10)); diff != "" {
					t.Errorf("%s: %s", how, diff)
				}
			}
		})
	}
}

// However a stream arrives, it says the same, and nothing over the bound is kept.
func FuzzReader(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		const most = 10
		whole := all(bytes.NewReader(stream), most)
		if diff := cmp.Diff(whole, all(iotest.OneByteReader(bytes.NewReader(stream)), most)); diff != "" {
			t.Error(diff)
		}
		for _, e := range whole {
			if len(e.Data) > most {
				t.Errorf("%d bytes of data", len(e.Data))
			}
		}
	})
}

// counted gives a text without an end, and counts what was taken of it.
type counted struct {
	text  string
	taken int
}

func (c *counted) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], c.text[(c.taken+n)%len(c.text):])
	}
	c.taken += n
	return n, nil
}

// What has no end is given up, however it is written (FF64).
func TestAnEventWithoutAnEndIsGivenUp(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	for name, text := range map[string]string{
		"data": "data: " + long, "many lines of data": "data: " + long + "\n", "a comment": ": " + long,
		"comments": ": " + long + "\n\n", "a field of no meaning": long, "empty lines": strings.Repeat("\n", 64<<10),
		"carriage returns": strings.Repeat("\r\n", 32<<10),
	} {
		t.Run(name, func(t *testing.T) {
			src := &counted{text: text}
			if e, err := events.NewReader(src).Next(10); !errors.Is(err, events.ErrEndless) {
				t.Errorf("%+v, %v", e, err)
			}
			if most := 9 * bound.UpstreamLineBytes.Int(); src.taken > most {
				t.Errorf("%d bytes were read", src.taken)
			}
		})
	}
}
