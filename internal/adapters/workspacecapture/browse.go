package workspacecapture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Entry is one name in a folder.
type Entry struct {
	Name   string
	Folder bool
}

// List gives the names of a folder that may be read, sorted. "" is the workspace.
// Links and special files are left out, as credentials are.
func (w *Workspace) List(ctx context.Context, folder string) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	dir, err := w.open(folder, true)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(bound.FolderEntries.Int() + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errNone.Because(err)
	}
	if err := bound.FolderEntries.Check(len(names)); err != nil {
		return nil, err
	}
	var out []Entry
	for _, name := range names {
		var st unix.Stat_t
		if _, bad := split(name, false); bad != nil || unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		kind := st.Mode & unix.S_IFMT
		if seen(&st).identity == w.state || hostIn(int(dir.Fd()), name) || kind != unix.S_IFDIR && kind != unix.S_IFREG {
			continue
		}
		out = append(out, Entry{name, kind == unix.S_IFDIR})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Search gives lines, "path:number: line", that hold a text, in files below a
// folder, in the order of names, until they would be more than most bytes. Files
// that cannot be captured are passed over. It is whole where every text was looked
// at: nothing was too long, too many or too deep.
func (w *Workspace) Search(ctx context.Context, folder, text string, most int) (lines []string, whole bool, err error) {
	s := &search{w: w, ctx: ctx, text: text, left: most}
	if folder == "." {
		folder = ""
	}
	err = s.folder(folder, 0)
	if errors.Is(err, errFull) {
		return s.lines, false, nil
	}
	return s.lines, err == nil && !s.passed, err
}

type search struct {
	w     *Workspace
	ctx   context.Context
	text  string
	left  int
	files int
	lines []string

	passed bool // something that may hold the text was passed over
}

var errFull = fault.New(fault.LimitExceeded, "there is no room for more")

func (s *search) folder(folder string, depth int) error {
	if int64(depth) > bound.SearchDepth.Max {
		s.passed = true
		return nil
	}
	entries, err := s.w.List(s.ctx, folder)
	if err != nil && (depth == 0 || s.ctx.Err() != nil) {
		return err
	}
	s.passed = s.passed || err != nil
	for _, e := range entries {
		below := path.Join(folder, e.Name)
		if e.Folder {
			err = s.folder(below, depth+1)
		} else {
			err = s.file(below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *search) file(name string) error {
	if s.files++; bound.SearchFiles.Check(s.files) != nil {
		return errFull
	}
	raw, err := s.w.Capture(s.ctx, name, bound.CaptureBytes.Int())
	if err != nil {
		s.passed = s.passed || fault.Is(err, fault.LimitExceeded)
		return s.ctx.Err() // one file that cannot be captured ends no search
	}
	for i, line := range strings.Split(string(raw), "\n") {
		if !strings.Contains(line, s.text) {
			continue
		}
		found := fmt.Sprintf("%s:%d: %s", name, i+1, strings.TrimSuffix(line, "\r"))
		if s.left -= len(found) + 1; s.left < 0 {
			return errFull
		}
		s.lines = append(s.lines, found)
	}
	return nil
}
