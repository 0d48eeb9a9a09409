// Package item holds the rules of item-store/v1: small texts under keys, changed
// only under a precondition, so that two writers cannot lose each other's work
// (pool page, section 10; draft, "atomic version or absent condition").
package item

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Item is one stored text. Version is unique for ever: an item that was deleted
// and made again never has an old version.
type Item struct {
	Key       string
	Value     string
	Version   string
	UpdatedAt time.Time
}

// Condition is the precondition of a change: exactly one of the two is set.
type Condition struct {
	Version *string `json:"version,omitzero"`
	Absent  *bool   `json:"absent,omitzero"`
}

// ParseCondition reads the `if` member of a request; it is required.
func ParseCondition(raw []byte, lim strictjson.Limits) (Condition, error) {
	var c Condition
	if len(raw) == 0 {
		return c, fault.New(fault.PreconditionRequired, `give "if": {"absent":true} for a new item or {"version":"…"} for the one that you read`)
	}
	if err := strictjson.Decode(raw, lim, &c); err != nil {
		return c, err
	}
	if (c.Version == nil) == (c.Absent == nil) || c.Absent != nil && !*c.Absent {
		return c, fault.New(fault.InvalidRequest, `"if" is either {"absent":true} or {"version":"…"}`)
	}
	return c, nil
}

// Holds checks the condition against the item as it is stored, nil for none.
func (c Condition) Holds(stored *Item) error {
	switch {
	case c.Absent != nil && stored == nil:
		return nil
	case c.Version != nil && stored != nil && stored.Version == *c.Version:
		return nil
	}
	f := fault.New(fault.PreconditionFailed, "the item is not as the precondition says")
	if stored != nil {
		f = f.With("version", stored.Version)
	}
	return f
}

// Check bounds a key and a value; pass an empty value where there is none.
func Check(key, value string) error {
	if key == "" {
		return fault.New(fault.InvalidArgs, "the key is empty")
	}
	if err := bound.ItemKeyBytes.Check(len(key)); err != nil {
		return err
	}
	return bound.ItemValueBytes.Check(len(value))
}
