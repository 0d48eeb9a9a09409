package capsulehost

import (
	"path/filepath"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/capsulefile"
	"github.com/stewardhost/steward/internal/adapters/capsulehost/folder"
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
	if !filepath.IsAbs(what) { // the host's own folder is not where the owner stands
		return Installed{}, fault.New(fault.InvalidRequest, "neither a capsule that comes with the host nor the whole path of a folder: "+what)
	}
	path := filepath.Clean(what)
	found, err := folder.Look(path)
	if err == nil {
		err = found.Check()
	}
	if err != nil {
		return Installed{}, err
	}
	if h.ships(found.Name) {
		return Installed{}, fault.New(fault.Conflict, "the name "+found.Name+" belongs to a capsule that comes with the host")
	}
	return Installed{Name: found.Name, Version: found.Version, Publisher: found.Publisher, Folder: path, Build: found.Build}, nil
}

// checkFolders holds what a shipped capsule is given to what it takes, so that no
// working installation is replaced by one that cannot run.
func (h *Host) checkFolders(name string, given []string) error {
	if want := h.opt.Shipped[name]; len(given) != want {
		return fault.Newf(fault.InvalidRequest, "the capsule %s takes %d folders, and %d were given", name, want, len(given)).
			With("fix", "steward capsule install --help")
	}
	return folder.CheckGiven(given)
}

func (h *Host) ships(name string) bool {
	_, process := h.opt.Shipped[name]
	_, inside := h.opt.Inside[name]
	return process || inside
}

func (h *Host) shippedBuild(c Installed) digest.Digest {
	return digest.Join(Shipped, c.Name, h.opt.Version).Sum(digest.Build)
}

func (h *Host) plan(c Installed) (plan, error) {
	if c.Folder == "" {
		return h.shippedPlan(c)
	}
	found, err := folder.Look(c.Folder)
	if err != nil {
		return plan{}, err
	}
	if found.Build != c.Build {
		return plan{}, changed(c)
	}
	out := plan{runtime: found.Runtime, claim: found.Claim, families: found.Families, bounds: found.Bounds, module: found.Code}
	if found.Runtime != capsulefile.WASM {
		out.spec = childprocess.Spec{Command: found.Program(), Args: found.Command[1:], Env: childprocess.BaseEnv(), Dir: c.Folder}
	}
	return out, nil
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
	return plan{claim: claim, bounds: capsulefile.Widest(), spec: childprocess.Spec{Command: h.opt.Self[0], Args: append(args, c.Args...), Env: childprocess.BaseEnv(), Dir: folder.Home()}}, nil
}

// pause is how long a capsule rests before its next start.
func pause(failures int) time.Duration {
	const first = 100 * time.Millisecond
	if failures > 8 {
		return bound.CapsuleRestartWait.Duration()
	}
	return min(first<<max(failures-1, 0), bound.CapsuleRestartWait.Duration())
}
