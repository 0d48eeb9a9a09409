// Command pages is a capsule that has the resources which the conformance suite wants
// to read: a text, a picture, and a family of texts that are made when they are read.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/stewardhost/steward/capsule"
)

const (
	text    = "test://static-text"
	picture = "test://static-binary"
)

func main() {
	err := capsule.Serve(context.Background(), capsule.Capsule{
		Describe: func(context.Context, capsule.Caller) ([]capsule.Resource, error) {
			return []capsule.Resource{{URI: text, Name: "text"}, {URI: picture, Name: "picture"}}, nil
		},
		Read: func(_ context.Context, _ capsule.Caller, uri string) ([]capsule.Content, error) {
			switch uri {
			case text:
				return []capsule.Content{capsule.Text(uri, "text/plain", "A text that stays as it is.")}, nil
			case picture:
				return []capsule.Content{capsule.Blob(uri, "image/png", []byte("\x89PNG\r\n\x1a\n"))}, nil
			}
			rest, ok := strings.CutPrefix(uri, "test://template/")
			which, whole := strings.CutSuffix(rest, "/data")
			if !ok || !whole {
				return nil, capsule.ErrNotMine
			}
			return []capsule.Content{capsule.Text(uri, "application/json", fmt.Sprintf(`{"id":%q}`, which))}, nil
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
