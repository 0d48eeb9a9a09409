package resource

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Approved is a method as the owner approved it last. It is kept beside a method
// that is another one now, so that the owner can be shown the difference. The zero
// value is a method that stands as it was approved, or never was.
type Approved struct {
	Definition contract.Method // with its id
	Raw        []byte          // the upstream's tool that it came from
	Pin        grant.Pin
}

// IsZero reports whether there is none.
func (a Approved) IsZero() bool { return len(a.Raw) == 0 }

// Difference is one place in which two definitions are not the same. Before and
// After are text where Words, which is a title or description that only readers
// see, and JSON otherwise; what is not there is empty.
type Difference struct {
	Pointer       string
	Words         bool
	Before, After string
}

// Change says what an upstream has changed of what was approved.
type Change string

// The changes. Back is none any more: the upstream took it back. Wording is of
// titles and descriptions alone; all else, such as a schema, an annotation or a
// member that we do not know, is Meaning.
const (
	Back    Change = "back"
	Wording Change = "wording"
	Meaning Change = "meaning"
)

// ChangeOf compares a method that needs a new yes with what was approved, and lists
// the differences in the order of their places. It is false where nothing was
// approved or nothing is offered.
//
// What an app may do stays the same under Back and Wording: there, the schemas that
// calls are held to differ in words at most.
func (k Kept) ChangeOf() (Change, []Difference, bool) {
	if k.Approved.IsZero() || k.Method.State != NeedsConsent {
		return "", nil, false
	}
	all := Differences(k.Approved.Raw, k.Raw)
	was, is := k.Approved.Definition, k.Method.Definition
	held := append(Differences(was.Input, is.Input), Differences(was.Output, is.Output)...)
	switch {
	case !onlyWords(all) || !onlyWords(held) || was.Precondition != is.Precondition:
		return Meaning, all, true
	case len(all) == 0:
		return Back, all, true
	default:
		return Wording, all, true
	}
}

func onlyWords(all []Difference) bool {
	return !slices.ContainsFunc(all, func(d Difference) bool { return !d.Words })
}

// Differences compares two JSON documents by their values: neither the order of
// members nor the spelling of numbers makes one. A text that is no JSON differs as a
// whole.
func Differences(before, after []byte) []Difference {
	if bytes.Equal(before, after) {
		return nil
	}
	a, badA := read(before)
	b, badB := read(after)
	if badA != nil || badB != nil {
		return []Difference{{Before: Visible(string(before)), After: Visible(string(after))}}
	}
	var c comparison
	c.values("", &a, &b, schemaPlace)
	return c.found
}

// read parses a document, with its numbers in their one spelling where they have
// one.
func read(raw []byte) (strictjson.Value, error) {
	if canonical, err := strictjson.Canonical(raw, strictjson.Limits{}); err == nil {
		raw = canonical
	}
	return strictjson.Parse(raw, strictjson.Limits{})
}

// place says what the names of an object's members are.
type place byte

const (
	schemaPlace place = iota // words of MCP and JSON Schema
	namesPlace               // names that the upstream chose
	dataPlace                // data, in which no name means anything
)

// below is the place of what a member of an object holds.
func (p place) below(name string) place {
	switch p {
	case namesPlace:
		return schemaPlace
	case dataPlace:
		return dataPlace
	}
	switch name {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return namesPlace
	case "default", "const", "enum", "examples", "_meta", "icons", "execution", "required":
		return dataPlace
	}
	return schemaPlace
}

type comparison struct{ found []Difference }

func (c *comparison) values(pointer string, a, b *strictjson.Value, p place) {
	switch {
	case a != nil && b != nil && a.Kind == strictjson.Object && b.Kind == strictjson.Object:
		c.objects(pointer, *a, *b, p)
	case a != nil && b != nil && a.Kind == strictjson.Array && b.Kind == strictjson.Array && len(a.Items) == len(b.Items):
		for i := range a.Items {
			c.values(pointer+"/"+strconv.Itoa(i), &a.Items[i], &b.Items[i], p)
		}
	default:
		if before, after := written(a), written(b); before != after {
			c.found = append(c.found, Difference{Pointer: Visible(pointer), Before: Visible(before), After: Visible(after)})
		}
	}
}

func (c *comparison) objects(pointer string, a, b strictjson.Value, p place) {
	names := map[string]bool{}
	for _, m := range append(slices.Clone(a.Members), b.Members...) {
		names[m.Name] = true
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		at := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		was, is := member(a, name), member(b, name)
		if p == schemaPlace && (name == "title" || name == "description") && isWords(was) && isWords(is) {
			if before, after := words(was), words(is); before != after || (was == nil) != (is == nil) {
				c.found = append(c.found, Difference{Visible(at), true, Visible(before), Visible(after)})
			}
			continue
		}
		c.values(at, was, is, p.below(name))
	}
}

func member(v strictjson.Value, name string) *strictjson.Value {
	if m, ok := v.Get(name); ok {
		return &m
	}
	return nil
}

func isWords(v *strictjson.Value) bool { return v == nil || v.Kind == strictjson.String }

func words(v *strictjson.Value) string {
	if v == nil {
		return ""
	}
	return v.Text
}

func written(v *strictjson.Value) string {
	if v == nil {
		return ""
	}
	return string(v.Append(nil))
}
