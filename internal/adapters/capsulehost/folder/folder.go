// Package folder looks at the folder of a capsule: its manifest, and the program or
// module that the manifest names.
//
// It promises: what it found is one state of the files, pinned by a digest over the
// manifest and every file of the folder that its command or module names; nothing is run and nothing is changed; a fault names
// what is wrong and what would be right. It does not promise that the files stay:
// the code of a module is given as it was read, a program is looked at again before
// each start. Bounds: bound.CapsuleManifest, bound.ModuleBytes, bound.ProgramBytes. It keeps
// nothing.
package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/capsulefile"
	"github.com/stewardhost/steward/internal/adapters/capsulehost/sandbox"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Found is what a folder holds.
type Found struct {
	capsulefile.File
	Build digest.Digest // of the manifest, and of the program or module that lies in the folder
	Code  []byte        // of a module

	path string
}

// Look reads a folder. Faults: not_found without a manifest, else invalid_request or
// too_large.
func Look(path string) (Found, error) {
	raw, err := read(filepath.Join(path, capsulefile.Name), bound.CapsuleManifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Found{}, fault.New(fault.NotFound, "there is no "+capsulefile.Name+" in "+path)
	case err != nil:
		return Found{}, unreadable("manifest", err)
	}
	out := Found{path: path}
	if out.File, err = capsulefile.Parse(raw); err != nil {
		return Found{}, err
	}
	if out.Runtime == capsulefile.WASM {
		if out.Code, err = read(filepath.Join(path, out.Module), bound.ModuleBytes); err != nil {
			return Found{}, unreadable("module", err)
		}
		out.Build = digest.Join().Bytes(raw).Bytes(out.Code).Sum(digest.Build)
	} else if out.Build, err = out.pin(raw); err != nil {
		return Found{}, unreadable("program", err)
	}
	return out, nil
}

// pin is the digest over the manifest and all files of the folder that the command
// names: a program, or what an interpreter of the system is to run.
func (f Found) pin(manifest []byte) (digest.Digest, error) {
	build, scripts := digest.Join().Bytes(manifest), digest.Join()
	for _, word := range f.Command[1:] {
		if !own(word) {
			continue
		}
		file, info, err := open(filepath.Join(f.path, word), bound.ProgramBytes)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) {
			continue // a folder, or what the program makes
		}
		if err != nil {
			return digest.Digest{}, err
		}
		sum, err := digest.Join(word).SumAround(digest.Build, file, info.Size(), digest.Join())
		_ = file.Close() // read only
		if err != nil {
			return digest.Digest{}, err
		}
		scripts.Digest(sum)
	}
	if !own(f.Command[0]) {
		return build.Join(scripts).Sum(digest.Build), nil
	}
	file, info, err := open(f.Program(), bound.ProgramBytes)
	if err != nil {
		return digest.Digest{}, err
	}
	defer file.Close()
	return build.SumAround(digest.Build, file, info.Size(), scripts)
}

var errNoFile = fault.New(fault.InvalidRequest, "it is no file")

// open opens a file that can be read to its end: whatever else stands under its name,
// such as a pipe or a device, is refused without waiting for it.
func open(path string, limit bound.Row) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err == nil {
		err = limit.Check(int(min(info.Size(), limit.Max+1)))
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, nil, err
	}
	return file, info, nil
}

func read(path string, limit bound.Row) ([]byte, error) {
	file, _, err := open(path, limit)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, limit.Max+1))
	if err == nil {
		err = limit.Check(len(raw))
	}
	return raw, err
}

func unreadable(what string, err error) error {
	if fault.Is(err, fault.TooLarge) {
		return err
	}
	return fault.New(fault.InvalidRequest, "the capsule's "+what+" cannot be read: "+err.Error()).Because(err)
}

// own reports whether a word of a command names a file of the folder.
func own(word string) bool { return strings.HasPrefix(word, "./") }

// Program is what to start: a path, or a name that the system looks up.
func (f Found) Program() string {
	if own(f.Command[0]) {
		return filepath.Join(f.path, f.Command[0])
	}
	return f.Command[0]
}

// Check finds what could never run, before it is installed.
func (f Found) Check() error {
	if f.Runtime == capsulefile.WASM {
		return sandbox.Check(f.Code)
	}
	if !own(f.Command[0]) {
		return nil // found when it starts, or not
	}
	info, err := os.Stat(f.Program())
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		return fault.New(fault.InvalidRequest, "the capsule's program "+f.Command[0]+" is not one to execute: chmod +x, or name another")
	}
	return err
}

// Serves names what a claim answers: resources, tools.
func Serves(c topic.Claim) (out []string) {
	if c.Serves(topic.DescribeRequest) {
		out = append(out, "resources")
	}
	if c.Serves(topic.ToolsRequest) {
		out = append(out, "tools")
	}
	return out
}

// CheckGiven refuses what a capsule of the host's own is given and is no folder.
func CheckGiven(paths []string) error {
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() || !filepath.IsAbs(path) {
			return fault.New(fault.InvalidRequest, "not a folder: "+path).Because(err)
		}
	}
	return nil
}

// Home is where a capsule of the host's own runs: not in whatever folder the host was
// started.
func Home() string {
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return os.TempDir()
}
