package workspacecapture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

const (
	mine    = "what the workspace holds"
	foreign = "what lies outside"
)

// place is a workspace with a state root in it and a foreign file beside it.
type place struct {
	dir, work, state, foreign string
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	p := place{dir, filepath.Join(dir, "work"), filepath.Join(dir, "work", "state"), filepath.Join(dir, "foreign")}
	p.write(t, "work/a/b/file.txt", mine)
	p.write(t, "work/state/sessions/x.log", foreign)
	p.write(t, "foreign", foreign)
	return p
}

func (p place) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test with the kernel's own way of refusing links and with the one
// that every system has.
func each(t *testing.T, test func(*testing.T, place, *Workspace)) {
	t.Helper()
	for name, way := range map[string]func(int, string, int) (int, error){"kernel": step, "plain": stepPlain} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			w, err := Open(p.work, p.state)
			must(t, err)
			defer w.Close()
			w.step = way
			test(t, p, w)
		})
	}
}

func TestOnlyPlainFilesOfTheWorkspaceAreCaptured(t *testing.T) {
	each(t, func(t *testing.T, p place, w *Workspace) {
		link := func(to, name string) { must(t, os.Symlink(to, filepath.Join(p.work, name))) }
		link(p.foreign, "leaf")
		link("a", "parent")
		link("a/b/file.txt", "inside")
		link("/proc/self", "magic")
		link("state", "tostate")
		must(t, os.Link(filepath.Join(p.work, "a/b/file.txt"), filepath.Join(p.dir, "second")))
		p.write(t, "work/single.txt", mine)
		must(t, syscall.Mkfifo(filepath.Join(p.work, "fifo"), 0o600))
		p.write(t, "work/nul", "a\x00b")
		p.write(t, "work/latin", "caf\xe9")
		p.write(t, "work/.env.local", foreign)
		p.write(t, "work/sub/Server.PEM", foreign)
		p.write(t, "work/exact", strings.Repeat("x", 100))
		p.write(t, "work/over", strings.Repeat("x", 101))
		for path, want := range map[string]fault.Code{
			"single.txt": "", "exact": "", "over": fault.LimitExceeded,
			"leaf": fault.InvalidPayload, "parent/b/file.txt": fault.InvalidPayload, "inside": fault.InvalidPayload, "a/b/file.txt": fault.InvalidPayload,
			"magic/environ": fault.InvalidPayload, "fifo": fault.InvalidPayload, "a": fault.InvalidPayload, "none": fault.InvalidPayload, "single.txt/x": fault.InvalidPayload,
			"nul": fault.InvalidPayload, "latin": fault.InvalidPayload, "": fault.InvalidPayload, ".": fault.InvalidPayload, "./single.txt": fault.InvalidPayload,
			"../foreign": fault.InvalidPayload, "a/../single.txt": fault.InvalidPayload, "a//b": fault.InvalidPayload, "/proc/self/environ": fault.InvalidPayload,
			p.foreign: fault.InvalidPayload, "single.txt/": fault.InvalidPayload, "sing\u200dle.txt": fault.InvalidPayload, "single.txt\x00": fault.InvalidPayload, "\xff": fault.InvalidPayload,
			".env.local": fault.InvalidPayload, "sub/Server.PEM": fault.InvalidPayload, "state/sessions/x.log": fault.InvalidPayload, "tostate/sessions/x.log": fault.InvalidPayload,
			strings.Repeat("d/", 513): fault.InvalidPayload,
		} {
			got, err := w.Capture(t.Context(), path, 100)
			if want == "" && err != nil || want != "" && (!fault.Is(err, want) || got != nil) {
				t.Errorf("%q: %q, %v; want %q", path, got, err, want)
			}
			if err != nil && strings.Contains(err.Error(), p.dir) {
				t.Errorf("%q: the fault tells a path: %v", path, err)
			}
		}
	})
}

