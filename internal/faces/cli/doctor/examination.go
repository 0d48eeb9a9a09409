package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/faces/cli/bus"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/means/ownership"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// examination gathers findings about one data folder.
type examination struct {
	home     string
	free     func(path string) (int64, error)
	findings []Finding
}

func (e *examination) add(f Finding) { e.findings = append(e.findings, f) }

// trouble files a failure under its exit code, or a good word.
func (e *examination) trouble(check string, err error, well string) {
	if err == nil {
		e.add(Finding{check, Well, well, ""})
		return
	}
	t := trouble.Of(err, trouble.Hints{List: "steward status", Help: "steward --help", Form: "steward status"})
	state := Bad
	if t.Exit == trouble.Unsafe {
		state = Unsafe
	}
	e.add(Finding{check, state, t.What, t.Next})
}

// secrets are the files and folders of a data folder that are the owner's alone.
var secrets = []string{"keys", "keys/*", "run", "tokens", "tokens/*", "steward.db", "steward.db-*"}

// folder looks at who can read and change what.
func (e *examination) folder() {
	info, err := os.Lstat(e.home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.add(Finding{"folder", Note, e.home + " is not there yet; steward up makes it", ""})
		return
	case err != nil:
		e.add(Finding{"folder", Bad, err.Error(), "ls -ld " + paper.Word(filepath.Dir(e.home))})
		return
	case !info.IsDir() && info.Mode().Type() != fs.ModeSymlink:
		e.add(Finding{"folder", Bad, e.home + " is no folder", "mv " + paper.Word(e.home) + " " + paper.Word(e.home+".old")})
		return
	}
	before := len(e.findings)
	e.private(e.home, 0o022, "change")
	for _, pattern := range secrets {
		found, _ := filepath.Glob(filepath.Join(escaped(e.home), pattern)) // the patterns are our own
		for _, path := range found {
			e.private(path, 0o077, "read")
		}
	}
	_, noStore := os.Stat(filepath.Join(e.home, "steward.db"))
	_, noKey := os.Stat(filepath.Join(e.home, "keys", "root"))
	if noStore == nil && noKey != nil {
		e.add(Finding{"folder", Bad, "there is a store and no key to open it: " + filepath.Join(e.home, "keys", "root") + " is missing", "put the key of the backup back, or steward restore"})
	}
	if len(e.findings) == before {
		e.add(Finding{"folder", Well, e.home + " and its secrets are for this user alone", ""})
	}
}

// escaped is a path whose characters mean themselves in a pattern.
func escaped(path string) string {
	var out []byte
	for i := range len(path) {
		if path[i] == '*' || path[i] == '?' || path[i] == '[' || path[i] == '\\' {
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}

// private finds a path that others may use in a way that they must not.
func (e *examination) private(path string, not fs.FileMode, verb string) {
	info, err := os.Stat(path)
	if err != nil {
		e.add(Finding{"folder", Bad, err.Error(), "ls -l " + paper.Word(filepath.Dir(path))})
		return
	}
	mode := "600"
	if info.IsDir() {
		mode = "700"
	}
	switch {
	case !ownership.Mine(info):
		e.add(Finding{"folder", Unsafe, path + " belongs to another user", "sudo chown -R " + fmt.Sprint(os.Getuid()) + " " + paper.Word(e.home)})
	case info.Mode().Perm()&not != 0:
		e.add(Finding{"folder", Unsafe, "others can " + verb + " " + path, "chmod " + mode + " " + paper.Word(path)})
	}
}

// host passes on what the running host says of itself.
func (e *examination) host(s adminwire.Status) {
	if s.Store != "ok" {
		e.add(Finding{"store", Bad, "the host accepts nothing any more: " + s.Store, "stop the host, read its log, then steward up"})
	} else {
		e.add(Finding{"store", Well, fmt.Sprintf("the host accepts calls, up since %s", paper.Stamp(s.StartedAt)), ""})
	}
	for _, a := range s.Alarms {
		e.add(Finding{"store", Bad, a.Text, a.Fix})
	}
	e.exceptions(s.Exceptions, "host", "steward doctor --config")
	if !s.Restored.IsZero() {
		e.add(Finding{"host", Note, "the store was restored from a copy at " + paper.Stamp(s.Restored), "steward status"})
	}
	if s.Data != e.home {
		e.add(Finding{"host", Note, "the host that answers here has the folder " + s.Data, ""})
	}
}

// exceptions names what a host or a connection may reach beside public addresses.
func (e *examination) exceptions(list []string, check, fix string) {
	for _, x := range list {
		e.add(Finding{check, Note, x + " may be reached, which is not public: not conforming", fix})
	}
}

// patience is how long a door of this machine may take to answer.
const patience = 2 * time.Second

// doors asks each HTTP door of the host for a sign of life.
func (e *examination) doors(ctx context.Context, bases []string) {
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, base := range bases {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
		var resp *http.Response
		if err == nil {
			resp, err = client.Do(req)
		}
		if err != nil {
			e.add(Finding{"doors", Bad, base + " does not answer", "stop the host, then steward up"})
			continue
		}
		resp.Body.Close()
		e.add(Finding{"doors", Well, base + " answers", ""})
	}
}

// port looks whether a host could listen where it is told to.
func (e *examination) port(ctx context.Context, address string) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		e.trouble("port", trouble.OfUp(err, address, e.home), "")
		return
	}
	l.Close()
	e.add(Finding{"port", Well, address + " is free", ""})
}

