package sessionlog

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

var quiet = slog.New(slog.DiscardHandler)

// A file whose sync failed takes nothing more in this process, whoever opens it
// again; other sessions do. A write that failed is no such thing.
func TestAFailedSyncFencesTheSession(t *testing.T) {
	store, err := Open(t.TempDir(), time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		session, device string
		fenced          bool
	}{{"sync", os.DevNull, true}, {"write", "", false}, {"none", "-", false}} {
		if err := store.Create(t.Context(), c.session, ""); err != nil {
			t.Fatal(err)
		}
		w, _, err := store.Open(t.Context(), c.session)
		if err != nil {
			t.Fatal(err)
		}
		if c.device != "-" {
			_ = w.file.Close()
		}
		if c.device == os.DevNull { // it takes every write and cannot sync
			if w.file, err = os.OpenFile(c.device, os.O_RDWR, 0); err != nil {
				t.Fatal(err)
			}
		}
		err = w.Append(t.Context(), "T", transcript.AssistantChunk, transcript.Chunk{Text: "x"})
		if (err != nil) != (c.device != "-") {
			t.Errorf("%s: Append: %v", c.session, err)
		}
		_ = w.Close()
		again, _, err := store.Open(t.Context(), c.session)
		if fault.Is(err, fault.PersistenceFailed) != c.fenced {
			t.Errorf("%s: opened again: %v", c.session, err)
		}
		if err == nil {
			_ = again.Close()
		}
	}
}

// The first opener of a process writes the last frame once more before it adds to
// it: what a failed sync left may be in memory alone.
func TestAnOpenerWritesTheLastFrameAgain(t *testing.T) {
	folder := t.TempDir()
	store, err := Open(folder, time.Now, quiet)
	if err == nil {
		err = store.Create(context.Background(), "S", "t")
	}
	path := store.path("S")
	long := time.Unix(1, 0)
	if err == nil {
		err = os.Chtimes(path, long, long)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	w, _, err := store.Open(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	after, _ := os.ReadFile(path)
	info, err := os.Stat(path)
	if err != nil || info.ModTime().Equal(long) || string(before) != string(after) {
		t.Errorf("written %v, %q became %q, %v", info.ModTime(), before, after, err)
	}
}

// What is not the name that Create gives is no session: not a name that gives no
// text, nor one of a session that has another.
func TestStrayFilesAreNoSessions(t *testing.T) {
	folder := t.TempDir()
	store, err := Open(folder, time.Now, quiet)
	if err == nil {
		err = store.Create(t.Context(), "S", "t")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ff.log", ".log", "0a.log", "4A.log", "zz.log", "5.log"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := store.List(t.Context(), "", 100)
	if err != nil || len(rows) != 1 || rows[0].Session != "S" {
		t.Errorf("listed %+v, %v", rows, err)
	}
}

// A log that is nearly full takes no call and no text, but the results of calls that
// went out and then the turn's end.
func TestAFullLogTakesWhatEnds(t *testing.T) {
	store, err := Open(t.TempDir(), time.Now, quiet)
	if err == nil {
		err = store.Create(t.Context(), "S", "")
	}
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := store.Open(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	kinds := map[transcript.Kind]any{
		transcript.ToolCall: transcript.Call{Contract: []byte("null"), Binding: []byte("null")}, transcript.AssistantChunk: transcript.Chunk{Text: "x"},
		transcript.ToolResult: transcript.Result{}, transcript.TurnStatus: transcript.Status{},
	}
	for _, c := range []struct {
		left int64
		fits map[transcript.Kind]bool
	}{
		{resultReserve + 2*statusReserve, map[transcript.Kind]bool{transcript.ToolCall: true, transcript.AssistantChunk: true, transcript.ToolResult: true, transcript.TurnStatus: true}},
		{resultReserve + statusReserve, map[transcript.Kind]bool{transcript.ToolResult: true, transcript.TurnStatus: true}},
		{statusReserve, map[transcript.Kind]bool{transcript.TurnStatus: true}},
	} {
		for kind, data := range kinds {
			w.size = bound.LogBytes.Max - c.left
			if err := w.Append(t.Context(), "T", kind, data); (err == nil) != c.fits[kind] || err != nil && !fault.Is(err, fault.LimitExceeded) {
				t.Errorf("%s with %d bytes left: %v", kind, c.left, err)
			}
		}
	}
}

// A call that a dead daemon left without a result is closed before its turn: as
// uncertain where it may have acted, and once.
func TestADeadDaemonsCallsAreClosed(t *testing.T) {
	store, err := Open(t.TempDir(), time.Now, quiet)
	if err == nil {
		err = store.Create(t.Context(), "S", "")
	}
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := store.Open(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	add := func(kind transcript.Kind, data any) {
		t.Helper()
		if err := w.Append(t.Context(), "T", kind, data); err != nil {
			t.Fatal(err)
		}
	}
	call := func(id, source, parent string) {
		t.Helper()
		add(transcript.ToolCall, transcript.Call{CallID: id, ProviderCallID: "p" + id, Name: "n", Source: source, Parent: parent, Contract: []byte("null"), Binding: []byte("null")})
	}
	result := func(id, effects string) {
		t.Helper()
		add(transcript.ToolResult, transcript.Result{CallID: id, Status: transcript.Succeeded, Effects: effects})
	}
	add(transcript.UserInput, transcript.Input{Prompt: "p", Manifest: []byte("null")})
	call("answered", transcript.Application, "")
	result("answered", "reported")
	call("lent", transcript.Application, "")
	call("server", transcript.MCP, "")
	call("reader", transcript.Builtin, "")
	call("acted", transcript.Builtin, "")
	call("a", transcript.MCP, "acted")
	result("a", "reported")
	call("acts", transcript.Builtin, "")
	call("b", transcript.MCP, "acts")
	call("looks", transcript.Builtin, "")
	call("c", transcript.Builtin, "looks")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"lent uncertain", "server uncertain", "reader none", "acted reported", "acts uncertain", "b uncertain", "looks none", "c none", "failed interrupted"}
	for range 2 {
		w, _, err := store.Open(t.Context(), "S")
		if err != nil {
			t.Fatal(err)
		}
		records, err := store.Read(t.Context(), "S", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range records[len(records)-len(want):] {
			if d, err := transcript.Read[transcript.Result](r); err == nil && d.Status == transcript.Failed && d.Code == transcript.Interrupted && d.CallID != "" {
				got = append(got, d.CallID+" "+d.Effects)
			} else if s, err := transcript.Read[transcript.Status](r); err == nil {
				got = append(got, s.Status+" "+s.Code)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the record ends with %q, want %q", got, want)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
