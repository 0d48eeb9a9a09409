// Package capsulewire is the wire on which a capsule says what it serves: the
// records of the contract astrid-bus:resource@1.0.0 as JSON (the WIT file stands
// in contracts/astrid-bus), and the frames in which they travel between the host
// and a capsule that is a process.
//
// A receiver may rely on this: every document was read strictly, so a name that
// stands twice, that is unknown or has another case, a null, a wrong type and
// anything over the bounds is refused. A list of resources is read one by one, so
// that one that is malformed spoils no other. A record never gains a member
// within version 1; a changed record is a new version of the contract.
//
// The package decides nothing: whether a URI or an icon may be shown is for the
// host. It holds no state and is safe for concurrent use.
package capsulewire

import (
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Raw is one JSON value as it was written.
type Raw = strictjson.Raw

// DescribeRequest asks a capsule what it serves. It is empty: for whom stands
// around it, written by the host.
type DescribeRequest struct{}

// DescribeResponse is the capsule's answer.
type DescribeResponse struct {
	Resources []ResourceDefinition `json:"resources,omitzero"` // at most bound.ReplyDefinitions
}

// ResourceDefinition is one resource. A URI is opaque and compared byte for byte.
type ResourceDefinition struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       *string      `json:"title,omitzero"`
	Description *string      `json:"description,omitzero"`
	MimeType    *string      `json:"mime-type,omitzero"`
	Size        *uint32      `json:"size,omitzero"` // bytes of the raw content
	Annotations *Annotations `json:"annotations,omitzero"`
	Icons       []Icon       `json:"icons,omitzero"`
	Meta        *string      `json:"meta,omitzero"` // a JSON object, as text
}

// Annotations tell a client how to use a resource.
type Annotations struct {
	Audience     []string `json:"audience,omitzero"` // user, assistant
	Priority     *float64 `json:"priority,omitzero"` // 0 to 1
	LastModified *string  `json:"last-modified,omitzero"`
}

// Icon is one picture: https: or data:.
type Icon struct {
	Src      string   `json:"src"`
	MimeType *string  `json:"mime-type,omitzero"`
	Sizes    []string `json:"sizes,omitzero"`
	Theme    *string  `json:"theme,omitzero"` // light, dark
}

// ReadRequest asks for the contents of a URI. It goes to every capsule of the
// principal; one that does not serve the URI stays silent.
type ReadRequest struct {
	URI           string `json:"uri"`
	CorrelationID string `json:"correlation-id"`
}

// ReadResponse is the answer of the capsule that serves the URI. An error and
// contents exclude each other.
type ReadResponse struct {
	URI      string             `json:"uri"`
	Contents []ResourceContents `json:"contents,omitzero"` // at most bound.ReadChunks
	Error    *string            `json:"error,omitzero"`    // shown to the client, at most bound.ReadErrorBytes
	Meta     *string            `json:"meta,omitzero"`
}

// ResourceContents is one chunk: exactly one of the two arms is there.
type ResourceContents struct {
	Text *ResourceText `json:"text,omitzero"`
	Blob *ResourceBlob `json:"blob,omitzero"`
}

// ResourceText is a chunk of text.
type ResourceText struct {
	URI      string  `json:"uri"`
	MimeType *string `json:"mime-type,omitzero"`
	Text     string  `json:"text"`
	Meta     *string `json:"meta,omitzero"`
}

// ResourceBlob is a chunk of bytes.
type ResourceBlob struct {
	URI      string  `json:"uri"`
	MimeType *string `json:"mime-type,omitzero"`
	Blob     []byte  `json:"blob"` // on the wire base64, RFC 4648 section 4, padded
	Meta     *string `json:"meta,omitzero"`
}
