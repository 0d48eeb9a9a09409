// Package folder looks at the folder of a capsule: its manifest, and the program or
// module that the manifest names.
//
// It promises: what it found is one state of the files, pinned by a digest over all
// that is run of the folder; nothing is run and nothing is changed; a fault names
// what is wrong and what would be right. It does not promise that the files stay:
// the code of a module is given as it was read, a program is looked at again before
// each start. Bounds: bound.CapsuleManifest, bound.ModuleBytes. It keeps nothing.
package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	build := digest.Join().Bytes(raw)
	if out.Runtime == capsulefile.WASM {
		if out.Code, err = read(filepath.Join(path, out.Module), bound.ModuleBytes); err != nil {
			return Found{}, unreadable("module", err)
		}
		build.Bytes(out.Code)
	} else if out.own() {
		program, err := os.ReadFile(out.Program())
		if err != nil {
			return Found{}, unreadable("program", err)
		}
		build.Bytes(program)
	}
	out.Build = build.Sum(digest.Build)
	return out, nil
}

func read(path string, limit bound.Row) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = limit.Check(int(min(info.Size(), limit.Max+1)))
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func unreadable(what string, err error) error {
	if fault.Is(err, fault.TooLarge) {
		return err
	}
	return fault.New(fault.InvalidRequest, "the capsule's "+what+" cannot be read: "+err.Error()).Because(err)
}

// own reports whether the program lies in the folder.
func (f Found) own() bool { return strings.HasPrefix(f.Command[0], "./") }

// Program is what to start: a path, or a name that the system looks up.
func (f Found) Program() string {
	if f.own() {
		return filepath.Join(f.path, f.Command[0])
	}
	return f.Command[0]
}

// Check finds what could never run, before it is installed.
func (f Found) Check() error {
	if f.Runtime == capsulefile.WASM {
		return sandbox.Check(f.Code)
	}
	if !f.own() {
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
