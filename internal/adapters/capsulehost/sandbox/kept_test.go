package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/sandbox"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// files gives what is kept: the content and the mode by path.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		info, bad := e.Info()
		if err != nil || bad != nil || info.Mode()&0o077 != 0 {
			return errors.Join(err, bad, errors.New(path+" is "+info.Mode().String()))
		}
		if !e.IsDir() {
			content, err := os.ReadFile(path)
			out[path] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What was compiled is taken as it was left, and made again where it is anything
// else: wazero itself would end the host for some of these.
func TestWhatWasCompiledIsKeptAndMadeAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "compiled")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	raw := simple(konst(1) + drop)
	run := func(what string) {
		t.Helper()
		e, err := sandbox.NewEngine(folder)
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(t.Context(), raw)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer m.Close()
		if _, err := m.Run(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	run("the first time")
	whole := files(t, folder)
	if len(whole) != 2 {
		t.Fatalf("it keeps %d files", len(whole))
	}
	changed := func(path string) time.Time {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	var code, seal string
	for path := range whole {
		if filepath.Base(path) == "sum" {
			seal = path
		} else {
			code = path
		}
	}
	before := changed(code)
	run("again")
	if !changed(code).Equal(before) {
		t.Error("what was compiled is compiled again")
	}
	for at := range len(whole[code]) {
		for what, content := range map[string]string{
			"cut": whole[code][:at], "another byte": whole[code][:at] + string([]byte{whole[code][at] ^ 0x80}) + whole[code][at+1:],
		} {
			if at%7 != 0 && at > 64 { // the head, and samples of the code
				continue
			}
			if err := os.WriteFile(code, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			run(what + " at " + strconv.Itoa(at))
			if got := files(t, folder); got[code] != whole[code] || got[seal] != whole[seal] {
				t.Fatalf("%s at %d: it is not made good", what, at)
			}
		}
	}
	if err := os.Remove(seal); err != nil {
		t.Fatal(err)
	}
	run("without the sum")
	if err := errors.Join(os.RemoveAll(filepath.Dir(seal)), os.WriteFile(filepath.Dir(seal), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	run("with a file in the way")
}

// A folder that cannot be written costs time alone.
func TestAModuleRunsWithoutItsFolder(t *testing.T) {
	folder := t.TempDir()
	e, err := sandbox.NewEngine(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), simple(""))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Run(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// What is kept is bounded, and the module that was used least lately goes.
func TestWhatIsKeptIsBounded(t *testing.T) {
	folder := t.TempDir()
	e, err := sandbox.NewEngine(folder)
	if err != nil {
		t.Fatal(err)
	}
	load := func(n int) {
		t.Helper()
		m, err := e.Load(t.Context(), simple(strings.Repeat(konst(1)+drop, n)))
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
	}
	names := func() map[string]bool {
		t.Helper()
		all, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, one := range all {
			out[one.Name()] = true
		}
		return out
	}
	load(0)
	first := names()
	for n := range bound.ModulesKept.Int() {
		for old := range names() {
			then := time.Now().Add(-time.Hour)
			if first[old] {
				then = then.Add(-time.Hour)
			}
			if err := os.Chtimes(filepath.Join(folder, old), then, then); err != nil {
				t.Fatal(err)
			}
		}
		load(0)
		load(n + 1)
	}
	got := names()
	if len(got) != bound.ModulesKept.Int() {
		t.Errorf("%d are kept", len(got))
	}
	for name := range first {
		if !got[name] {
			t.Error("the one that is used each time is gone")
		}
	}
}
