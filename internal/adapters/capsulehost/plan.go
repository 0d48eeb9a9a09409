package capsulehost

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/capsulefile"
	"github.com/stewardhost/steward/internal/adapters/capsulehost/sandbox"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// plan is how a capsule runs, read from its files or known to the host.
type plan struct {
	runtime  string
	claim    topic.Claim
	families []string
	bounds   capsulefile.Bounds
	spec     childprocess.Spec // of a process
	module   []byte            // of a module, as it was looked at
	handler  *Handler          // of one inside the host
}

// Shipped is the publisher of what comes with the host.
const Shipped = "steward"

// Inspect reads a capsule before it is installed: a folder with a manifest, or
// the name of one that comes with the host.
func (h *Host) Inspect(what string, args []string) (Installed, error) {
	if h.ships(what) {
		if err := h.checkFolders(what, args); err != nil {
			return Installed{}, err
		}
		c := Installed{Name: what, Version: h.opt.Version, Publisher: Shipped, Args: args}
		c.Build = h.shippedBuild(c)
		return c, nil
	}
	if len(args) > 0 {
		return Installed{}, fault.New(fault.InvalidRequest, "arguments are for the capsules that come with the host")
	}
	folder, err := filepath.Abs(what)
	if err != nil {
		return Installed{}, fault.New(fault.InvalidRequest, "not a folder: "+what).Because(err)
	}
	file, build, err := lookAt(folder)
	if err != nil {
		return Installed{}, err
	}
	if h.ships(file.Name) {
		return Installed{}, fault.New(fault.Conflict, "the name "+file.Name+" belongs to a capsule that comes with the host")
	}
	return Installed{Name: file.Name, Version: file.Version, Publisher: file.Publisher, Folder: folder, Build: build}, nil
}

// Looked is what is found in the folder of a capsule.
type Looked struct {
	Name, Version string
	Serves        []string // "resources", "tools"
}

// Look says whether a folder holds a capsule that could be installed: its manifest
// and the program or module that it names. Nothing is run.
func Look(folder string) (Looked, error) {
	file, _, err := lookAt(folder)
	if err != nil {
		return Looked{}, err
	}
	out := Looked{Name: file.Name, Version: file.Version}
	if file.Claim.Serves(topic.DescribeRequest) {
		out.Serves = append(out.Serves, "resources")
	}
	if file.Claim.Serves(topic.ToolsRequest) {
		out.Serves = append(out.Serves, "tools")
	}
	return out, nil
}

func lookAt(folder string) (capsulefile.File, digest.Digest, error) {
	file, build, module, err := inspect(folder)
	switch {
	case err != nil:
	case file.Runtime == capsulefile.WASM:
		err = sandbox.Check(module)
	default:
		err = checkCommand(folder, file.Command[0])
	}
	return file, build, err
}

// checkCommand finds a program that could not be started.
func checkCommand(folder, command string) error {
	path, own := ownFile(folder, command)
	if !own {
		return nil // found where the host looks for programs, or not, when it starts
	}
	info, err := os.Stat(path)
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		return fault.New(fault.InvalidRequest, "the capsule's program "+command+" is not one to execute: chmod +x, or name another")
	}
	return err
}

// checkFolders holds what a shipped capsule is given to what it takes, so that no
// working installation is replaced by one that cannot run.
func (h *Host) checkFolders(name string, folders []string) error {
	if want := h.opt.Shipped[name]; len(folders) != want {
		return fault.Newf(fault.InvalidRequest, "the capsule %s takes %d folders, and %d were given", name, want, len(folders)).
			With("fix", "steward capsule install --help")
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fault.New(fault.InvalidRequest, "not a folder: "+folder).Because(err)
		}
	}
	return nil
}

func (h *Host) ships(name string) bool {
	_, process := h.opt.Shipped[name]
	_, inside := h.opt.Inside[name]
	return process || inside
}

func (h *Host) shippedBuild(c Installed) digest.Digest {
	return digest.Join(Shipped, c.Name, h.opt.Version).Sum(digest.Build)
}

