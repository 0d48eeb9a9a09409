package model_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/adapters/model"
	"github.com/stewardhost/steward/internal/ground/secret"
)

func TestKeysComeFromAPrivateFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "sk-key\n", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{
		good: true, link: false, dir: false, filepath.Join(dir, "none"): false,
		write("open", "sk-key", 0o644): false, write("group", "sk-key", 0o640): false, write("empty", "\n", 0o600): false,
		write("two", "a\nb\n", 0o600): false, write("long", strings.Repeat("x", 5000), 0o600): false,
	} {
		s, err := model.FromEnvironment(func(name string) string {
			return map[string]string{"STEWARD_MODEL": "openai", "STEWARD_MODEL_KEY_FILE": path}[name]
		})
		if (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
		if ok && s.Key.Reveal() != "sk-key" {
			t.Errorf("the key reads as %q", s.Key.Reveal())
		}
		if strings.Contains(fmt.Sprintf("%+v %v", s, err), "sk-key") {
			t.Error("the settings print the key")
		}
	}
}

func TestSettings(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("on *\nsay hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		settings model.Settings
		ok       bool
	}{
		"nothing":                  {model.Settings{}, true},
		"a script":                 {model.Settings{Kind: model.Scripted, Script: script}, true},
		"a script that is missing": {model.Settings{Script: script + ".none"}, false},
		"a vendor without a model": {model.Settings{Kind: model.OpenAI}, false},
		"a vendor":                 {model.Settings{Kind: model.Anthropic, Name: "m", Key: secret.Of("k")}, true},
		"a local server":           {model.Settings{Kind: model.OpenAI, Name: "m", Base: "http://127.0.0.1:11434/v1"}, true},
		"an unknown kind":          {model.Settings{Kind: "other", Name: "m"}, false},
	} {
		m, err := model.Open(c.settings)
		if (err == nil) != c.ok || (m == nil) == c.ok {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		if m != nil {
			m.Close()
		}
	}
}
