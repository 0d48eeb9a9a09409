package capsules

// The files of a new capsule; NAME stands for its name.
const (
	manifest = `name = "NAME"
version = "0.1.0"
publisher = "me"
RUNTIME

[publish]
"resource.v1.response.describe.*" = {}
"resource.v1.response.read.*" = {}

[subscribe]
"resource.v1.request.describe" = { handler = "describe" }
"resource.v1.request.read" = { handler = "read" }
`

	program = `// Command NAME is a capsule of steward: it serves one resource.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/stewardhost/steward/capsule"
)

const hello = "NAME:hello"

func main() {
	err := capsule.Serve(context.Background(), capsule.Capsule{Describe: describe, Read: read})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func describe(context.Context, capsule.Caller) ([]capsule.Resource, error) {
	return []capsule.Resource{{URI: hello, Name: "Hello"}}, nil
}

func read(_ context.Context, who capsule.Caller, uri string) ([]capsule.Content, error) {
	if uri != hello {
		return nil, capsule.ErrNotMine // another capsule may serve it
	}
	return []capsule.Content{capsule.Text(uri, "text/plain", "It is "+time.Now().Format(time.TimeOnly)+".")}, nil
}
`
)
