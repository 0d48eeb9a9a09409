package mcpdoor

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/grant"
)

// BenchmarkList is tools/list of 500 methods from the store, as it was and after
// a change, over HTTP.
func BenchmarkList(b *testing.B) {
	r := newRig(b)
	a := r.app("first")
	var last *upstream
	for n := range 20 {
		var tools []string
		for i := range 25 {
			tools = append(tools, fmt.Sprintf("tool_%d_%d", n, i))
		}
		last = r.upstream(fmt.Sprintf("server%d", n), tools...)
		a.grant(last.resource, grant.Never, tools...)
	}
	list := func(b *testing.B) {
		resp := a.do(a.asking(modern, "", "tools/list", "", "", ""))
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || n < 100_000 {
			b.Fatal(resp.Status, n, err)
		}
	}
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list(b)
		}
	})
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			_, err := r.store.RevokeAll(b.Context(), r.owner, a.client, last.resource)
			r.must(err)
			a.grant(last.resource, grant.Never, "tool_19_0")
			b.StartTimer()
			list(b)
		}
	})
}

// BenchmarkCall is tools/call with the durable journal, over HTTP, to an
// upstream that answers at once.
func BenchmarkCall(b *testing.B) {
	r := newRig(b)
	a := r.app("first")
	tool := a.grant(r.upstream("notes", "add").resource, grant.Never, "add")["add"]
	for _, revision := range eras {
		session := a.session(revision)
		b.Run(revision, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := a.call(revision, session, tool, `{"n":1}`, ""); got.Result.IsError {
					b.Fatal(got.Raw)
				}
			}
		})
	}
}
