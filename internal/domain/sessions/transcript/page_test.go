package transcript_test

import (
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Page by page, whatever the limit, a replay gives every event once and in order,
// and no page is over its bytes: not even the first part of a long prompt with the
// largest manifest there is.
func TestPagesAreWholeAndBounded(t *testing.T) {
	manifest := strictjson.Raw(`{"x":"` + strings.Repeat("m", bound.ManifestBytes.Int()-40) + `"}`)
	var records []transcript.Record
	add := func(kind transcript.Kind, data any) {
		r, err := transcript.New(int64(len(records)+1), 0, "turn", kind, data)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	add(transcript.UserInput, transcript.Input{OperationID: strings.Repeat("o", 128), Prompt: strings.Repeat("p\n", 12<<10), Manifest: manifest})
	for range 40 {
		add(transcript.AssistantChunk, transcript.Chunk{Text: strings.Repeat("é\"", 600)})
	}
	add(transcript.TurnStatus, transcript.Status{Status: "completed"})
	var want []string
	for _, r := range records {
		events, err := transcript.Events(r, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			want = append(want, e.ID)
		}
	}
	for _, limit := range []int{1, 2, 7, 256} {
		var got []string
		var after transcript.Place
		for {
			page := transcript.NewPage(after, limit, true)
			for _, r := range records[page.From():] {
				full, err := page.Add(r)
				if err != nil {
					t.Fatal(err)
				}
				if full {
					break
				}
			}
			raw, err := strictjson.Encode(page.Events)
			if err != nil || len(raw) > bound.ReplayBytes.Int() || len(page.Events) > limit || len(page.Events) == 0 {
				t.Fatalf("a page of %d events in %d bytes: %v", len(page.Events), len(raw), err)
			}
			for _, e := range page.Events {
				got = append(got, e.ID)
			}
			if page.Next == "" {
				break
			}
			if after, err = transcript.ParsePlace(page.Next); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
}
