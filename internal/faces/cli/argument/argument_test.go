package argument_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/faces/cli/argument"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/bound"
)

func exitOf(err error) int {
	var t *trouble.Trouble
	if errors.As(err, &t) {
		return t.Exit
	}
	return trouble.Done
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 1_999_999, time.UTC)
	for text, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "30d": "2026-07-31T12:00:00.001Z", "12h": "2026-07-02T00:00:00.001Z", "1m": "2026-07-01T12:01:00.001Z",
		"2027-01-31": "2027-01-31T00:00:00Z",
		"soon":       "", "0d": "", "-1d": "", "d": "", "30": "", "30y": "", "30dd": "", "1.5h": "", "100001d": "", "2027-02-31": "", "99999999999999999999d": "",
	} {
		got, err := argument.Expiry(text, now)
		switch {
		case want == "" && (exitOf(err) != trouble.Usage || !got.IsZero()):
			t.Errorf("%q: %v, %v", text, got, err)
		case want != "" && (err != nil || got.Format(time.RFC3339Nano) != want):
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file, long := filepath.Join(dir, "a.json"), filepath.Join(dir, "long")
	for path, text := range map[string]string{file: `{"from":"file"}`, long: `"` + strings.Repeat("x", bound.AdminBytes.Int()) + `"`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		words []string
		want  string
		exit  int
	}{
		"nothing":    {nil, `{}`, 0},
		"a word":     {[]string{`{"n":9007199254740993}`}, `{"n":9007199254740993}`, 0},
		"a file":     {[]string{"@" + file}, `{"from":"file"}`, 0},
		"a stream":   {[]string{"-"}, `{"from":"stream"}`, 0},
		"no file":    {[]string{"@" + file + "x"}, "", trouble.Failed},
		"no JSON":    {[]string{"{"}, "", trouble.Usage},
		"empty":      {[]string{""}, "", trouble.Usage},
		"duplicates": {[]string{`{"a":1,"a":1}`}, "", trouble.Usage},
		"too long":   {[]string{"@" + long}, "", trouble.Usage},
	} {
		got, err := argument.Read("{}", strings.NewReader(`{"from":"stream"}`), c.words...)
		if string(got) != c.want || exitOf(err) != c.exit {
			t.Errorf("%s: %.80s, %v", name, got, err)
		}
	}
}
