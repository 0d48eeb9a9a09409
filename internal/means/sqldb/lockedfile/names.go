package lockedfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Names remembers which files some names stood for, to notice that somebody
// removed or replaced them: what is written to a removed file is gone when the
// process ends. A Names is not changed by its methods.
type Names map[string]os.FileInfo

// Remember looks at a file and at its companions, all of which must be there.
func Remember(path string, companions ...string) (Names, error) {
	n := Names{}
	for _, suffix := range append([]string{""}, companions...) {
		info, err := os.Stat(path + suffix)
		if err != nil {
			return nil, err
		}
		n[path+suffix] = info
	}
	return n, nil
}

// Check reports a name that stands for another file now, or for none. It compares
// by stat alone: opening and closing a file would drop the locks that an engine
// holds on it.
func (n Names) Check() error {
	for name, was := range n {
		is, err := os.Stat(name)
		if err != nil {
			return err
		}
		if !os.SameFile(was, is) {
			return fmt.Errorf("%s is another file than the one that was opened", filepath.Base(name))
		}
	}
	return nil
}
