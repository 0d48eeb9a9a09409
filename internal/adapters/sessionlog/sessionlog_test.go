package sessionlog_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/sessionlog"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// writer is the environment variable that makes this test binary a process which
// appends for ever and prints each sequence number once it is durable.
const writer = "STEWARD_TEST_SESSIONLOG_WRITER"

var quiet = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) {
	if folder := os.Getenv(writer); folder != "" {
		if err := appendForEver(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	m.Run()
}

func appendForEver(folder string) error {
	store, err := sessionlog.Open(folder, time.Now, quiet)
	if err != nil {
		return err
	}
	stream, _, err := store.Open(context.Background(), "S")
	if err != nil {
		return err
	}
	seq := int64(1)
	for more := true; more; {
		records, err := store.Read(context.Background(), "S", seq-1, 1000)
		if err != nil {
			return err
		}
		seq += int64(len(records))
		more = len(records) > 0
	}
	for {
		turn := fmt.Sprint("T", seq)
		if err := stream.Append(context.Background(), turn, transcript.UserInput, input("p")); err != nil {
			return err
		}
		fmt.Println(seq)
		var both sync.WaitGroup
		for range 3 {
			both.Go(func() {
				err = stream.Append(context.Background(), turn, transcript.AssistantChunk, transcript.Chunk{Text: strings.Repeat("x", rand.IntN(9000))})
			})
		}
		both.Wait()
		fmt.Println(seq + 3)
		seq += 4
	}
}

func input(prompt string) transcript.Input {
	return transcript.Input{OperationID: "o", Prompt: prompt, Manifest: strictjson.Raw("null")}
}

func open(t *testing.T, folder string) *sessionlog.Store {
	t.Helper()
	s, err := sessionlog.Open(folder, func() time.Time { return time.UnixMilli(1234) }, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept makes a session with one whole turn and one that is open.
func kept(t *testing.T, s *sessionlog.Store, session string) {
	t.Helper()
	must(t, s.Create(t.Context(), session, "a title"))
	w, _, err := s.Open(t.Context(), session)
	must(t, err)
	must(t, w.Append(t.Context(), "A", transcript.UserInput, input("first")))
	must(t, w.Append(t.Context(), "A", transcript.AssistantChunk, transcript.Chunk{Text: "said"}))
	must(t, w.Append(t.Context(), "A", transcript.TurnStatus, transcript.Status{Status: "completed"}))
	must(t, w.Append(t.Context(), "B", transcript.UserInput, input("second")))
	must(t, w.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func file(folder, session string) string {
	return filepath.Join(folder, hex.EncodeToString([]byte(session))+".log")
}

// A stream that was cut at any byte opens with the records before the cut, and
// with no turn open; what is appended then is read.
func TestAStreamCutAnywhereOpens(t *testing.T) {
	folder := t.TempDir()
	kept(t, open(t, folder), "S")
	whole, err := os.ReadFile(file(folder, "S"))
	must(t, err)
	header := bytes.IndexByte(whole, '\n') + 1
	all, err := open(t, folder).Read(t.Context(), "S", 0, 100)
	must(t, err)
	step := 1
	if testing.Short() {
		step = 7
	}
	for cut := header; cut <= len(whole); cut += step {
		again := t.TempDir()
		must(t, os.Chmod(again, 0o700))
		must(t, os.WriteFile(file(again, "S"), whole[:cut], 0o600))
		s := open(t, again)
		w, _, err := s.Open(t.Context(), "S")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		records, err := s.Read(t.Context(), "S", 0, 100)
		must(t, err)
		n := bytes.Count(whole[:cut], []byte("\n"))
		if diff := cmp.Diff(all[:n], records[:n]); diff != "" {
			t.Errorf("cut at %d:\n%s", cut, diff)
		}
		if n > 1 && records[len(records)-1].Kind != transcript.TurnStatus {
			t.Errorf("cut at %d: a turn is open: %v", cut, records)
		}
		for _, r := range records[n:] {
			if d, err := transcript.Read[transcript.Status](r); err != nil || d != (transcript.Status{Status: "failed", Code: "interrupted"}) {
				t.Errorf("cut at %d: it was mended with %+v, %v", cut, d, err)
			}
		}
		must(t, w.Append(t.Context(), "C", transcript.UserInput, input("third")))
		must(t, w.Close())
		if got, err := s.Read(t.Context(), "S", int64(len(records)), 9); err != nil || len(got) != 1 || got[0].Turn != "C" {
			t.Errorf("cut at %d: what came after reads as %v, %v", cut, got, err)
		}
	}
}

func TestDamageThatNoCrashMakesIsAFault(t *testing.T) {
	folder := t.TempDir()
	kept(t, open(t, folder), "S")
	whole, err := os.ReadFile(file(folder, "S"))
	must(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, bent := range map[string][]byte{
		"a bent byte in the middle":    bytes.Replace(whole, []byte("first"), []byte("fIrst"), 1),
		"a bent byte in the last line": bytes.Replace(whole, []byte("second"), []byte("sEcond"), 1),
		"a line is missing":            bytes.Join(append(append([][]byte{}, lines[:1]...), lines[2:]...), nil),
		"a line stands twice":          bytes.Join(append([][]byte{lines[0]}, lines...), nil),
		"no header":                    whole[:5],
		"a line without end":           append(bytes.Clone(whole), bytes.Repeat([]byte("x"), 600<<10)...),
	} {
		must(t, os.WriteFile(file(folder, "S"), bent, 0o600))
		if _, _, err := open(t, folder).Open(t.Context(), "S"); !fault.Is(err, fault.PersistenceFailed) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(file(folder, "S")); err != nil || !bytes.Equal(left, bent) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestASessionHasOneWriter(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	kept(t, s, "S")
	w, _, err := s.Open(t.Context(), "S")
	must(t, err)
	if _, _, err := open(t, folder).Open(t.Context(), "S"); !fault.Is(err, fault.SessionBusy) {
		t.Errorf("a second writer: %v", err)
	}
	must(t, w.Close())
	if err := w.Append(t.Context(), "A", transcript.AssistantChunk, transcript.Chunk{}); !fault.Is(err, fault.PersistenceFailed) {
		t.Errorf("after the close: %v", err)
	}
	w, _, err = open(t, folder).Open(t.Context(), "S")
	must(t, err)
	must(t, w.Close())
}

func TestSessionsAreListedByID(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	for _, id := range []string{"b", "B", "a", "_"} {
		must(t, s.Create(t.Context(), id, "title of "+id))
	}
	if err := s.Create(t.Context(), "a", ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("made twice: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(folder, "stray.log"), nil, 0o600))
	var got []string
	for after := ""; ; {
		page, err := s.List(t.Context(), after, 3)
		must(t, err)
		if len(page) == 0 {
			break
		}
		for _, x := range page {
			got = append(got, x.Session+": "+x.Title)
			after = x.Session
		}
	}
	if diff := cmp.Diff([]string{"B: title of B", "_: title of _", "a: title of a", "b: title of b"}, got); diff != "" {
		t.Error(diff)
	}
	for id, want := range map[string]bool{"a": true, "c": false, "": false, "../a": false, strings.Repeat("a", 65): false} {
		if s.Known(id) != want {
			t.Errorf("%q is known: %v", id, !want)
		}
		if _, err := s.Read(t.Context(), id, 0, 1); fault.Is(err, fault.UnknownSession) == want {
			t.Errorf("%q is read: %v", id, err)
		}
	}
}

// Records that were appended at once stand in one order, without gaps, and pages
// of any size give the same.
func TestPagesAreTheStream(t *testing.T) {
	s := open(t, t.TempDir())
	must(t, s.Create(t.Context(), "S", ""))
	w, _, err := s.Open(t.Context(), "S")
	must(t, err)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if err := w.Append(t.Context(), "A", transcript.AssistantChunk, transcript.Chunk{Text: strings.Repeat("y", i*200)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	must(t, w.Close())
	want, err := s.Read(t.Context(), "S", 0, 1000)
	must(t, err)
	if len(want) != 41 {
		t.Fatalf("%d records", len(want))
	}
	for size := 1; size <= 42; size++ {
		var got []transcript.Record
		for {
			page, err := s.Read(t.Context(), "S", int64(len(got)), size)
			must(t, err)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("pages of %d are not the stream: %d records", size, len(got))
		}
	}
}

// A writer that is killed at any instant has lost nothing that it said was
// durable. The checker below shares no code with the writer.
func TestAKilledWriterLosesNothingItAcknowledged(t *testing.T) {
	folder := t.TempDir()
	must(t, open(t, folder).Create(t.Context(), "S", ""))
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		acknowledged := killOne(t, folder, rand.IntN(60))
		seqs := check(t, file(folder, "S"))
		if len(seqs) < acknowledged {
			t.Fatalf("round %d: %d were acknowledged, %d are there", round, acknowledged, len(seqs))
		}
		for i, seq := range seqs {
			if seq != int64(i+1) {
				t.Fatalf("round %d: record %d has number %d", round, i+1, seq)
			}
		}
	}
}

// killOne lets a writer acknowledge a number of lines, kills it, and gives the
// last sequence number that it acknowledged.
func killOne(t *testing.T, folder string, lines int) (last int) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), writer+"="+folder)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	said := bufio.NewScanner(out)
	for n := 0; said.Scan(); n++ {
		last, err = strconv.Atoi(said.Text())
		must(t, err)
		if n == lines {
			must(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	return last
}

// check reads a stream on its own: the sequence numbers of its whole lines.
func check(t *testing.T, path string) (seqs []int64) {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	lines := strings.Split(string(raw), "\n")
	for i, line := range lines {
		sum, body, _ := strings.Cut(line, " ")
		var f struct {
			Records []struct {
				Seq int64 `json:"seq"`
			} `json:"records"`
		}
		want := fmt.Sprintf("%08x", crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
		if sum != want || json.Unmarshal([]byte(body), &f) != nil {
			if i != len(lines)-1 {
				t.Fatalf("line %d of %d is damaged", i+1, len(lines))
			}
			continue
		}
		for _, r := range f.Records {
			seqs = append(seqs, r.Seq)
		}
	}
	return seqs
}

func BenchmarkAppend(b *testing.B) {
	s, err := sessionlog.Open(b.TempDir(), time.Now, quiet)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Create(b.Context(), "S", ""); err != nil {
		b.Fatal(err)
	}
	w, _, err := s.Open(b.Context(), "S")
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for b.Loop() {
		if err := w.Append(b.Context(), "A", transcript.AssistantChunk, transcript.Chunk{Text: "hello"}); err != nil {
			b.Fatal(err)
		}
	}
}
