package describe

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Definition is one resource as its capsule describes it. Absent is nil.
type Definition struct {
	URI          string
	Name         string
	Title        *string
	Description  *string
	MimeType     *string
	Size         *uint32 // bytes of the raw content
	Audience     []string
	Priority     *float64
	LastModified *string
	Icons        []Icon
	Meta         strictjson.Raw // an object, or nil
}

// Icon is one picture of a resource; nobody here ever fetches it.
type Icon struct {
	Src      string
	MimeType *string
	Sizes    []string
	Theme    *string
}

const (
	maxIconSizes = 8 // as many as icons
	maxAudience  = 2
)

// Admit holds a definition to the limits (bus page, section 5) and gives it the
// form in which clients see it: priority lies in [0,1], a last-modified that is
// no ISO 8601 time is left out, and meta loses the prefixes that MCP reserves.
func Admit(d Definition) (Definition, error) {
	if err := CheckURI(d.URI); err != nil {
		return Definition{}, err
	}
	if d.Name == "" {
		return Definition{}, fault.New(fault.InvalidRequest, "a resource needs a name")
	}
	for _, text := range []*string{&d.Name, d.Title, d.Description, d.MimeType} {
		if err := checkText(text); err != nil {
			return Definition{}, err
		}
	}
	if err := checkAudience(d.Audience); err != nil {
		return Definition{}, err
	}
	if err := bound.ResourceIcons.Check(len(d.Icons)); err != nil {
		return Definition{}, err
	}
	for _, icon := range d.Icons {
		if err := icon.check(); err != nil {
			return Definition{}, err
		}
	}
	d.Priority = clamped(d.Priority)
	if d.LastModified != nil && !isTime(*d.LastModified) {
		d.LastModified = nil
	}
	var err error
	d.Meta, err = AdmitMeta(d.Meta)
	return d, err
}

func checkAudience(roles []string) error {
	if len(roles) > maxAudience {
		return fault.New(fault.InvalidRequest, "an audience holds user and assistant, each at most once")
	}
	for _, role := range roles {
		if role != "user" && role != "assistant" {
			return fault.New(fault.InvalidRequest, "an audience is user or assistant")
		}
	}
	return nil
}

// clamped is a priority between 0 and 1, nil for what is no number: it would spoil the
// whole list.
func clamped(priority *float64) *float64 {
	if priority == nil || math.IsNaN(*priority) {
		return nil
	}
	within := min(max(*priority, 0), 1)
	return &within
}

// CheckURI holds a URI to the limits: opaque bytes with a scheme, without control
// characters and without a segment "..", however it is spelled.
func CheckURI(uri string) error {
	if err := bound.ResourceURIBytes.Check(len(uri)); err != nil {
		return err
	}
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok || !isScheme(scheme) {
		return fault.New(fault.InvalidRequest, "a URI begins with a scheme, such as notes:")
	}
	if !utf8.ValidString(uri) || strings.ContainsFunc(uri, isControl) {
		return fault.New(fault.InvalidRequest, "a URI is UTF-8 without control characters")
	}
	lower := strings.ToLower(uri)
	if strings.Contains(lower, "%2e") {
		return fault.New(fault.InvalidRequest, "a URI has no encoded point")
	}
	lower = strings.ReplaceAll(strings.ReplaceAll(lower, "%2f", "/"), "%5c", "/")
	for segment := range strings.FieldsFuncSeq(lower, isSeparator) {
		if segment == ".." {
			return fault.New(fault.InvalidRequest, `a URI has no segment ".."`)
		}
	}
	return nil
}

// CheckFamily holds a prefix of URIs that a manifest claims to its form: a scheme
// and what follows, so that nobody claims every URI.
func CheckFamily(prefix string) error { return CheckURI(prefix) }

// isSeparator is generous: what any reader might take for the end of a segment
// ends one here.
func isSeparator(r rune) bool {
	return r == '/' || r == '\\' || r == '?' || r == '#' || r == ':' || r == ';'
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

func checkText(text *string) error {
	if text == nil {
		return nil
	}
	if err := bound.ServedTextBytes.Check(len(*text)); err != nil {
		return err
	}
	if !utf8.ValidString(*text) {
		return fault.New(fault.InvalidRequest, "text is UTF-8")
	}
	return nil
}

func (i Icon) check() error {
	data := strings.HasPrefix(i.Src, "data:")
	if !data && !strings.HasPrefix(i.Src, "https://") {
		return fault.New(fault.InvalidRequest, "an icon is https: or data:")
	}
	limit := bound.ResourceURIBytes
	if data {
		limit = bound.ResourceIconBytes
	}
	if err := limit.Check(len(i.Src)); err != nil {
		return err
	}
	if len(i.Sizes) > maxIconSizes || i.Theme != nil && *i.Theme != "light" && *i.Theme != "dark" {
		return fault.New(fault.InvalidRequest, "an icon has at most 8 sizes, and a theme of light or dark")
	}
	for _, text := range append([]string{i.Src}, i.Sizes...) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) || len(text) > limit.Int() {
			return fault.New(fault.InvalidRequest, "an icon's source and sizes are plain text")
		}
	}
	return checkText(i.MimeType)
}

// isTime accepts the date and the date with a time that ISO 8601 and RFC 3339
// share.
func isTime(text string) bool {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// AdmitMeta reads a meta object and leaves out the members whose prefix belongs
// to MCP: its second label is mcp or modelcontextprotocol.
func AdmitMeta(raw strictjson.Raw) (strictjson.Raw, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	members, err := strictjson.Parse(raw, strictjson.Limits{Bytes: bound.ResourceMetaBytes, Depth: bound.RequestDepth})
	if err != nil {
		return nil, err
	}
	if members.Kind != strictjson.Object {
		return nil, fault.New(fault.InvalidRequest, "meta is an object")
	}
	kept := members.Members[:0]
	for _, m := range members.Members {
		if !reservedKey(m.Name) {
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	members.Members = kept
	return members.Append(nil), nil
}

func reservedKey(name string) bool {
	prefix, _, ok := strings.Cut(name, "/")
	if !ok {
		return false
	}
	labels := strings.Split(strings.ToLower(prefix), ".")
	if len(labels) < 2 {
		return labels[0] == "mcp" || labels[0] == "modelcontextprotocol"
	}
	return labels[1] == "mcp" || labels[1] == "modelcontextprotocol" || labels[0] == "mcp"
}
