// Package capsule is how a Go program becomes a capsule of steward: it says which
// resources it has and what each holds, and every MCP client of the owner can
// read them, with no MCP code here.
//
//	func main() {
//		err := capsule.Serve(context.Background(), capsule.Capsule{
//			Describe: func(ctx context.Context, who capsule.Caller) ([]capsule.Resource, error) {
//				return []capsule.Resource{{URI: "notes:today", Name: "Today"}}, nil
//			},
//			Read: func(ctx context.Context, who capsule.Caller, uri string) ([]capsule.Content, error) {
//				if uri != "notes:today" {
//					return nil, capsule.ErrNotMine
//				}
//				return []capsule.Content{capsule.Text(uri, "text/plain", "buy milk")}, nil
//			},
//		})
//		...
//	}
//
// With Tools it also does things: each becomes a method that the owner reviews and
// grants, and a call of it arrives at most once.
//
// The host starts the program once for each owner and says for whom; a handler
// gets that as a Caller, which nothing but the host's own word can make. Serve
// promises at most one answer a request, that a handler's context ends with the
// request, and that it returns when the host closes the program's input. It does
// not promise that a request is answered: a client may have gone.
//
// At most capsulewire.OpenRequests handlers run at once; they may run concurrently.
// Standard output belongs to the host; logs go to standard error.
package capsule

import (
	"context"
	"errors"

	"github.com/stewardhost/steward/protocol/capsulewire"
)

// Resource is one thing to read. URI and Name are required; a URI is opaque,
// begins with a scheme and has no segment "..".
type Resource = capsulewire.ResourceDefinition

// Annotations tell a client how to use a Resource.
type Annotations = capsulewire.Annotations

// Icon is one picture of a Resource.
type Icon = capsulewire.Icon

// Content is one chunk of what a Resource holds. Use Text or Blob.
type Content = capsulewire.ResourceContents

// Text is a chunk of text. An empty type is left out.
func Text(uri, mimeType, text string) Content {
	return Content{Text: &capsulewire.ResourceText{URI: uri, MimeType: optional(mimeType), Text: text}}
}

// Blob is a chunk of bytes. An empty type is left out.
func Blob(uri, mimeType string, bytes []byte) Content {
	return Content{Blob: &capsulewire.ResourceBlob{URI: uri, MimeType: optional(mimeType), Blob: append([]byte{}, bytes...)}}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ErrNotMine is what Read returns for a URI that the capsule does not serve: the
// capsule then stays silent, since another one may own the URI.
var ErrNotMine = errors.New("not a resource of this capsule")

// Caller is for whom a request is. Only Serve makes one.
type Caller struct{ principal, capsule string }

// Principal is the owner's name on the bus, stable for the owner's life.
func (c Caller) Principal() string { return c.principal }

// Capsule is the name under which the owner installed the program.
func (c Caller) Capsule() string { return c.capsule }

// Capsule is what a program answers. Describe or Tools is required; without Read
// every read is somebody else's.
type Capsule struct {
	// Describe gives everything there is to list. An error leaves the capsule out
	// of this list, which is then called incomplete; it never means "nothing".
	Describe func(ctx context.Context, who Caller) ([]Resource, error)
	// Read gives what a URI holds. ErrNotMine means silence; any other error is
	// told to the client, so its text must be fit for that.
	Read func(ctx context.Context, who Caller, uri string) ([]Content, error)
	// Tools are what apps may call, once the owner has approved them.
	Tools []Tool
}
