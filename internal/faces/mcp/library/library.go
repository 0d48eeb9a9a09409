// Package library is the part of the MCP door that knows resources: what an app
// may list and read of its owner's capsules, in the form of MCP, and who has to be
// told when that changes (bus page, section 6).
//
// It promises: an app sees the resources of capsules on which it holds a live
// grant of read, at that moment, and no others; what it may not see and what does
// not exist give the same answer in the same time; a read that fails is an error;
// a list is one page; every read makes one row in the trail. A change is found by
// comparing what an app could list when its stream opened, or was last told, with
// what it can list now; a comparison that failed, or rested on an incomplete list,
// is made again. It does not promise that a client asks again.
//
// One lock guards who waits for changes; no port is called under it. Everything
// is safe for concurrent use.
package library

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/link"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/broker"
	"github.com/stewardhost/steward/internal/service/links"
)

// Ports are what the library asks of the floors below it; all are required.
type Ports struct {
	// Readable gives the capsules that the caller may read now.
	Readable func(ctx context.Context, c authority.Caller) ([]view.Readable, error)
	// List and Read ask the capsules of a principal.
	List func(ctx context.Context, p topic.Principal) (describe.Result, error)
	Read func(ctx context.Context, who broker.Asker, uri string) (broker.Found, error)
	// WasRead records a read with what came of it.
	WasRead func(c authority.Caller, which id.Resource, outcome string)
	// Links are the addresses of what imported servers point to; nil for none.
	Links *links.Links
}

// OrEmpty gives the library, or for nil one in which there is nothing to read.
func OrEmpty(l *Library) *Library {
	if l != nil {
		return l
	}
	return New(Ports{
		Readable: func(context.Context, authority.Caller) ([]view.Readable, error) { return nil, nil },
		List: func(context.Context, topic.Principal) (describe.Result, error) {
			return describe.Result{Complete: true}, nil
		},
		Read: func(context.Context, broker.Asker, string) (broker.Found, error) {
			return broker.Found{}, read.NotFound()
		},
		WasRead: func(authority.Caller, id.Resource, string) {},
	})
}

// metaIncomplete is the member of _meta in which a list says what it lacks.
const metaIncomplete = "io.github.stewardhost/incomplete"

// List gives the array of what the caller may read now, and for one that is not whole
// a member of _meta that says what it lacks.
func (l *Library) List(ctx context.Context, c authority.Caller) (list, lacks []byte, err error) {
	may, err := l.ports.Readable(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	if len(may) == 0 {
		l.based(c, describe.Result{})
		return []byte("[]"), nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, bound.ResourceDeadline.Duration())
	defer cancel()
	found, err := l.ports.List(ctx, topic.PrincipalOf(c.Owner))
	if err != nil {
		return nil, nil, err
	}
	seen := visible(found, may)
	l.based(c, seen)
	return encodeList(seen.Listed), encodeLacks(seen), nil
}

// visible leaves of a result what the capsules in may serve.
func visible(found describe.Result, may []view.Readable) describe.Result {
	out := describe.Result{Cut: found.Cut}
	for _, one := range found.Listed {
		if _, ok := find(may, one.Capsule); ok {
			out.Listed = append(out.Listed, one)
		}
	}
	for _, one := range found.Missing {
		if _, ok := find(may, one.Name); ok {
			out.Missing = append(out.Missing, one)
		}
	}
	out.Complete = !out.Cut && len(out.Missing) == 0
	return out
}

func find(may []view.Readable, capsule string) (id.Resource, bool) {
	for _, m := range may {
		if m.Capsule == capsule {
			return m.Resource, true
		}
	}
	return id.Resource{}, false
}

// Give is the content of an imported tool's result as the caller is given it: what it
// points to has addresses that Read takes.
func (l *Library) Give(c authority.Caller, which id.Resource, content []byte) []byte {
	if l.ports.Links == nil {
		return content
	}
	return l.ports.Links.Give(c, which, content)
}

// Read gives the array of contents of a URI. One of the form of the host's own
// addresses is never asked of a capsule.
func (l *Library) Read(ctx context.Context, c authority.Caller, uri string) ([]byte, error) {
	if link.Is(uri) && l.ports.Links != nil {
		contents, err := l.ports.Links.Read(ctx, c, uri)
		if err != nil {
			return nil, err
		}
		return encodeContents(contents), nil
	}
	may, err := l.ports.Readable(ctx, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bound.ResourceDeadline.Duration())
	defer cancel()
	found, err := l.ports.Read(ctx, broker.Asker{Principal: topic.PrincipalOf(c.Owner), Ingress: broker.Face, May: func(capsule string) bool {
		_, ok := find(may, capsule)
		return ok
	}}, uri)
	which, _ := find(may, found.Capsule)
	outcome := "ok"
	if err != nil {
		outcome = string(fault.From(err).Code)
	}
	l.ports.WasRead(c, which, outcome)
	if err != nil {
		return nil, err
	}
	return encodeContents(found.Contents), nil
}

// The numbers of MCP for a resource that is not there, which changed, and for
// everything else that fails.
const (
	notFoundLegacy = -32002
	failed         = -32603
)

// Problem gives an error of List and Read the form of the era.
func Problem(err error, era frame.Era) *frame.Problem {
	p := frame.ProblemOf(fault.From(err))
	switch {
	case fault.Is(err, fault.NotFound) && era == frame.Legacy:
		p.Code = notFoundLegacy
	case fault.Is(err, fault.NotFound):
		p.Code = frame.BadParams
	default:
		p.Code = failed
	}
	return p
}

func encodeList(list []describe.Listed) []byte {
	b := []byte{'['}
	for i, one := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendDefinition(b, one.Definition)
	}
	return append(b, ']')
}

