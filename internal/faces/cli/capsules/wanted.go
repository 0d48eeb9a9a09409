package capsules

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/capsulefile"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// comes are the capsules that come with the host.
var comes = []string{"files", "introspect"}

// wanted reads what to install. Folders are those of whoever asks, made absolute,
// since the host stands elsewhere. A word that is a folder with a manifest here and
// also a capsule of the host is the folder, and said tells so; one with a folder to
// serve is the host's.
func wanted(words []string) (req adminwire.InstallCapsule, said string, err error) {
	req = adminwire.InstallCapsule{What: words[0], Args: []string{}}
	if slices.Contains(comes, req.What) {
		_, err := os.Stat(filepath.Join(req.What, capsulefile.Name))
		switch {
		case err != nil:
		case len(words) > 1:
			said = "this is the capsule " + req.What + " that comes with steward, not the folder ./" + req.What
		default:
			said = "this is the folder ./" + req.What + ", not the capsule that comes with steward"
			req.What = "./" + req.What
		}
	}
	if !slices.Contains(comes, req.What) {
		req.What, err = filepath.Abs(req.What)
	}
	for _, path := range words[1:] {
		if err == nil {
			path, err = filepath.Abs(path)
		}
		req.Args = append(req.Args, path)
	}
	return req, said, err
}
