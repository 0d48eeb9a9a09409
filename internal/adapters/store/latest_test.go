package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/adapters/store"
)

// killed copies what a killed host leaves: its files as the kernel has them.
func (p *pool) killed(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range []string{"steward.db", "steward.db-wal", "node", "node.latest", "keys/root"} {
		raw, err := os.ReadFile(filepath.Join(p.dir, name))
		must(t, err)
		out[name] = raw
	}
	return out
}

// opened opens a store of files and tells what came of it.
func opened(t *testing.T, p *pool, files map[string][]byte) error {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	must(t, os.MkdirAll(filepath.Join(dir, "keys"), 0o700))
	for name, raw := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	s, err := store.Open(context.Background(), dir, store.Options{Now: p.clock.now})
	if err == nil {
		err = s.Close()
	}
	return err
}

// commits gives where the commits of a log end that are of its present time.
func commits(log []byte) (ends []int) {
	const header, frame = 32, 24 + 4096
	for at := header; at+frame <= len(log); at += frame {
		if bytes.Equal(log[at+8:at+16], log[16:24]) && binary.BigEndian.Uint32(log[at+4:]) != 0 {
			ends = append(ends, at+frame)
		}
	}
	return ends
}

func with(files map[string][]byte, name string, raw []byte) map[string][]byte {
	out := map[string][]byte{}
	for k, v := range files {
		out[k] = v
	}
	if out[name] = raw; raw == nil {
		delete(out, name)
	}
	return out
}

// R7, I55. Whatever the last commit of a killed process was, a store without it is
// refused: with its log removed, its log's head spoilt, or its newest commits cut or
// spoilt. With nothing but the file of the last fifteen seconds none of it is seen.
func TestALostLastCommitIsNoticed(t *testing.T) {
	for name, act := range map[string]func(n *notes){
		"a take-up with its mark": func(n *notes) { n.dispatch(t, n.call(t, n.tx(), `{}`)) },
		"a take-up without one": func(n *notes) {
			c := n.call(t, n.tx(), `{}`)
			c.Ready = false
			_, err := n.Reserve(t.Context(), c)
			must(t, err)
		},
		"an outcome": func(n *notes) { n.settle(t, n.dispatch(t, n.call(t, n.tx(), `{}`)), answered) },
		"a built-in": func(n *notes) { n.ok(t, n.hand, "@items", "put", `{"key":"a","value":""}`, `{"absent":true}`) },
		"a revoked right": func(n *notes) {
			_, err := n.Revoke(t.Context(), n.owner, n.grants[0])
			must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNotes(t)
			act(n)
			files := n.killed(t)
			log := files["steward.db-wal"]
			ends := commits(log)
			if len(ends) < 3 {
				t.Fatalf("%d commits in the log", len(ends))
			}
			last, before := ends[len(ends)-1], ends[len(ends)-2]
			spoilt := func(at int) []byte {
				out := bytes.Clone(log)
				out[at] ^= 4
				return out
			}
			if err := opened(t, n.pool, files); err != nil {
				t.Fatalf("as it was left: %v %v", err, errors.Unwrap(err))
			}
			lost := map[string][]byte{"no log": nil, "an empty log": {}, "a spoilt head": spoilt(17), "a spoilt last commit": spoilt(last - 2000),
				"without the last commit": log[:before], "the last commit torn": log[:last-100], "without the last two": log[:ends[len(ends)-3]]}
			for what, raw := range lost {
				if err := opened(t, n.pool, with(files, "steward.db-wal", raw)); !errors.Is(err, store.ErrOlder) {
					t.Errorf("%s: %v", what, err)
				}
			}
			// A torn or missing note says nothing, and is no reason to refuse.
			for what, raw := range map[string][]byte{"none": nil, "empty": {}, "torn": files["node.latest"][:100], "zeros": make([]byte, 512),
				"noise": bytes.Repeat([]byte("x"), 512), "edited": bytes.Replace(files["node.latest"], []byte("row "), []byte("row 9"), 1)} {
				if err := opened(t, n.pool, with(files, "node.latest", raw)); err != nil {
					t.Errorf("a note that is %s: %v", what, err)
				}
			}
			step := 13
			if testing.Short() {
				step = 131 // the race detector makes the engine slow
			}
			for cut := 0; cut < len(files["node.latest"]); cut += step {
				if err := opened(t, n.pool, with(files, "node.latest", files["node.latest"][:cut])); err != nil {
					t.Errorf("a note cut at %d: %v", cut, err)
				}
			}
		})
	}
}

// A note of another node, as after the file node was removed, is none of ours.
func TestANoteOfAnotherNodeSaysNothing(t *testing.T) {
	n := newNotes(t)
	files := n.killed(t)
	must(t, n.Close())
	if err := os.Remove(filepath.Join(n.dir, "node")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	must(t, os.WriteFile(filepath.Join(n.dir, "node.latest"), files["node.latest"], 0o600))
	n.open(t)
	n.holds(t)
}
