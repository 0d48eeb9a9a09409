// Package schema compiles bounded JSON Schemas and holds values to them.
//
// A profile is a small subset of JSON Schema: nested-v1 (draft, importer subset;
// pool page, section 3) serves tool contracts, imported tools and RPC. A keyword
// outside the profile is refused by name, never skipped. Within it a compiled
// schema means exactly what JSON Schema (draft-07 and 2020-12 agree here) says
// it means; default, examples and $comment are carried and never acted upon.
//
// The profile has two variants. An input schema says what a caller may give, so
// every part of it is bounded and every object closed. An output schema says
// what somebody else's result looks like. A result is data and gives nobody a
// right, and its bytes, depth and nodes are bounded where it is read. So there
// the upper limits (maxLength, maxItems) and both limits of a number may be left
// out, and an object accepts members that it does not name unless it says
// additionalProperties: false. Every input schema is an output schema too.
//
// Profile flat-v1 (guide, Callback bounds) is the part of nested-v1 that
// application tools use: one closed object of required strings, booleans and
// integers.
//
// Numbers are compared as exact decimals, so 2^53+1, 1e400 and
// 0.1000000000000000055 are judged as written. Lengths of strings count Unicode
// code points, not bytes.
//
// Faults: a *Refusal for a schema (invalid_request, or the fault of the bound
// that was exceeded) and a *Violation for a value (invalid_args), both with the
// JSON pointer of the place. Neither repeats a value.
//
// Compiling is bounded by the schema rows of the bound table. Checking visits
// each part of a value once and never nests deeper than the schema. The bytes
// of a value are not the schema's business: that bound belongs to whoever reads
// it. A Schema is immutable and safe for concurrent use.
package schema

import (
	"bytes"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Schema is one compiled schema. Only the compile functions make one.
type Schema struct {
	root      *node
	source    []byte
	canonical []byte
}

// node is one compiled subschema. Which fields count depends on its kind.
type node struct {
	kind     kind
	enum     []strictjson.Value // scalars; empty: no such rule
	constant []strictjson.Value // one scalar, or empty

	least, most  int64 // code points of a string, entries of an array
	lower, upper *edge // of a number; nil: no such rule

	items      *node
	properties map[string]property
	required   []string
	open       bool // accepts members that it does not name
}

// edge is a bound of a number, with its spelling for messages.
type edge struct {
	value   strictjson.Decimal
	literal string
}

// property is one named member of an object.
type property struct {
	node     *node
	required bool
}

// limits are those of a schema's document; depth and nodes of the JSON text are
// the parser's own, those of the schema are counted while compiling.
var limits = strictjson.Limits{Bytes: bound.SchemaBytes}

// CompileNested compiles an input schema of profile nested-v1. The error is a
// *Refusal. Any type may stand at the root; see IsObject.
func CompileNested(raw []byte) (*Schema, error) { return compile(raw, compiler{}) }

// CompileOutput compiles an output schema of profile nested-v1. The error is a
// *Refusal. Any type may stand at the root; see IsObject.
func CompileOutput(raw []byte) (*Schema, error) { return compile(raw, compiler{output: true}) }

func compile(raw []byte, c compiler) (*Schema, error) {
	canonical, err := strictjson.Canonical(raw, limits)
	if err != nil {
		return nil, refusalOf(err)
	}
	v, err := strictjson.Parse(raw, limits)
	if err != nil {
		return nil, refusalOf(err)
	}
	root, refusal := c.node(v, nil, 1)
	if refusal != nil {
		return nil, refusal
	}
	return &Schema{root: root, source: bytes.Clone(raw), canonical: canonical}, nil
}

// Canonical returns the canonical JSON of the source, for pins and digests. It
// compiles, as the same variant, to a schema that accepts the same values. The
// caller owns the slice.
func (s *Schema) Canonical() []byte { return bytes.Clone(s.canonical) }

// Source returns the bytes that were compiled. The caller owns the slice.
func (s *Schema) Source() []byte { return bytes.Clone(s.source) }

// IsObject reports whether the schema accepts objects and nothing else, as the
// input schema of a method must.
func (s *Schema) IsObject() bool { return s.root.kind == objectKind }
