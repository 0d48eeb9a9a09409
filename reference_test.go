package steward_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	bounds "github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

var update = flag.Bool("update", false, "write the generated pages of docs/reference anew")

// pages are the pages that are made from the tables in code, so that no list is
// typed twice.
var pages = map[string]func() string{
	"codes.md":   codesPage,
	"bounds.md":  boundsPage,
	"methods.md": methodsPage,
	"proof.md":   proofPage,

	"sessions.md":          sessionsPage,
	"sessions.schema.json": sessionsSchema,
}

func TestGeneratedPagesAreFresh(t *testing.T) {
	for name, page := range pages {
		path := filepath.Join("docs", "reference", name)
		want := page()
		if strings.HasSuffix(name, ".md") {
			want = "<!-- Made from the tables in code by `make generate`. -->\n\n" + want
		}
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s is not what the tables say (%v); run make generate", path, err)
		}
	}
}

func codesPage() string {
	var b strings.Builder
	b.WriteString("# Codes\n\nWhat every door answers where it does not answer `ok`. `retry` says what a caller may do: `never`; `same_tx`, the same request under the\n" +
		"same tx; `new_tx`, a corrected request; `after_reconcile`, nothing before the owner has said what happened.\n\n" +
		"| code | HTTP | JSON-RPC | retry | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range fault.Rows() {
		fmt.Fprintf(&b, "| `%s` | %d | %d | %s | %s |\n", r.Code, r.HTTP, r.RPC, r.Retry, r.Meaning)
	}
	return b.String()
}

func boundsPage() string {
	var b strings.Builder
	b.WriteString("# Bounds\n\nThe largest value that is still accepted, the code of what exceeds it, where the number comes from, and the package that holds it.\n\n" +
		"| bound | most | unit | code | from | held by |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range bounds.Rows() {
		fmt.Fprintf(&b, "| `%s` | %d | %s | `%s` | %s | %s |\n", r.Key, r.Max, r.Unit, r.Code, r.Source, r.Floor)
	}
	return b.String()
}

func methodsPage() string {
	var b strings.Builder
	b.WriteString("# Methods of our own wires\n\n## For apps: HTTP with a bearer token\n\n| path | may execute | request | answer |\n| --- | --- | --- | --- |\n")
	fmt.Fprintf(&b, "| `POST %s` | %v | `rpcwire.Request` | `rpcwire.Response` |\n", rpcwire.Call.Path, rpcwire.Call.Changes)
	fmt.Fprintf(&b, "| `POST %s` | %v | `rpcwire.LookupRequest` | `rpcwire.Response` |\n", rpcwire.Lookup.Path, rpcwire.Lookup.Changes)
	b.WriteString("\n## For the owner: the Unix socket of a running host\n\n| method | changes | request | reply |\n| --- | --- | --- | --- |\n")
	for _, r := range adminwire.Rows() {
		fmt.Fprintf(&b, "| `%s` | %v | %s | %s |\n", r.Name, r.Changes, members(r.Request), members(r.Reply))
	}
	return b.String()
}

// members names the members of a message as they stand on the wire.
func members(message any) string {
	t := reflect.TypeOf(message)
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, "`"+name+"`")
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, " ")
}
