package mcpupstream

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// FF41: all pages, in order, each definition as it was sent.
func TestListReadsEveryPage(t *testing.T) {
	t.Parallel()
	r := onProcess(t, "seven pages")
	got, err := r.List(t.Context())
	want := Listing{Server: "scripted", Version: "7", Protocol: "2025-11-25", Instructions: "Be kind."}
	for i := range 21 {
		want.Tools = append(want.Tools, RawTool{Name: fmt.Sprintf("tool-%d", i), Raw: fmt.Appendf(nil, `{"name":"tool-%d", "description":""}`, i)})
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if n := r.count("tools/list"); n != 7 {
		t.Errorf("%d pages were asked for", n)
	}
}

// FF63: a large listing goes through a real pipe in one piece.
func TestLargeListing(t *testing.T) {
	t.Parallel()
	r := onProcess(t, "two MiB listing")
	began := time.Now()
	got, err := r.List(t.Context())
	if err != nil || len(got.Tools) != 40 || len(got.Tools[39].Raw) < 50<<10 || time.Since(began) > slack {
		t.Errorf("%d tools, %v, in %v", len(got.Tools), err, time.Since(began))
	}
}

// FF43: over a bound there is no listing, and a fault that names the bound.
func TestListGivesAllOrAFault(t *testing.T) {
	page := func(text string) script {
		return script{list: func(u *upstream, m request) int { return u.result(m, text) }}
	}
	tool := func(size int) string {
		const frame = `{"name":"big","description":""}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("d", size-len(frame))+`"`, 1)
	}
	for _, c := range []struct {
		name   string
		script script
		tools  int
		want   refusal
	}{
		{"none", page(`{"tools":[]}`), 0, refusal{}},
		{"an empty cursor", page(`{"tools":[{"name":"a"}],"nextCursor":""}`), 1, refusal{}},
		{"no cursor", page(`{"tools":[{"name":"a"}],"nextCursor":null}`), 1, refusal{}},
		{"complete", page(`{"tools":[{"name":"a"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`), 1, refusal{}},
		{"most tools", script{list: pages(1, bound.ListingTools.Int())}, 512, refusal{}},
		{"one tool more", script{list: pages(1, bound.ListingTools.Int()+1)}, 0, refusal{fault.TooLarge, "listing_tools is limited to 512", nil}},
		{"one tool more, over pages", script{list: pages(27, 19)}, 0, refusal{fault.TooLarge, "listing_tools is limited to 512", nil}},
		{"most pages", script{list: pages(bound.ListingPages.Int(), 4)}, 512, refusal{}},
		{"one page more", script{list: pages(bound.ListingPages.Int()+1, 1)}, 0, refusal{fault.TooLarge, "listing_pages is limited to 128", nil}},
		{"largest tool", page(`{"tools":[` + tool(bound.ToolBytes.Int()) + `]}`), 1, refusal{}},
		{"tool one over", page(`{"tools":[` + tool(bound.ToolBytes.Int()+1) + `]}`), 1, refusal{}},
		{"bytes over, one page", script{list: pages(1, 90, 50<<10)}, 0, refusal{fault.TooLarge, "tools/list: listing_bytes is limited to 4194304 bytes", nil}},
		{"bytes over, pages", script{list: pages(9, 10, 50<<10)}, 0, refusal{fault.TooLarge, "listing_bytes is limited to 4194304 bytes", nil}},
		{"a line over its bound", script{list: pages(1, 200, 50<<10)}, 0, refusal{fault.TooLarge, "tools/list: listing_bytes is limited to 4194304 bytes", nil}},
		{"two of one name", page(`{"tools":[{"name":"a"},{"name":"\u0061"}]}`), 0, refusal{fault.UpstreamFailed, `tools/list: "a" has two definitions`, nil}},
		{"the same one twice", page(`{"tools":[{"name":"a"},{"name":"b"}, {"name":"a"}]}`), 2, refusal{}},
		{"the same page for ever", page(`{"tools":[],"nextCursor":"x"}`), 0, refusal{fault.TooLarge, "listing_pages is limited to 128", nil}},
		{"no name", page(`{"tools":[{"title":"a"}]}`), 1, refusal{}},
		{"a name that is none", page(`{"tools":[{"name":7}]}`), 1, refusal{}},
		{"no list", page(`{}`), 0, refusal{fault.UpstreamFailed, "tools/list: the answer has no list of tools", nil}},
		{"not an object", page(`[]`), 0, refusal{fault.UpstreamFailed, "tools/list: the answer is not an object", nil}},
		{"a number for a cursor", page(`{"tools":[],"nextCursor":1}`), 0, refusal{fault.UpstreamFailed, "tools/list: the cursor is not a text", nil}},
		{"another result type", page(`{"tools":[],"resultType":"input_required"}`), 0, refusal{fault.UpstreamFailed, `tools/list: result type "input_required"`, nil}},
		{"a name twice", page(`{"tools":[{"name":"a","name":"b"}]}`), 0, refusal{fault.UpstreamFailed, "tools/list: a member name stands twice in one object", nil}},
		{"refused", script{list: func(u *upstream, m request) int { return u.error(m, `{"code":-32601,"message":"no"}`) }}, 0,
			refusal{fault.UpstreamFailed, "tools/list: -32601: no", nil}},
		{"no answer", script{list: func(*upstream, request) int { return goOn }}, 0, refusal{fault.Unavailable, "tools/list: no answer in time", nil}},
		{"the upstream ends", script{list: func(*upstream, request) int { return 3 }}, 0, refusal{fault.Unavailable, "tools/list: exit code 3", nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, c.script)
				got, err := r.List(t.Context())
				demandRefusal(t, "list", err, c.want)
				if len(got.Tools) != c.tools {
					t.Errorf("%d tools, want %d", len(got.Tools), c.tools)
				}
				if (c.want.Text == "tools/list: exit code 3") == r.Ready() {
					t.Errorf("ready is %v", r.Ready())
				}
				r.Close()
			})
		})
	}
}
