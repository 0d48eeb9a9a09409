package importer

import (
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

// Entry is one local MCP server as a person configures it.
type Entry struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	Dir     string            `json:"cwd,omitzero"`
}

// Check bounds an entry.
func (e Entry) Check() error {
	if err := resource.CheckLabel(e.Name); err != nil {
		return err
	}
	if e.Command == "" {
		return fault.Newf(fault.InvalidRequest, "the entry %s has no command", e.Name)
	}
	size := len(e.Command) + len(e.Dir)
	for _, a := range e.Args {
		size += len(a)
	}
	for name, value := range e.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fault.Newf(fault.InvalidRequest, "the entry %s has an environment variable without a proper name", e.Name)
		}
		size += len(name) + len(value)
	}
	if strings.ContainsRune(e.Command+e.Dir+strings.Join(e.Args, ""), 0) {
		return fault.Newf(fault.InvalidRequest, "the entry %s holds a NUL", e.Name)
	}
	return bound.RequestBytes.Check(size)
}

var configLimits = strictjson.Limits{Bytes: bound.AdminBytes}

func decodeEntry(raw []byte) (Entry, error) {
	var e Entry
	err := strictjson.Decode(raw, configLimits, &e)
	return e, err
}

// Entries are an owner's enabled entries, in the order of their names, with their
// secrets.
func (im *Importer) Entries(ctx context.Context, owner id.Owner) ([]Entry, error) {
	rows, err := im.store.Adapters(ctx)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, a := range rows {
		if a.Owner != owner || a.State != view.Enabled {
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
