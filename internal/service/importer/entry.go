package importer

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Entry is one MCP server as a person configures it: a command of this machine or,
// where it has a URL, a server that is spoken to over HTTP. Values of Env and
// Headers may be secrets; an entry is stored sealed.
type Entry struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	Dir     string            `json:"cwd,omitzero"`
	Base    string            `json:"base,omitzero"` // where it is started without a Dir: the folder of the file that it stood in

	URL       string            `json:"url,omitzero"`
	Headers   map[string]string `json:"headers,omitzero"`
	Exception string            `json:"exception,omitzero"` // origin and network that the owner lets it out to (threats, A39)

	// Written is what the owner's file had where a value came from elsewhere, by its
	// place. It is told in an export, and says nothing about what the server is.
	Written map[string]string `json:"written,omitzero"`
}

// Folder is where the command is started, and what its relative arguments are taken
// from; empty for the host's own folder.
func (e Entry) Folder() string { return cmp.Or(e.Dir, e.Base) }

// Standing is how an entry stands to the one that was imported under its name.
type Standing int

// The standings.
const (
	IsNew     Standing = iota // there is none
	IsSame                    // wherever its values and its file come from
	IsAnother                 // another command, environment or address
	Replaces                  // that one is switched off, and is the same but for its secrets and its folder
)

// Stands tells how an entry stands to what an owner has of its name.
func (im *Importer) Stands(ctx context.Context, owner id.Owner, e Entry) (Standing, error) {
	row, there, err := im.named(ctx, owner, e.Name)
	switch {
	case err != nil:
		return IsAnother, err
	case row.ID.IsZero():
		return IsNew, nil
	case there.isAs(e):
		return IsSame, nil
	case row.State == view.Disabled && there.bare().isAs(e.bare()):
		return Replaces, nil
	}
	return IsAnother, nil
}

// named finds an owner's entry by its name; a zero row where there is none.
func (im *Importer) named(ctx context.Context, owner id.Owner, name string) (view.Adapter, Entry, error) {
	rows, err := im.store.Adapters(ctx)
	if err != nil {
		return view.Adapter{}, Entry{}, err
	}
	for _, a := range rows {
		if a.Owner == owner && a.Name == name {
			e, err := decodeEntry(a.Configuration)
			return a, e, err
		}
	}
	return view.Adapter{}, Entry{}, nil
}

// isAs reports whether two entries are one server: what they were written as does not
// matter, nor the folder of a file from which nothing but a start without a folder is
// taken.
func (e Entry) isAs(given Entry) bool {
	if e.Dir == "" && given.Dir == e.Base {
		given.Dir = "" // as an export has it
	}
	e.Base, given.Base, e.Written, given.Written = "", "", nil, nil
	there, bad := strictjson.Encode(e)
	now, err := strictjson.Encode(given)
	return bad == nil && err == nil && bytes.Equal(there, now)
}

// bare is an entry without what may be secret, and without its folder.
func (e Entry) bare() Entry {
	e.Env, e.Headers, e.Dir, e.Base = nil, nil, "", ""
	return e
}

// Remote reports whether the server is spoken to over HTTP.
func (e Entry) Remote() bool { return e.URL != "" }

// Kind is the kind of the entry's adapter.
func (e Entry) Kind() view.AdapterKind {
	if e.Remote() {
		return view.OverHTTP
	}
	return view.OverStdio
}

// Check bounds an entry.
func (e Entry) Check() error {
	if err := resource.CheckLabel(e.Name); err != nil {
		return err
	}
	written := 0
	for place, text := range e.Written {
		written += len(place) + len(text)
	}
	if err := bound.RequestBytes.Check(written); err != nil {
		return err
	}
	if e.Remote() {
		return e.checkRemote()
	}
	if len(e.Headers) > 0 || e.Exception != "" {
		return fault.Newf(fault.InvalidRequest, "the entry %s is a command, which takes neither headers nor an exception", e.Name)
	}
	if e.Command == "" {
		return fault.Newf(fault.InvalidRequest, "the entry %s has no command", e.Name)
	}
	size := len(e.Command) + len(e.Dir) + len(e.Base)
	for _, a := range e.Args {
		size += len(a)
	}
	for name, value := range e.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fault.Newf(fault.InvalidRequest, "the entry %s has an environment variable without a proper name", e.Name)
		}
		size += len(name) + len(value)
	}
	if strings.ContainsRune(e.Command+e.Dir+e.Base+strings.Join(e.Args, ""), 0) {
		return fault.Newf(fault.InvalidRequest, "the entry %s holds a NUL", e.Name)
	}
	return bound.RequestBytes.Check(size)
}

// checkRemote bounds what goes out with every request. What the address leads to is
// for the way out to say.
func (e Entry) checkRemote() error {
	if e.Command != "" || len(e.Args) > 0 || len(e.Env) > 0 || e.Folder() != "" {
		return fault.Newf(fault.InvalidRequest, "the entry %s has an address and a command", e.Name)
	}
	size := len(e.URL) + len(e.Exception)
	for name, value := range e.Headers {
		if !isHeader(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f }) {
			return fault.Newf(fault.InvalidRequest, "the entry %s has a header that cannot be sent", e.Name)
		}
		size += len(name) + len(value)
	}
	return bound.EntryHeaderBytes.Check(size)
}

// isHeader reports whether a header has a proper name that is not for the host to
// set.
func isHeader(name string) bool {
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && !resource.HostSets(name)
}

var configLimits = strictjson.Limits{Bytes: bound.AdminBytes}

func decodeEntry(raw []byte) (Entry, error) {
	var e Entry
	err := strictjson.Decode(raw, configLimits, &e)
	return e, err
}

// Entries are an owner's entries, also those that are switched off, in the order of
// their names, with their secrets.
func (im *Importer) Entries(ctx context.Context, owner id.Owner) ([]Entry, error) {
	rows, err := im.store.Adapters(ctx)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, a := range rows {
		if a.Owner != owner || a.Kind == view.InCapsule {
			continue
		}
		e, err := decodeEntry(a.Configuration)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