// encodeLacks gives nil for a list that is whole.
func encodeLacks(seen describe.Result) []byte {
	if seen.Complete {
		return nil
	}
	b := strconv.AppendBool([]byte(`"`+metaIncomplete+`":{"cut":`), seen.Cut)
	b = append(b, `,"missing":[`...)
	for i, one := range seen.Missing {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"capsule":`...), one.Name)
		b = append(appendText(append(b, `,"why":`...), one.Why()), '}')
	}
	return append(b, "]}"...)
}

func appendDefinition(b []byte, d describe.Definition) []byte {
	b = appendText(append(b, `{"uri":`...), d.URI)
	b = appendText(append(b, `,"name":`...), d.Name)
	b = appendOptional(b, "title", d.Title)
	b = appendOptional(b, "description", d.Description)
	b = appendOptional(b, "mimeType", d.MimeType)
	if d.Size != nil {
		b = strconv.AppendUint(append(b, `,"size":`...), uint64(*d.Size), 10)
	}
	b = appendAnnotations(b, d)
	for i, icon := range d.Icons {
		if i == 0 {
			b = append(b, `,"icons":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"src":`...)
		b = appendText(b, icon.Src)
		b = appendOptional(b, "mimeType", icon.MimeType)
		b = appendTexts(b, ",", "sizes", icon.Sizes)
		b = append(appendOptional(b, "theme", icon.Theme), '}')
	}
	if len(d.Icons) > 0 {
		b = append(b, ']')
	}
	if len(d.Meta) > 0 {
		b = append(append(b, `,"_meta":`...), d.Meta...)
	}
	return append(b, '}')
}

func appendAnnotations(b []byte, d describe.Definition) []byte {
	if len(d.Audience) == 0 && d.Priority == nil && d.LastModified == nil {
		return b
	}
	b = append(b, `,"annotations":{`...)
	comma := ""
	if len(d.Audience) > 0 {
		b, comma = appendTexts(b, comma, "audience", d.Audience), ","
	}
	if d.Priority != nil {
		b = strconv.AppendFloat(append(append(b, comma...), `"priority":`...), *d.Priority, 'g', -1, 64)
		comma = ","
	}
	if d.LastModified != nil {
		b = appendText(append(append(b, comma...), `"lastModified":`...), *d.LastModified)
	}
	return append(b, '}')
}

func encodeContents(contents []read.Content) []byte {
	b := []byte{'['}
	for i, c := range contents {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"uri":`...), c.URI)
		b = appendOptional(b, "mimeType", c.MimeType)
		if c.Blob == nil {
			b = appendText(append(b, `,"text":`...), c.Text)
		} else {
			b = append(base64.StdEncoding.AppendEncode(append(b, `,"blob":"`...), c.Blob), '"')
		}
		if len(c.Meta) > 0 {
			b = append(append(b, `,"_meta":`...), c.Meta...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func appendText(b []byte, text string) []byte { return append(b, frame.Quoted(text)...) }

func appendOptional(b []byte, name string, text *string) []byte {
	if text == nil {
		return b
	}
	return appendText(append(append(append(b, `,"`...), name...), `":`...), *text)
}

func appendTexts(b []byte, before, name string, texts []string) []byte {
	if len(texts) == 0 {
		return b
	}
	b = append(append(append(append(b, before...), '"'), name...), `":[`...)
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, t)
	}
	return append(b, ']')
}