// bus tells of servers that cannot know the host, since it has no keys for them yet.
func (e *examination) bus(servers string) {
	if _, err := os.Lstat(filepath.Join(e.home, bus.KeysFile)); servers != "" && errors.Is(err, fs.ErrNotExist) {
		e.add(Finding{"bus", Bad, paper.Line(servers) + " cannot know this host, which has no keys for servers of the bus yet", "steward bus config, whose lines every server needs"})
	}
}

// upstreams finds those that do not run, and what waits for the owner.
func (e *examination) upstreams(all []adminwire.Resource) {
	well := 0
	for _, r := range all {
		u := r.Upstream
		capsule, tools := "", false
		if u != nil {
			capsule, tools = strings.CutPrefix(u.Name, resource.AliasCapsule)
		}
		switch {
		case u == nil:
		case tools && u.State == "disabled": // told of with the capsule, which comes first
			continue
		case tools && u.Connection == "failed":
			e.add(Finding{"upstreams", Bad, fmt.Sprintf("the tools of %s cannot be used: %s", r.Label, u.Trouble), "steward capsule logs " + paper.Word(capsule)})
		case u.State == "disabled":
			e.add(Finding{"upstreams", Note, r.Label + " is switched off: nothing of it is started or contacted", "steward import --refresh " + paper.Word(u.Name)})
		case u.Connection == "failed":
			e.add(Finding{"upstreams", Bad, fmt.Sprintf("%s does not run: %s", r.Label, u.Trouble), "steward import --refresh " + paper.Word(r.Label)})
		case len(u.Wants) > 0:
			e.add(Finding{"upstreams", Bad, fmt.Sprintf("%s refuses some calls, for which it wants %s", r.Label, strings.Join(u.Wants, " ")), "steward resources authorize " + paper.Word(u.Name)})
		default:
			well++
		}
		if u != nil && u.Exception != "" {
			e.exceptions([]string{u.Exception}, "upstreams", "steward resources show "+paper.Word(r.Label))
		}
		if n := r.Methods["needs_consent"]; n > 0 {
			e.add(Finding{"upstreams", Note, fmt.Sprintf("%s of %s wait for your yes and are off: they changed, or the store was restored", paper.Count(n, "method"), r.Label), "steward review " + paper.Word(r.Label)})
		}
	}
	if well > 0 {
		e.add(Finding{"upstreams", Well, paper.Count(well, "upstream") + " can be used", ""})
	}
}

// apps finds those that cannot call.
func (e *examination) apps(all []adminwire.App) {
	for _, a := range all {
		if sheet.Tokenless(a) {
			e.add(Finding{"apps", Note, paper.Line(a.Name) + " cannot call: none of its tokens is good any more", sheet.NewTokens(a)})
		}
	}
}

// capsules finds those that do not run.
func (e *examination) capsules(all []adminwire.Capsule) {
	well := 0
	for _, c := range all {
		switch c.State {
		case "waiting", "changed":
			e.add(Finding{"capsules", Bad, fmt.Sprintf("%s is %s: %s", c.Name, c.State, c.Reason), "steward capsule logs " + paper.Word(c.Name)})
			if c.State == "changed" && c.Folder != "" {
				e.findings[len(e.findings)-1].Fix = sheet.Install(c.Folder, c.Name, c.Args)
			}
		case "off":
			e.add(Finding{"capsules", Note, fmt.Sprintf("%s is off: %s", c.Name, c.Reason), sheet.Install(c.Folder, c.Name, c.Args)})
		default:
			well++
		}
	}
	if well > 0 {
		e.add(Finding{"capsules", Well, paper.Count(well, "capsule") + " can be used", ""})
	}
}

// ahead is how far a file's time may be ahead of the clock.
const ahead = 2 * time.Minute

// clock finds one that is behind what the host has written by it.
func (e *examination) clock() {
	newest := time.Time{}
	for _, name := range []string{"steward.db", "steward.db-wal", "node"} {
		if info, err := os.Stat(filepath.Join(e.home, name)); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if now := time.Now(); newest.After(now.Add(ahead)) {
		e.add(Finding{"clock", Bad, fmt.Sprintf("it is %s by this clock, and the store was written at %s", paper.Stamp(now), paper.Stamp(newest)), "timedatectl set-ntp true"})
		return
	}
	e.add(Finding{"clock", Well, paper.Stamp(time.Now()), ""})
}

// The least room on the disk: to go on at all, and to go on without a care.
const (
	leastBytes = 64 << 20
	easyBytes  = 512 << 20
)

func (e *examination) disk() {
	at := e.home
	if _, err := os.Stat(at); err != nil {
		at = filepath.Dir(at)
	}
	free, err := e.free(at)
	f := Finding{"disk", Well, fmt.Sprintf("%d MiB are free at %s", free>>20, at), ""}
	switch {
	case err != nil:
		return // a folder that is not there is told elsewhere
	case free < leastBytes:
		f.State, f.Fix = Bad, "df -h "+paper.Word(at)
	case free < easyBytes:
		f.State, f.Fix = Note, "df -h "+paper.Word(at)
	}
	e.add(f)
}

func freeBytes(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // it is another type on other systems
}
