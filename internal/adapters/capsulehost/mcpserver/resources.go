package mcpserver

import (
	"context"
	"errors"
	"strconv"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

type resource struct {
	URI         string         `json:"uri"`
	Name        string         `json:"name"`
	Title       *string        `json:"title"`
	Description *string        `json:"description"`
	MimeType    *string        `json:"mimeType"`
	Size        strictjson.Raw `json:"size"`
	Annotations *annotations   `json:"annotations"`
	Icons       []icon         `json:"icons"`
	Meta        strictjson.Raw `json:"_meta"`
}

type annotations struct {
	Audience     []string `json:"audience"`
	Priority     *float64 `json:"priority"`
	LastModified *string  `json:"lastModified"`
}

type icon struct {
	Src      string   `json:"src"`
	MimeType *string  `json:"mimeType"`
	Sizes    []string `json:"sizes"`
	Theme    *string  `json:"theme"`
}

// List reads all pages. One resource that is malformed is left out.
func (s *Server) List(ctx context.Context) ([]capsulewire.ResourceDefinition, error) {
	var out []capsulewire.ResourceDefinition
	cursor := ""
	for range bound.ListingPages.Int() {
		params := map[string]string{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		result, refused, err := s.call(ctx, "resources/list", params)
		if err != nil {
			return nil, err
		}
		if refused != nil {
			return nil, fault.New(fault.UpstreamFailed, "the server does not list: "+refused.Message)
		}
		var page struct {
			Resources []strictjson.Raw `json:"resources"`
			Next      *string          `json:"nextCursor"`
		}
		if err := strictjson.DecodeReply(result, lines, &page); err != nil {
			return nil, fault.New(fault.UpstreamFailed, "the server's list is malformed").Because(err)
		}
		for _, raw := range page.Resources {
			var r resource
			if strictjson.DecodeReply(raw, lines, &r) == nil {
				out = append(out, definitionOf(r))
			}
		}
		if err := bound.ReplyDefinitions.Check(len(out)); err != nil {
			return nil, err
		}
		if page.Next == nil || *page.Next == "" {
			return out, nil
		}
		cursor = *page.Next
	}
	return nil, bound.ListingPages.Exceeded()
}

func definitionOf(r resource) capsulewire.ResourceDefinition {
	d := capsulewire.ResourceDefinition{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MimeType: r.MimeType,
		Size: sizeOf(r.Size), Meta: metaOf(r.Meta)}
	if a := r.Annotations; a != nil {
		d.Annotations = &capsulewire.Annotations{Audience: a.Audience, Priority: a.Priority, LastModified: a.LastModified}
	}
	for _, i := range r.Icons {
		d.Icons = append(d.Icons, capsulewire.Icon(i))
	}
	return d
}

// sizeOf is a size as the bus can tell it, nil for a larger one and for what is none: a
// resource is not left out for what is only a hint.
func sizeOf(raw strictjson.Raw) *uint32 {
	n, err := strconv.ParseUint(string(raw), 10, 32)
	if err != nil {
		return nil
	}
	size := uint32(n)
	return &size
}

func metaOf(raw strictjson.Raw) *string {
	if raw.Kind() != '{' {
		return nil
	}
	text := string(raw)
	return &text
}

// The numbers by which servers of the revisions say that they do not know a URI.
const (
	notFound  = -32002
	badParams = -32602
)

// Read gives what a URI holds, and whether the server knows it at all.
func (s *Server) Read(ctx context.Context, uri string) (contents []capsulewire.ResourceContents, known bool, err error) {
	result, refused, err := s.call(ctx, "resources/read", map[string]string{"uri": uri})
	if err != nil {
		return nil, false, err // nobody knows whose it is
	}
	if refused != nil && (refused.Code == notFound || refused.Code == badParams) {
		return nil, false, nil
	}
	if refused != nil {
		return nil, true, fault.New(fault.UpstreamFailed, refused.Message)
	}
	var answer struct {
		Contents []content `json:"contents"`
	}
	if err := strictjson.DecodeReply(result, lines, &answer); err != nil {
		return nil, true, fault.New(fault.UpstreamFailed, "the server's answer is malformed").Because(err)
	}
	if len(answer.Contents) == 0 {
		return nil, false, nil
	}
	for _, c := range answer.Contents {
		one, err := c.chunk()
		if err != nil {
			return nil, true, err
		}
		contents = append(contents, one)
	}
	return contents, true, nil
}

type content struct {
	URI      string         `json:"uri"`
	MimeType *string        `json:"mimeType"`
	Text     *string        `json:"text"`
	Blob     *[]byte        `json:"blob"`
	Meta     strictjson.Raw `json:"_meta"`
}

// chunk gives the arm that is there; the mime type decides nothing.
func (c content) chunk() (capsulewire.ResourceContents, error) {
	switch {
	case c.Text != nil && c.Blob == nil:
		return capsulewire.ResourceContents{Text: &capsulewire.ResourceText{URI: c.URI, MimeType: c.MimeType, Text: *c.Text, Meta: metaOf(c.Meta)}}, nil
	case c.Blob != nil && c.Text == nil:
		return capsulewire.ResourceContents{Blob: &capsulewire.ResourceBlob{URI: c.URI, MimeType: c.MimeType, Blob: *c.Blob, Meta: metaOf(c.Meta)}}, nil
	}
	return capsulewire.ResourceContents{}, fault.New(fault.UpstreamFailed, "the server's contents are neither text nor blob").
		Because(errors.New("not exactly one of text and blob"))
}
