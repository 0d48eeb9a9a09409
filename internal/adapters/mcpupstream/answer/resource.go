package answer

import (
	"encoding/base64"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Resource is what an upstream says of something that can be read.
type Resource struct{ URI, Name, MimeType string }

// Content is one part of a resource that was read: a text, or bytes that are none.
type Content struct {
	URI, MimeType string
	Text          string
	Blob          []byte // there is no Text where it is not nil
}

// Bytes is how many the text or the blob has.
func (c Content) Bytes() int { return len(c.Text) + len(c.Blob) }

// Resources reads every page of resources/list: all of it or a fault, never a part.
// One without a URI that could be asked for is left out and spoils no other. Faults:
// those of a bound of the listing, upstream_failed for what is no list, and of an
// answer that is none.
func Resources(ask func(cursor []byte) Answer) ([]Resource, error) {
	const what = "resources/list"
	var all []Resource
	err := walk(what, ask, func(result []byte) ([]byte, error) {
		page, list, err := listed(result, Listing, what, "resources")
		if err != nil {
			return nil, err
		}
		envelope.Items(list, func(raw []byte) bool {
			v, err := strictjson.Parse(raw, strictjson.Limits{Bytes: bound.ToolBytes})
			r := Resource{URI: text(v, "uri"), Name: text(v, "name"), MimeType: text(v, "mimeType")}
			if err == nil && r.URI != "" && bound.ResourceURIBytes.Check(len(r.URI)) == nil {
				all = append(all, r)
			}
			return bound.OwnerDefinitions.Check(len(all)) == nil
		})
		if err := bound.OwnerDefinitions.Check(len(all)); err != nil {
			return nil, err
		}
		return nextOf(page, what)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// The numbers of a resource that is not there: one of its own, and in the stateless
// era that of bad params, of which a URI is the only one.
const (
	noSuchResource = -32002
	badParams      = -32602
)

// Contents reads the answer to resources/read: every part, or a fault. Faults: not_found as far as the upstream says so, too_large over
// bound.ReadAnswerBytes, bound.ReadChunks or bound.ReadContentBytes,
// upstream_failed for a refusal and what is no resource, unavailable where there is
// no answer.
func Contents(a Answer) ([]Content, error) {
	const what = "resources/read"
	if a.Event.Kind == invocation.Rejected && (a.Code == noSuchResource || a.Code == badParams) {
		return nil, fault.New(fault.NotFound, "the server has no such resource")
	}
	if a.Event.Kind != invocation.Answered {
		return nil, a.Fault(what)
	}
	_, list, err := listed(a.Event.Result, Reading, what, "contents")
	if err != nil {
		return nil, err
	}
	var parts []Content
	size := 0
	envelope.Items(list, func(raw []byte) bool {
		var c Content
		if c, err = content(raw); err != nil {
			return false
		}
		parts, size = append(parts, c), size+c.Bytes()
		if err = bound.ReadChunks.Check(len(parts)); err == nil {
			err = bound.ReadContentBytes.Check(size)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	return parts, nil
}

// content reads one part, which is a text or a blob.
func content(raw []byte) (Content, error) {
	v, err := strictjson.Parse(raw, limits[Reading])
	if err != nil {
		return Content{}, failed("resources/read: a part cannot be read").Because(err)
	}
	c := Content{URI: text(v, "uri"), MimeType: text(v, "mimeType")}
	words, bytes := member(v, "text"), member(v, "blob")
	switch isText, isBlob := words.Kind == strictjson.String, bytes.Kind == strictjson.String; {
	case c.URI == "" || isText == isBlob:
		return Content{}, failed("resources/read: a part is neither a text nor a blob of a uri")
	case isText:
		c.Text = words.Text
	default:
		decoded, err := base64.StdEncoding.DecodeString(bytes.Text)
		if err != nil {
			return Content{}, failed("resources/read: a blob is not base64").Because(err)
		}
		c.Blob = decoded // not nil, also where it is empty
	}
	return c, nil
}
