// Package contract holds immutable sets of methods: what each method takes,
// gives and may cause. A contract is named by a URL that is compared byte for
// byte and never fetched; a method is pinned by the digest of its own
// definition, so that a change of one method touches no other (pool page,
// section 3).
//
// Documents are plain values and safe for concurrent use once parsed. The
// package does not decide who may call a method.
package contract

import (
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Method is one callable of a contract. Input and Output are schemas of profile
// nested-v1, one of each variant, and canonical in a document; an empty Output
// means that results are passed on unvalidated, bounded content only.
type Method struct {
	ID           string         `json:"-"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	Input        strictjson.Raw `json:"input"`
	Output       strictjson.Raw `json:"output,omitzero"`
	Effects      effect.Set     `json:"effects"`
	Precondition bool           `json:"precondition"` // the call must carry `if`
	Errors       []fault.Code   `json:"errors"`
}

// Document is a contract. Methods are sorted by id.
type Document struct {
	URL     string
	Title   string
	Methods []Method
}

type documentJSON struct {
	ID      string            `json:"id"`
	Title   string            `json:"title"`
	Methods map[string]Method `json:"methods"`
}

var documentLimits = strictjson.Limits{Bytes: bound.DescriptorBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes}

// Parse reads and checks a document; the caller may keep raw.
func Parse(raw []byte) (Document, error) {
	var in documentJSON
	if err := strictjson.Decode(raw, documentLimits, &in); err != nil {
		return Document{}, err
	}
	methods := make([]Method, 0, len(in.Methods))
	for name, m := range in.Methods {
		m.ID = name
		methods = append(methods, m)
	}
	return New(in.ID, in.Title, methods)
}

// New checks the parts of a document and returns it with its methods sorted and
// their schemas canonical.
func New(url, title string, methods []Method) (Document, error) {
	if err := CheckURL(url); err != nil {
		return Document{}, err
	}
	if err := bound.TitleBytes.Check(len(title)); err != nil {
		return Document{}, err
	}
	if len(methods) == 0 {
		return Document{}, fault.New(fault.InvalidRequest, "a contract needs at least one method")
	}
	if err := bound.ContractMethods.Check(len(methods)); err != nil {
		return Document{}, err
	}
	sorted := slices.Clone(methods)
	slices.SortFunc(sorted, func(a, b Method) int { return strings.Compare(a.ID, b.ID) })
	for i := range sorted {
		m := &sorted[i]
		if i > 0 && sorted[i-1].ID == m.ID {
			return Document{}, fault.Newf(fault.InvalidRequest, "method %s is there twice", m.ID)
		}
		if err := m.check(); err != nil {
			return Document{}, err
		}
		if err := m.compile(); err != nil {
			return Document{}, err
		}
	}
	d := Document{URL: url, Title: title, Methods: sorted}
	if err := bound.DescriptorBytes.Check(len(d.Encode())); err != nil {
		return Document{}, err
	}
	return d, nil
}

func (m Method) check() error {
	if err := CheckMethodID(m.ID); err != nil {
		return err
	}
	if m.Effects.Empty() {
		return fault.Newf(fault.InvalidRequest, "method %s says nothing about its effects", m.ID)
	}
	if err := bound.TitleBytes.Check(len(m.Title)); err != nil {
		return err
	}
	return bound.DescriptionBytes.Check(len(m.Description))
}

// compile holds the schemas to the profile and makes them canonical.
func (m *Method) compile() error {
	in, err := schema.CompileNested(m.Input)
	if err != nil {
		return err
	}
	if !in.IsObject() {
		return fault.Newf(fault.InvalidRequest, "the input of method %s is not an object", m.ID)
	}
	m.Input = in.Canonical()
	if len(m.Output) == 0 {
		return nil
	}
	out, err := schema.CompileOutput(m.Output)
	if err != nil {
		return err
	}
	m.Output = out.Canonical()
	return nil
}

// Encode gives the document's canonical JSON, at most bound.DescriptorBytes.
func (d Document) Encode() []byte {
	out := documentJSON{ID: d.URL, Title: d.Title, Methods: make(map[string]Method, len(d.Methods))}
	for _, m := range d.Methods {
		out.Methods[m.ID] = m
	}
	return canonical(out)
}

// Digest pins the whole document. It is evidence; grants pin methods.
func (d Document) Digest() digest.Digest { return digest.Of(digest.Contract, d.Encode()) }

// Method finds a method by its id.
func (d Document) Method(methodID string) (Method, bool) {
	i, ok := slices.BinarySearchFunc(d.Methods, methodID, func(m Method, id string) int { return strings.Compare(m.ID, id) })
	if !ok {
		return Method{}, false
	}
	return d.Methods[i], true
}

// Encode gives the method's canonical JSON without its id.
func (m Method) Encode() []byte { return canonical(m) }

// Digest pins the method's id and definition.
func (m Method) Digest() digest.Digest {
	return digest.Join(m.ID, string(m.Encode())).Sum(digest.Method)
}

// canonical encodes a checked value. Everything in it is bounded and was parsed
// strictly, so a failure is a broken invariant of ours.
func canonical(v any) []byte {
	raw, err := strictjson.Encode(v)
	if err != nil {
		panic("contract: cannot encode a checked document: " + err.Error())
	}
	out, err := strictjson.Canonical(raw, strictjson.Limits{})
	if err != nil {
		panic("contract: cannot canonicalise a checked document: " + err.Error())
	}
	return out
}

// CheckMethodID accepts [A-Za-z][A-Za-z0-9_-]{0,63} (draft, "Ordinary methods").
func CheckMethodID(methodID string) error {
	ok := methodID != "" && len(methodID) <= 64 && isLetter(methodID[0])
	for i := 0; ok && i < len(methodID); i++ {
		c := methodID[i]
		ok = isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if !ok {
		return fault.New(fault.InvalidRequest, "a method id is a letter and at most 63 letters, digits, _ or -")
	}
	return nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
