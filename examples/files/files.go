// Package files is a capsule that serves the files of one folder, read only. It
// comes with steward: steward capsule install files FOLDER.
//
// It serves regular files of at most 512 KiB, eight folders deep, at most 256 of
// them in the order of their paths; names that begin with a point are left out.
// Nothing outside the folder can be reached, through links neither. A file that
// is UTF-8 text is a text, every other one a blob. Each request looks at the disk
// anew.
package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stewardhost/steward/capsule"
)

const (
	scheme   = "files:///"
	maxFiles = 256
	maxDepth = 8
	maxBytes = 512 << 10
)

// Serve answers the host over the standard streams.
func Serve(ctx context.Context, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written
	return capsule.Serve(ctx, Of(root))
}

// Of is the capsule of a folder.
func Of(root *os.Root) capsule.Capsule {
	return capsule.Capsule{
		Describe: func(ctx context.Context, _ capsule.Caller) ([]capsule.Resource, error) { return list(ctx, root.FS()) },
		Read: func(_ context.Context, _ capsule.Caller, uri string) ([]capsule.Content, error) {
			return read(root.FS(), uri)
		},
	}
}

var errEnough = errors.New("enough")

func list(ctx context.Context, tree fs.FS) (out []capsule.Resource, err error) {
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil //nolint:nilerr // one that cannot be looked at is not served
		case name != "." && strings.HasPrefix(d.Name(), "."), strings.Count(name, "/") >= maxDepth:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxBytes {
			return nil //nolint:nilerr // one that is gone by now is not served
		}
		out = append(out, resourceOf(name, info))
		if len(out) == maxFiles {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, err
}

func resourceOf(name string, info fs.FileInfo) capsule.Resource {
	size, changed := uint32(info.Size()), info.ModTime().UTC().Format(time.RFC3339)
	r := capsule.Resource{URI: uriOf(name), Name: strings.ToValidUTF8(name, "\uFFFD"), Size: &size, Annotations: &capsule.Annotations{LastModified: &changed}}
	if t := typeOf(name); t != "" {
		r.MimeType = &t
	}
	return r
}

func uriOf(name string) string {
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return scheme + strings.Join(segments, "/")
}

func typeOf(name string) string {
	if path.Ext(name) == ".md" {
		return "text/markdown"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func read(tree fs.FS, uri string) ([]capsule.Content, error) {
	escaped, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return nil, capsule.ErrNotMine
	}
	name, err := url.PathUnescape(escaped)
	if err != nil || !fs.ValidPath(name) || uriOf(name) != uri || hidden(name) {
		return nil, capsule.ErrNotMine
	}
	f, err := tree.Open(name)
	if err != nil {
		return nil, capsule.ErrNotMine
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, capsule.ErrNotMine
	}
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, errors.New("the file cannot be read")
	}
	if len(content) > maxBytes {
		return nil, errors.New("the file is larger than 512 KiB")
	}
	if utf8.Valid(content) && !bytes.ContainsRune(content, 0) {
		return []capsule.Content{capsule.Text(uri, typeOf(name), string(content))}, nil
	}
	return []capsule.Content{capsule.Blob(uri, typeOf(name), content)}, nil
}

func hidden(name string) bool {
	for segment := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(segment, ".") {
			return true
		}
	}
	return strings.Count(name, "/") >= maxDepth
}