func TestNamesLikeCredentials(t *testing.T) {
	for name, want := range map[string]bool{
		".env": true, ".ENV.local": true, ".envrc": true, "server.pem": true, "x.KEY": true, "a.p12": true, "a.pfx": true, "id_rsa": true, "ID_RSA.pub": true,
		"id_ecdsa_sk": true, "id_ed25519": true, ".ssh": true, ".\u017fsh": true, ".gnupg": true, ".AWS": true, ".azure": true, ".\u212Aube": true, ".docker": true, ".netrc": true,
		".npmrc": true, ".pypirc": true, ".git-credentials": true, "Credentials.json": true, "secrets": true, "secrets.yaml": true, ".git": true,
		"env": false, "key.go": false, "pem": false, "gitignore": false, ".gitignore": false, ".github": false, "my-credentials.go": false, "rsa.txt": false, ".sshx": false,
	} {
		if Credential(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// Whoever swaps names while a file is read gets foreign bytes into no capture.
func TestRacingRenamesNeverCaptureForeignBytes(t *testing.T) {
	each(t, func(t *testing.T, p place, w *Workspace) {
		must(t, os.MkdirAll(filepath.Join(p.dir, "outside/b"), 0o700))
		p.write(t, "outside/b/file.txt", foreign)
		swaps := []func(){
			func() { swap(p, "work/a", "spare-a", "outside") },
			func() { swap(p, "work/a/b", "spare-b", "outside/b") },
			func() { swap(p, "work/a/b/file.txt", "spare-file", "foreign") },
			func() { hardlink(p) },
		}
		stop := make(chan struct{})
		var racers sync.WaitGroup
		racers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					swaps[i%len(swaps)]()
				}
			}
		})
		captured, tries := 0, 1000
		if testing.Short() {
			tries = 200
		}
		for range tries {
			got, err := w.Capture(t.Context(), "a/b/file.txt", 100)
			switch {
			case err == nil && string(got) == mine:
				captured++
			case err == nil:
				t.Fatalf("captured %q", got)
			case got != nil:
				t.Fatalf("refused, and yet it gave %q", got)
			}
		}
		close(stop)
		racers.Wait()
		t.Logf("%d of %d were captured", captured, tries)
	})
}

// swap puts a link to something foreign in the place of a name and takes it back.
func swap(p place, name, spare, target string) {
	at, aside := filepath.Join(p.dir, name), filepath.Join(p.dir, spare)
	if os.Rename(at, aside) != nil {
		return
	}
	_ = os.Symlink(filepath.Join(p.dir, target), at)
	_ = os.Remove(at)
	_ = os.Rename(aside, at)
}

// hardlink puts a foreign file itself in the place of a name, as its second one.
func hardlink(p place) {
	at, aside := filepath.Join(p.work, "a/b/file.txt"), filepath.Join(p.dir, "spare-file")
	if os.Rename(at, aside) != nil {
		return
	}
	_ = os.Link(p.foreign, at)
	_ = os.Remove(at)
	_ = os.Rename(aside, at)
}

// A file that is written to while it is read is refused: the reader's own look
// tells, which the test makes come in between.
func TestAFileThatChangesIsRefused(t *testing.T) {
	each(t, func(t *testing.T, p place, w *Workspace) {
		path := filepath.Join(p.work, "a/b/file.txt")
		for name, change := range map[string]func() error{
			"grows": func() error { return os.WriteFile(path, []byte(mine+mine), 0o600) },
			"is other": func() error {
				return errors.Join(os.WriteFile(path+"2", []byte(mine), 0o600), os.Rename(path+"2", path))
			},
			"is gone":   func() error { return os.Remove(path) },
			"is linked": func() error { return os.Link(path, path+"3") },
		} {
			p.write(t, "work/a/b/file.txt", mine)
			_ = os.Remove(path + "3")
			file, err := w.open("a/b/file.txt", false)
			must(t, err)
			before, err := look(file)
			must(t, err)
			must(t, w.same("a/b/file.txt", file, before))
			must(t, change())
			if err := w.same("a/b/file.txt", file, before); !errors.Is(err, errChanged) {
				t.Errorf("a file that %s: %v", name, err)
			}
			must(t, file.Close())
		}
	})
}

