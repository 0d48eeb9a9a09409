package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// sealName is the file with the sum over what was compiled of a module. wazero sums
// the code alone, and believes the numbers around it.
const sealName = "sum"

// kept is the folder of what was compiled, with a folder for each module, which is
// called by the digest of the module. One lock guards the changes.
type kept struct {
	folder string // empty: nothing is kept
	mu     sync.Mutex
}

func openKept(folder string) (*kept, error) {
	if folder == "" {
		return &kept{}, nil
	}
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = os.Chmod(folder, 0o700)
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "the folder of compiled capsules cannot be used").Because(err)
	}
	return &kept{folder: folder}, nil
}

// of gives a module's folder, empty of anything that is not as it was sealed, and
// whether what was compiled is there.
func (k *kept) of(raw []byte) (folder string, sealed bool) {
	if k.folder == "" {
		return "", false
	}
	sum := sha256.Sum256(raw)
	folder = filepath.Join(k.folder, hex.EncodeToString(sum[:]))
	k.mu.Lock()
	defer k.mu.Unlock()
	seal, err := os.ReadFile(filepath.Join(folder, sealName))
	if err == nil {
		var found []byte
		found, err = sumOf(folder)
		sealed = err == nil && bytes.Equal(seal, found)
	}
	if !sealed {
		_ = os.RemoveAll(folder) // what stays makes that module compile without its folder
		return folder, false
	}
	now := time.Now()
	_ = os.Chtimes(folder, now, now) // it may be forgotten earlier
	return folder, true
}

// seal says that a module's folder is whole, and forgets the modules that were used
// least lately where there are more than bound.ModulesKept.
func (k *kept) seal(folder string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if sum, err := sumOf(folder); err == nil {
		_ = os.WriteFile(filepath.Join(folder, sealName), sum, 0o600) // without it, or with a part of it, it is compiled again
	}
	all, _ := os.ReadDir(k.folder)
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Or(used(b).Compare(used(a)), cmp.Compare(a.Name(), b.Name())) })
	for _, old := range all[min(len(all), bound.ModulesKept.Int()):] {
		_ = os.RemoveAll(filepath.Join(k.folder, old.Name()))
	}
}

// drop forgets a module.
func (k *kept) drop(folder string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = os.RemoveAll(folder)
}

func used(e fs.DirEntry) time.Time {
	info, err := e.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// sumOf sums every file of a folder but the seal, with its name.
func sumOf(folder string) ([]byte, error) {
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path == filepath.Join(folder, sealName) {
			return err
		}
		content, err := os.ReadFile(path)
		one := sha256.Sum256(content)
		sum.Write([]byte(filepath.Base(path)))
		sum.Write(one[:])
		return err
	})
	return sum.Sum(nil), err
}
