package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// engineLog is a log that the engine wrote, of commits of one or more frames: a
// table, then rows of random bytes. It is kept as a file, so that the fuzz target
// does without the engine.
func engineLog(t testing.TB, commits int) []byte {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("testdata/commits-%d.wal", commits))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

const frame = frameBytes + 4096

// frames lists where the frames begin, and which of them commit.
func frames(raw []byte) (at []int, commits []bool) {
	for off := headerBytes; off+frame <= len(raw); off += frame {
		at = append(at, off)
		commits = append(commits, binary.BigEndian.Uint32(raw[off+4:]) != 0)
	}
	return at, commits
}

func TestALogOfTheEngineIsWhole(t *testing.T) {
	raw := engineLog(t, 12)
	at, _ := frames(raw)
	if len(at) < 20 {
		t.Fatalf("only %d frames", len(at))
	}
	for name, log := range map[string][]byte{
		"as it is": raw, "with room behind it": append(bytes.Clone(raw), make([]byte, 10*frame)...),
		"empty": {}, "reserved": make([]byte, 1<<16), "a header": raw[:headerBytes], "no log": []byte("words, and enough of them for a header of a log"),
	} {
		if err := check(bytes.NewReader(log)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Check(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Error(err)
	}
}

// A log that was cut anywhere, or whose last commit is there in pieces, is what a
// power cut leaves.
func TestATornEndIsNoDamage(t *testing.T) {
	raw := engineLog(t, 8)
	for cut := 0; cut < len(raw); cut += 97 {
		if err := check(bytes.NewReader(raw[:cut])); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	at, commits := frames(raw)
	last := len(at) - 2
	for ; !commits[last]; last-- { // the frame before the last commit
	}
	for _, off := range at[last+1:] {
		log := bytes.Clone(raw)
		clear(log[off : off+frame])
		if err := check(bytes.NewReader(log)); err != nil {
			t.Errorf("the last commit in pieces: %v", err)
		}
	}
}

// Any bit before the latest two commits is noticed, whatever it belongs to.
func TestDamageInTheMiddleIsFound(t *testing.T) {
	raw := engineLog(t, 10)
	at, commits := frames(raw)
	behind, safe := 0, len(at)
	for behind < 2 {
		safe--
		if commits[safe] {
			behind++
		}
	}
	for n, off := range at[:safe] {
		for _, place := range []int{0, 3, 9, 20, 24, 2000, frame - 1} {
			log := bytes.Clone(raw)
			log[off+place] ^= 0x10
			if err := check(bytes.NewReader(log)); !errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d of frame %d of %d: %v", place, n, len(at), err)
			}
		}
	}
}

// What an earlier time of the log left behind its end is not its own.
func TestFramesOfAnEarlierTimeAreNoDamage(t *testing.T) {
	older, newer := engineLog(t, 12), engineLog(t, 3)
	log := append(bytes.Clone(newer), older[len(newer):]...)
	if err := check(bytes.NewReader(log)); err != nil {
		t.Error(err)
	}
}

func FuzzCheck(f *testing.F) {
	raw := engineLog(f, 4)
	f.Add(raw)
	f.Add(raw[:headerBytes+frame+7])
	f.Add(make([]byte, 100))
	f.Fuzz(func(t *testing.T, log []byte) {
		if err := check(bytes.NewReader(log)); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
	})
}
