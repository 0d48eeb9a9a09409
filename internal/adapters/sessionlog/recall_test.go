package sessionlog

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

func storeIn(t testing.TB, folder string) *Store {
	t.Helper()
	s, err := Open(folder, time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// turnOf writes one whole turn and gives what was shown of those before it.
func turnOf(t testing.TB, s *Store, session, name string, said int) []conversation.Message {
	t.Helper()
	w, history, err := s.Open(t.Context(), session)
	for _, x := range []struct {
		kind transcript.Kind
		data any
	}{
		{transcript.UserInput, transcript.Input{Prompt: name, Manifest: []byte("null")}},
		{transcript.AssistantChunk, transcript.Chunk{Text: strings.Repeat("x", said)}},
		{transcript.ToolCall, transcript.Call{CallID: name, ProviderCallID: "p", Name: "n", Arguments: "{}", Source: transcript.Builtin, Contract: []byte("null"), Binding: []byte("null")}},
		{transcript.ToolResult, transcript.Result{CallID: name, ProviderCallID: "p", Status: transcript.Succeeded, Effects: "none", Text: "r"}},
		{transcript.TurnStatus, transcript.Status{Status: "completed"}},
	} {
		if err == nil {
			err = w.Append(t.Context(), name, x.kind, x.data)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return history
}

// What a store remembers of a session is what is in its file, whoever wrote there
// meanwhile.
func TestWhatIsRememberedIsWhatIsThere(t *testing.T) {
	for _, writers := range []string{"o", "t", "ooo", "oto", "toot", "ottto"} {
		folder := t.TempDir()
		of := map[rune]*Store{'o': storeIn(t, folder), 't': storeIn(t, folder)}
		if err := of['o'].Create(t.Context(), "S", ""); err != nil {
			t.Fatal(err)
		}
		for i, writer := range writers {
			turnOf(t, of[writer], "S", fmt.Sprint(i), bound.TurnHistoryBytes.Int()/4)
		}
		var shown [][]conversation.Message
		for _, s := range []*Store{of['o'], storeIn(t, folder)} {
			w, history, err := s.Open(t.Context(), "S")
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, history)
			_ = w.Close()
		}
		if diff := cmp.Diff(shown[1], shown[0]); diff != "" || len(shown[0]) != 3*min(3, len(writers)) {
			t.Errorf("%s: %d messages:\n%.500s", writers, len(shown[0]), diff)
		}
	}
}

// A file that is as it was left is not read again; the least touch makes the store
// read it.
func TestAMemoryIsDroppedOnDoubt(t *testing.T) {
	s := storeIn(t, t.TempDir())
	if err := s.Create(t.Context(), "S", ""); err != nil {
		t.Fatal(err)
	}
	turnOf(t, s, "S", "first", 10)
	path := s.path("S")
	raw, err := os.ReadFile(path)
	info, bad := os.Stat(path)
	if err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	bend := func(at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, bytes.Replace(raw, []byte("first"), []byte("fIrst"), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	bend(info.ModTime())
	w, history, err := s.Open(t.Context(), "S")
	if err != nil || len(history) != 3 || history[0].Text != "first" {
		t.Fatalf("it was read again: %+v, %v", history, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bend(info.ModTime().Add(1))
	if _, _, err := s.Open(t.Context(), "S"); !fault.Is(err, fault.PersistenceFailed) {
		t.Errorf("a file that was touched: %v", err)
	}
	if len(s.closed.memories)+len(s.closed.order) != 0 {
		t.Errorf("remembered: %v", s.closed.order)
	}
}

// A store remembers a number of sessions, those that were closed last.
func TestMemoriesAreBounded(t *testing.T) {
	s := storeIn(t, t.TempDir())
	most := bound.LogRecalled.Int()
	for i := range most + 3 {
		name := fmt.Sprint("S", i)
		if err := s.Create(t.Context(), name, ""); err != nil {
			t.Fatal(err)
		}
		turnOf(t, s, name, "a", 1)
		turnOf(t, s, name, "b", 1)
	}
	if len(s.closed.memories) != most || len(s.closed.order) != most || s.closed.memories[fmt.Sprint("S", most+2)] == nil || s.closed.memories["S2"] != nil {
		t.Errorf("remembered: %v", s.closed.order)
	}
}

// What could not be written is in the log with its cause, once, and the session is
// read again.
func TestTheLogTellsWhatIsNotWritten(t *testing.T) {
	var log bytes.Buffer
	s := storeIn(t, t.TempDir())
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	if err := s.Create(t.Context(), "S", ""); err != nil {
		t.Fatal(err)
	}
	w, _, err := s.Open(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	_ = w.file.Close()
	for range 2 {
		if err := w.Append(t.Context(), "T", transcript.AssistantChunk, transcript.Chunk{Text: "hunter2"}); !fault.Is(err, fault.PersistenceFailed) {
			t.Errorf("appended: %v", err)
		}
	}
	_ = w.Close()
	said := log.String()
	if strings.Count(said, "was not written") != 1 || !strings.Contains(said, "session=S turn=T kind=assistant_chunk") ||
		!strings.Contains(said, "file already closed") || strings.Contains(said, "hunter2") || len(s.closed.memories) != 0 {
		t.Errorf("logged %q, remembered %v", said, s.closed.order)
	}
}

// Whoever reads a session that a dead daemon left sees its turn and its calls closed
// once it is mended; where somebody writes, nothing is done.
func TestASessionIsMended(t *testing.T) {
	folder := t.TempDir()
	left, s := storeIn(t, folder), storeIn(t, folder)
	if err := left.Create(t.Context(), "S", ""); err != nil {
		t.Fatal(err)
	}
	w, _, err := left.Open(t.Context(), "S")
	if err == nil {
		err = w.Append(t.Context(), "T", transcript.UserInput, transcript.Input{Prompt: "p", Manifest: []byte("null")})
	}
	if err == nil {
		err = w.Append(t.Context(), "T", transcript.ToolCall, transcript.Call{CallID: "c", Name: "n", Source: transcript.Application, Contract: []byte("null"), Binding: []byte("null")})
	}
	if err != nil {
		t.Fatal(err)
	}
	last := func() (kinds []transcript.Kind) {
		t.Helper()
		records, err := s.Read(t.Context(), "S", 2, 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			kinds = append(kinds, r.Kind)
		}
		return kinds
	}
	if err := s.Mend(t.Context(), "S"); !fault.Is(err, fault.SessionBusy) || len(last()) != 1 {
		t.Errorf("while it is written: %v, %v", err, last())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Mend(t.Context(), "S"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]transcript.Kind{transcript.ToolCall, transcript.ToolResult, transcript.TurnStatus}, last()); diff != "" {
			t.Error(diff)
		}
	}
}

// Who opens a session waits for another of this process that has it for a moment; who
// keeps it is no such one.
func TestOpenersOfOneProcessTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storeIn(t, t.TempDir())
		if err := s.Create(t.Context(), "S", ""); err != nil {
			t.Fatal(err)
		}
		leave := s.enter("S")
		opened := make(chan error, 1)
		go func() {
			w, _, err := s.Open(t.Context(), "S")
			if err == nil {
				err = w.Close()
			}
			opened <- err
		}()
		synctest.Wait()
		select {
		case err := <-opened:
			t.Fatalf("it was opened beside: %v", err)
		default:
		}
		leave()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := s.Mend(t.Context(), "S"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := <-opened; err != nil || len(s.gates) != 0 {
			t.Errorf("opened: %v; gates: %v", err, s.gates)
		}
	})
}

// The start of a turn in a session that has been long in use.
func BenchmarkOpen(b *testing.B) {
	folder := b.TempDir()
	s := storeIn(b, folder)
	if err := s.Create(b.Context(), "S", ""); err != nil {
		b.Fatal(err)
	}
	var raw bytes.Buffer
	for seq := int64(2); raw.Len() < 32<<20; {
		name := fmt.Sprint(seq)
		for _, x := range []struct {
			kind transcript.Kind
			data any
		}{
			{transcript.UserInput, transcript.Input{Prompt: name, Manifest: []byte("null")}},
			{transcript.AssistantChunk, transcript.Chunk{Text: strings.Repeat("x", 4000)}},
			{transcript.TurnStatus, transcript.Status{Status: "completed"}},
		} {
			r, err := transcript.New(seq, 1, name, x.kind, x.data)
			line, bad := transcript.Encode(r)
			if err != nil || bad != nil {
				b.Fatal(err, bad)
			}
			raw.Write(line)
			seq++
		}
	}
	file, err := os.OpenFile(s.path("S"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.Write(raw.Bytes())
	}
	if err != nil {
		b.Fatal(err)
	}
	_ = file.Close()
	for name, store := range map[string]func() *Store{"read": func() *Store { return storeIn(b, folder) }, "remembered": func() *Store { return s }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w, _, err := store().Open(b.Context(), "S")
				if err == nil {
					err = w.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
