package registry

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Kind is what a resource is.
type Kind string

// The kinds.
const (
	Skill Kind = "skill" // plain text for the model
	Tool  Kind = "tool"  // a contract that the application executes
)

// Proposal is a resource before its content is there.
type Proposal struct {
	Kind        Kind
	Name        string
	Description string
	Path        string // of a workspace file; empty is inline content
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// reservedPrefix begins the names of tools of configured servers.
const reservedPrefix = "mcp_"

// IsReserved reports whether the catalog has the name, in any case.
func IsReserved(name string, names []string) bool {
	return strings.HasPrefix(strings.ToLower(name), reservedPrefix) ||
		slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// Check holds a proposal to its form; the faults are invalid_payload.
func (p Proposal) Check() error {
	if p.Kind != Tool && p.Kind != Skill {
		return invalid("a resource is a tool or a skill")
	}
	if err := bound.ResourceNameBytes.Check(len(p.Name)); err != nil {
		return err
	}
	if !nameForm.MatchString(p.Name) {
		return invalid("a name is lower-case letters, digits and underscores")
	}
	if err := bound.ResourceTextBytes.Check(len(p.Description)); err != nil {
		return err
	}
	if !plain(p.Description) {
		return invalid("a description is plain text")
	}
	if p.Path == "" {
		return nil
	}
	return checkPath(p.Path)
}

func checkPath(path string) error {
	if err := bound.SourcePathBytes.Check(len(path)); err != nil {
		return err
	}
	if !plain(path) {
		return invalid("a path is plain text")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return invalid("a path is relative to the workspace, without empty or dot components")
		}
	}
	return nil
}

func plain(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func invalid(text string) *fault.Fault { return fault.New(fault.InvalidPayload, text) }

// MaxBytes is how long the content of a kind may be.
func (k Kind) MaxBytes() bound.Row {
	if k == Skill {
		return bound.SkillSourceBytes
	}
	return bound.ToolSourceBytes
}

// Resource is captured content that was read and holds. It never changes.
type Resource struct {
	Kind    Kind
	Text    string         // the captured bytes
	Input   *schema.Schema // of a tool
	Output  *schema.Schema // of a tool
	Timeout time.Duration  // of a tool

	normalized int // bytes
}

// contract is the content of a tool.
type contract struct {
	Input   strictjson.Raw `json:"input_schema"`
	Output  strictjson.Raw `json:"output_schema"`
	Timeout strictjson.Raw `json:"timeout_ms,omitzero"`
}

// Parse reads captured content of a kind. The faults are invalid_payload and
// limit_exceeded.
func Parse(kind Kind, content string) (*Resource, error) {
	if err := kind.MaxBytes().Check(len(content)); err != nil {
		return nil, err
	}
	if !plain(content) {
		return nil, invalid("content is UTF-8 without NUL")
	}
	if kind == Skill {
		return &Resource{Kind: Skill, Text: content, normalized: len(content)}, nil
	}
	return parseTool(content)
}

func parseTool(content string) (*Resource, error) {
	var c contract
	if err := strictjson.Decode([]byte(content), strictjson.Limits{Bytes: bound.ToolSourceBytes}, &c); err != nil {
		return nil, invalid("a tool is JSON with input_schema, output_schema and perhaps timeout_ms").Because(err)
	}
	r := &Resource{Kind: Tool, Text: content, Timeout: bound.CallbackTimeoutUsual.Duration()}
	var err error
	if r.Input, err = compile(c.Input); err != nil {
		return nil, err
	}
	if r.Output, err = compile(c.Output); err != nil {
		return nil, err
	}
	if c.Timeout != nil {
		if r.Timeout, err = timeout(c.Timeout); err != nil {
			return nil, err
		}
	}
	normalized, err := strictjson.Canonical([]byte(content), strictjson.Limits{})
	if err != nil {
		return nil, invalid("a tool's numbers are exact").Because(err)
	}
	r.normalized = len(normalized)
	return r, nil
}

func compile(raw strictjson.Raw) (*schema.Schema, error) {
	s, err := schema.CompileFlat(raw)
	if err != nil {
		return nil, invalid("a schema is outside flat-v1").Because(err)
	}
	return s, nil
}

// timeout reads an integer of milliseconds; a fraction is none, however it is
// spelled, since a fractional spelling is refused too.
func timeout(raw strictjson.Raw) (time.Duration, error) {
	var ms int64
	if err := strictjson.Decode(raw, strictjson.Limits{}, &ms); err != nil {
		return 0, invalid("timeout_ms is an integer").Because(err)
	}
	if ms < bound.CallbackTimeoutLeast.Max {
		return 0, invalid("timeout_ms is at least a second")
	}
	if ms > bound.CallbackTimeout.Max {
		return 0, bound.CallbackTimeout.Exceeded()
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// hashDomain begins what a revision's hash covers (guide, Captured sources).
const hashDomain = "magi-application-resource-v1"

// RevisionHash is SHA-256 over the domain and four values, each after its length
// as eight bytes, the highest first.
func RevisionHash(kind Kind, name, description, content string) string {
	h := sha256.New()
	h.Write([]byte(hashDomain))
	for _, part := range []string{string(kind), name, description, content} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ContentHash is SHA-256 over the captured bytes.
func ContentHash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func (r *Resource) describe(p Proposal, by Attribution, fresh Fresh) Descriptor {
	return Descriptor{
		ResourceID: fresh.Resource, RevisionID: fresh.Revision, Kind: p.Kind, Name: p.Name, Description: p.Description,
		ContentSHA256: ContentHash(r.Text), RevisionSHA256: RevisionHash(p.Kind, p.Name, p.Description, r.Text),
		CapturedBytes: len(r.Text), RegisteredBy: by,
	}
}

// weigh is what an entry counts in its registry: the normalized resource, the
// exact source and the descriptor as it is encoded.
func (r *Resource) weigh(d Descriptor) int {
	encoded, err := strictjson.Encode(d)
	if err != nil { // all of it was checked to be text
		panic(err)
	}
	return r.normalized + len(r.Text) + len(encoded)
}