// inspect reads the manifest of a folder and what its command is made of, or its
// module.
func inspect(folder string) (file capsulefile.File, sum digest.Digest, module []byte, err error) {
	manifest := filepath.Join(folder, capsulefile.Name)
	info, err := os.Stat(manifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file, sum, nil, fault.New(fault.NotFound, "there is no "+capsulefile.Name+" in "+folder)
	case err == nil:
		err = bound.CapsuleManifest.Check(int(min(info.Size(), bound.CapsuleManifest.Max+1)))
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(manifest)
	}
	if err != nil {
		return file, sum, nil, fault.New(fault.InvalidRequest, "the manifest cannot be read: "+err.Error()).Because(err)
	}
	if file, err = capsulefile.Parse(raw); err != nil {
		return file, sum, nil, err
	}
	build := digest.Join().Bytes(raw)
	if file.Runtime == capsulefile.WASM {
		if module, err = readModule(filepath.Join(folder, file.Module)); err != nil {
			return file, sum, nil, err
		}
		return file, build.Bytes(module).Sum(digest.Build), module, nil
	}
	if path, own := ownFile(folder, file.Command[0]); own {
		program, err := os.ReadFile(path)
		if err != nil {
			return file, sum, nil, fault.New(fault.InvalidRequest, "the capsule's program cannot be read: "+err.Error()).Because(err)
		}
		build.Bytes(program)
	}
	return file, build.Sum(digest.Build), nil, nil
}

func readModule(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = bound.ModuleBytes.Check(int(min(info.Size(), bound.ModuleBytes.Max+1)))
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(path)
	}
	if err != nil && !fault.Is(err, fault.TooLarge) {
		err = fault.New(fault.InvalidRequest, "the capsule's module cannot be read: "+err.Error()).Because(err)
	}
	return raw, err
}

// ownFile is a command that lies in the capsule's folder.
func ownFile(folder, command string) (string, bool) {
	if !strings.HasPrefix(command, "./") {
		return command, false
	}
	return filepath.Join(folder, command), true
}

func (h *Host) plan(c Installed) (plan, error) {
	if c.Folder == "" {
		return h.shippedPlan(c)
	}
	file, build, module, err := inspect(c.Folder)
	if err != nil {
		return plan{}, err
	}
	if build != c.Build {
		return plan{}, changed(c)
	}
	if file.Runtime == capsulefile.WASM {
		return plan{runtime: file.Runtime, claim: file.Claim, families: file.Families, bounds: file.Bounds, module: module}, nil
	}
	command, _ := ownFile(c.Folder, file.Command[0])
	return plan{runtime: file.Runtime, claim: file.Claim, families: file.Families, bounds: file.Bounds,
		spec: childprocess.Spec{Command: command, Args: file.Command[1:], Env: childprocess.BaseEnv(), Dir: c.Folder}}, nil
}

func changed(c Installed) *fault.Fault {
	return fault.New(fault.PreconditionFailed, "the files of the capsule are not those that were installed; look at them, then: steward capsule install "+c.Folder)
}

// shippedPlan is how a capsule of the host runs. The claim is that of every
// capsule that serves.
func (h *Host) shippedPlan(c Installed) (plan, error) {
	claim, err := topic.ParseClaim([]string{topic.DescribeResponse + ".*", topic.ReadResponse + ".*"}, []string{topic.DescribeRequest, topic.ReadRequest})
	if err != nil {
		return plan{}, err
	}
	if handler, ok := h.opt.Inside[c.Name]; ok {
		return plan{claim: claim, handler: &handler, families: []string{c.Name + ":"}, bounds: capsulefile.Widest()}, nil
	}
	if _, ok := h.opt.Shipped[c.Name]; !ok {
		return plan{}, fault.New(fault.NotFound, "this host does not come with a capsule "+c.Name)
	}
	args := append(append([]string(nil), h.opt.Self[1:]...), c.Name)
	return plan{claim: claim, bounds: capsulefile.Widest(), spec: childprocess.Spec{Command: h.opt.Self[0], Args: append(args, c.Args...), Env: childprocess.BaseEnv(), Dir: homeFolder()}}, nil
}

// homeFolder is where a capsule of the host runs: not in whatever folder the host
// was started.
func homeFolder() string {
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return os.TempDir()
}

// pause is how long a capsule rests before its next start.
func pause(failures int) time.Duration {
	const first = 100 * time.Millisecond
	if failures > 8 {
		return bound.CapsuleRestartWait.Duration()
	}
	return min(first<<max(failures-1, 0), bound.CapsuleRestartWait.Duration())
}