func TestTheAgentSeesWhatMayBeCaptured(t *testing.T) {
	each(t, func(t *testing.T, p place, w *Workspace) {
		p.write(t, "work/.git/config", "needle")
		p.write(t, "work/a/needle.txt", "one\nthe needle here\r\n")
		p.write(t, "work/z.bin", "needle\xff")
		p.write(t, "work/state/note", "needle")
		must(t, os.Symlink(p.foreign, filepath.Join(p.work, "link")))
		must(t, syscall.Mkfifo(filepath.Join(p.work, "fifo"), 0o600))
		got, err := w.List(t.Context(), "")
		if diff := cmp.Diff([]Entry{{"a", true}, {"z.bin", false}}, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		for folder, ok := range map[string]bool{".": true, "a/b": true, ".git": false, "state": false, "..": false, "z.bin": false, "none": false} {
			if _, err := w.List(t.Context(), folder); (err == nil) != ok {
				t.Errorf("%q: %v", folder, err)
			}
		}
		for room, want := range map[int][]string{1000: {"a/needle.txt:2: the needle here"}, 10: nil} {
			lines, whole, err := w.Search(t.Context(), ".", "needle", room)
			if diff := cmp.Diff(want, lines); err != nil || whole != (room == 1000) || diff != "" {
				t.Errorf("room for %d: %v, %v\n%s", room, whole, err, diff)
			}
		}
		for _, passed := range []string{"work/long/file", "work" + strings.Repeat("/d", bound.SearchDepth.Int()+1) + "/file"} {
			p.write(t, passed, strings.Repeat("x", bound.CaptureBytes.Int())+"needle")
			lines, whole, err := w.Search(t.Context(), ".", "needle", 1000)
			if len(lines) != 1 || whole || err != nil {
				t.Errorf("beside %.20s: %v, %v, %v", passed, lines, whole, err)
			}
			must(t, os.RemoveAll(filepath.Join(p.work, strings.Split(passed, "/")[1])))
		}
		for i := range bound.FolderEntries.Int() + 1 {
			p.write(t, fmt.Sprint("work/many/", i), "")
		}
		if _, err := w.List(t.Context(), "many"); !fault.Is(err, bound.FolderEntries.Code) {
			t.Errorf("a folder without end: %v", err)
		}
	})
}

// A workspace that is the state root, or lies in it, is none: the sessions of all
// workspaces are there. A link that leads in is no way round.
func TestAWorkspaceLiesOutsideTheStateRoot(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	in := filepath.Join(state, "a", "work")
	must(t, os.MkdirAll(in, 0o700))
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(in, link))
	host := filepath.Join(dir, "pool")
	must(t, os.MkdirAll(filepath.Join(host, "keys"), 0o700))
	must(t, os.WriteFile(filepath.Join(host, "steward.db"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(host, "keys", "root"), []byte("secret"), 0o600))
	for workspace, ok := range map[string]bool{state: false, in: false, filepath.Dir(in): false, link: false, host: false, filepath.Join(host, "keys"): false, dir: true} {
		w, err := Open(workspace, state)
		if (err == nil) != ok {
			t.Errorf("%s: %v", workspace, err)
		}
		if err != nil {
			continue
		}
		// From above, what a host keeps is neither read nor seen.
		if raw, err := w.Capture(t.Context(), "pool/keys/root", 100); !errors.Is(err, errState) {
			t.Errorf("the key of a host: %q, %v", raw, err)
		}
		if list, err := w.List(t.Context(), "."); err != nil || slices.ContainsFunc(list, func(e Entry) bool { return e.Name == "pool" }) {
			t.Errorf("%v, %v", list, err)
		}
		if lines, _, err := w.Search(t.Context(), "", "secret", 1000); err != nil || len(lines) > 0 {
			t.Errorf("found %q, %v", lines, err)
		}
		must(t, w.Close())
	}
}
