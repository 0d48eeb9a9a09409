package upstreams_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/test/hosttest"
)

// What a result points to is read back by the app that it was given to: each server's
// own, though both use one URI, in both eras, over a restart, and only while the app
// may call something of that server (field faults, FF9).
func TestWhatAResultPointsToIsReadBack(t *testing.T) {
	t.Parallel()
	h := hosttest.Start(t)
	app, other := h.AddApp("app"), h.AddApp("other")
	one, two := server(t, closed("point", "Points.")), server(t, closed("point", "Points."))
	tools := map[*behind]string{one: one.use(h, app, "one", "point")["point"], two: two.use(h, app, "two", "point")["point"]}
	h.Do("grants", "add", "other", "one", "point")

	given := map[*behind][]string{}
	for up, tool := range tools {
		given[up] = pointed(t, app, tool)
		if diff := cmp.Diff(given[up], pointed(t, app, tool)); diff != "" {
			t.Errorf("another call points elsewhere: %s", diff)
		}
	}
	if given[one][0] == given[two][0] {
		t.Error("two servers have one address")
	}
	h.Restart()
	for up, addresses := range given {
		session := app.Session(nil)
		before, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: addresses[0]})
		if err != nil || len(before.Contents) != 2 || before.Contents[0].Text != up.folder || string(before.Contents[1].Blob) != "\x00\xff" ||
			before.Contents[0].URI != addresses[0] || !strings.HasSuffix(before.Contents[1].URI, "file:%2F%2F%2Fa%2F1") {
			t.Errorf("before 2026: %v %+v", err, before)
		}
		if got := reads(t, app, addresses[0]); !strings.Contains(got.Raw, `"mimeType":"text/plain","text":"`+up.folder+`"`) {
			t.Errorf("today: %s", got.Raw)
		}
		for name, got := range map[string]hosttest.Reply{"the server has none": reads(t, app, addresses[1]), "no address": reads(t, app, addresses[0]+"x"),
			"its own": reads(t, app, "file:///a"), "another app's": reads(t, other, addresses[0])} {
			if !strings.Contains(got.Raw, `"code":-32602`) {
				t.Errorf("%s: %s", name, got.Raw)
			}
		}
		if n := up.times("resources/read file:///a"); n != 2 {
			t.Errorf("the server was asked %d times", n)
		}
	}
	for _, g := range app.Grants() {
		if g.Resource == "one" {
			h.Do("grants", "revoke", g.ID)
		}
	}
	if got := reads(t, app, given[one][0]); !strings.Contains(got.Raw, `"code":-32602`) || one.times("resources/read file:///a") != 2 {
		t.Errorf("after the revocation: %s", got.Raw)
	}
	if got := reads(t, app, given[two][0]); !strings.Contains(got.Raw, two.folder) {
		t.Errorf("the other server: %s", got.Raw)
	}
}

func reads(t *testing.T, app *hosttest.App, uri string) hosttest.Reply {
	t.Helper()
	got, err := app.Modern("resources/read", uri, map[string]any{"uri": uri})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// pointed calls the tool and gives the addresses of its content, which leads to the
// web by its own.
func pointed(t *testing.T, app *hosttest.App, tool string) []string {
	t.Helper()
	got, err := app.Call(tool, map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Result struct {
			Content []struct {
				URI      string
				Resource struct{ URI, Text string }
			}
		}
	}
	if err := json.Unmarshal([]byte(got.Raw), &reply); err != nil || len(reply.Result.Content) != 3 {
		t.Fatalf("%v: %s", err, got.Raw)
	}
	c := reply.Result.Content
	if c[1].Resource.Text != "b" || c[2].URI != "https://there.invalid/" {
		t.Errorf("%s", got.Raw)
	}
	return []string{c[0].URI, c[1].Resource.URI}
}
