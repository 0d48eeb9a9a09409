// Package argument reads what an owner types in place of a value: JSON from the
// command line, a file or the standard input, times to come, and a file that is to
// be made. Faults of form are troubles of usage. The functions keep nothing.
package argument

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/means/ownership"
)

// Read reads one JSON value: of the last word, or of usual where there is none.
// A word is JSON itself, @FILE, or - for the stream. Whether the value fits is
// the host's affair.
func Read(usual string, stdin io.Reader, words ...string) (strictjson.Raw, error) {
	for _, word := range words {
		usual = word
	}
	raw, err := []byte(usual), error(nil)
	if path, isFile := strings.CutPrefix(usual, "@"); isFile {
		raw, err = readFile(path)
	} else if usual == "-" {
		raw, err = readAll(stdin)
	}
	if err != nil {
		return nil, trouble.New(trouble.Failed, err.Error(), "give JSON, @FILE or - for standard input")
	}
	if err := strictjson.Check(raw, strictjson.Limits{Bytes: bound.AdminBytes}); err != nil {
		f := fault.From(err)
		place := ""
		if offset, ok := f.Details["offset"]; ok {
			place = fmt.Sprintf(", at byte %v", offset)
		}
		return nil, trouble.UsageOf("write it as JSON, such as '{\"title\":\"groceries\"}'", "%s is not understood: %s%s", paper.Word(brief(usual)), f.Text, place)
	}
	return raw, nil
}

// brief keeps an error on one line that a person can read.
func brief(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file)
}

// readAll reads one byte more than is allowed, for the check to see.
func readAll(in io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(in, bound.AdminBytes.Max+1))
}

// NewFile makes the file that an app's tokens go into, for its owner alone.
func NewFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return file, nil
	}
	what := err.Error()
	if errors.Is(err, fs.ErrExist) {
		what = path + " is there already, and tokens are never written over a file"
	}
	return nil, trouble.New(trouble.Failed, what, "name another file with --token-file")
}

var tokenLines = regexp.MustCompile(`\A(STEWARD_[A-Z]+_TOKEN=[0-9A-Za-z_-]+\n)+\z`)

const tokenFileMax = 4096 // bytes

// HoldsTokens reports whether a file is one of tokens that can be written anew: this
// user's, for this user alone, no link, and with nothing else in it.
func HoldsTokens(path string) bool {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Mode() != 0o600 || info.Size() > tokenFileMax {
		return false
	}
	raw, err := io.ReadAll(io.LimitReader(file, tokenFileMax))
	return err == nil && ownership.Mine(info) && tokenLines.Match(raw)
}

// Expiry reads a time to come: a number of days, hours or minutes from now, or a
// day, which ends as it begins. The empty text is the zero time.
func Expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	var n int
	var unit string
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute}
	if _, err := fmt.Sscanf(text, "%d%s", &n, &unit); err == nil && units[unit] > 0 && n > 0 && n <= 100_000 {
		return now.Add(time.Duration(n) * units[unit]).UTC().Truncate(time.Millisecond), nil
	}
	return time.Time{}, trouble.UsageOf("write it as 30d, 12h, 45m or 2027-01-31", "%s is no time to come", paper.Word(text))
}
