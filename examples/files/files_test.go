package files

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func folder(t *testing.T) *os.Root {
	t.Helper()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	for name, content := range map[string]string{
		"a b.md": "hello", "deep/er/x.txt": "x", "bytes": "\x00\xff", ".hidden": "no", "deep/.git/config": "no",
		"big": strings.Repeat("x", 512<<10+1), "just": strings.Repeat("x", 512<<10), "100%.txt": "%", "a/b/c/d/e/f/g/h/i": "too deep",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestTheFolderIsListedAndNothingElse(t *testing.T) {
	list, err := list(t.Context(), folder(t).FS())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, r.URI)
	}
	want := []string{"files:///100%25.txt", "files:///a%20b.md", "files:///bytes", "files:///deep/er/x.txt", "files:///just"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if *list[1].MimeType != "text/markdown" || *list[1].Size != 5 || list[1].Name != "a b.md" {
		t.Errorf("%+v", list[1])
	}
}

func TestOnlyWhatIsListedCanBeRead(t *testing.T) {
	root := folder(t)
	for uri, want := range map[string]string{
		"files:///a%20b.md": "hello", "files:///100%25.txt": "%", "files:///just": strings.Repeat("x", 512<<10),
		"files:///a b.md": "", "files:///link.txt": "", "files:///.hidden": "", "files:///deep/.git/config": "", "files:///../secret.txt": "",
		"files:///deep/../a%20b.md": "", "files:///big": "", "files:///": "", "files:///deep": "", "notes:x": "", "files:///%2e%2e/x": "", "files:////etc/passwd": "",
		"files:///a/b/c/d/e/f/g/h/i": "",
	} {
		got, err := read(root.FS(), uri)
		if (err == nil) != (want != "") || err == nil && got[0].Text.Text != want {
			t.Errorf("%s: %v, %v", uri, got, err)
		}
	}
	got, err := read(root.FS(), "files:///bytes")
	if err != nil || got[0].Blob == nil || !bytes.Equal(got[0].Blob.Blob, []byte{0, 0xff}) {
		t.Errorf("%+v, %v", got, err)
	}
}
