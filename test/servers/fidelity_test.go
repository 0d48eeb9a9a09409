//go:build npm

package servers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

var modelName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Field faults, FF1 and FF2: two servers with tools of the same names.
func TestTwoServersWithTheSameTools(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("reader")
	dirs, tools := map[string]string{}, map[string]string{}
	for _, name := range []string{"one", "two"} {
		dirs[name] = t.TempDir()
		if err := os.WriteFile(filepath.Join(dirs[name], "name.txt"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		h.Import(h.Config(map[string]hosttest.Server{name: npmServer(t, "filesystem", nil, dirs[name]).Server}))
		h.Approve(name, map[string]string{"read_text_file": "read"})
		h.Do("grants", "add", app.Name, name, "read_text_file")
		for _, g := range app.Grants() {
			if g.Resource == name {
				tools[name] = g.Tool
			}
		}
	}
	check := func() {
		t.Helper()
		if got := listModern(t, app); len(got) != 2 || tools["one"] == tools["two"] {
			t.Errorf("the list is %v, the tools %v", got, tools)
		}
		for name, tool := range tools {
			if !modelName.MatchString(tool) {
				t.Errorf("%q is no name for models", tool)
			}
			own, other := filepath.Join(dirs[name], "name.txt"), filepath.Join(dirs[map[string]string{"one": "two", "two": "one"}[name]], "name.txt")
			if got := modern(t, app, tool, map[string]any{"path": own}); got.IsError() || got.Text() != name {
				t.Errorf("%s: %s", name, got.Raw)
			}
			if got := modern(t, app, tool, map[string]any{"path": other}); !got.IsError() {
				t.Errorf("%s reached the other server: %s", name, got.Raw)
			}
		}
	}
	check()
	h.Restart()
	check()
}

// Field faults, FF15, FF16 and FF20: numbers, absent arguments and large results.
func TestArgumentsAndResultsAreNeverAltered(t *testing.T) {
	h := hosttest.Start(t)
	h.Import(h.Config(map[string]hosttest.Server{"outside": npmServer(t, "everything", nil).Server}))
	h.Approve("outside", map[string]string{"echo": "read", "get-sum": "compute", "get-tiny-image": "read"})
	app := h.AddApp("exact")
	tools := app.Grant("outside", "echo", "get-sum", "get-tiny-image")

	call := func(t *testing.T, method, arguments string) hosttest.Reply {
		t.Helper()
		params := map[string]any{"name": tools[method]}
		if arguments != "" {
			params["arguments"] = strictjson.Raw(arguments)
		}
		got, err := app.Modern("tools/call", tools[method], params)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, c := range []struct{ name, method, arguments, want string }{
		{"text with everything in it", "echo", `{"message":"<b>&amp; \u0000 \u2028 \ud83d\ude00 \"quoted\""}`, "Echo: <b>&amp; \x00 \u2028 \U0001f600 \"quoted\""},
		{"a long text", "echo", `{"message":"` + strings.Repeat("0123456789abcdef", 200) + `"}`, "Echo: " + strings.Repeat("0123456789abcdef", 200)},
		{"the largest safe integers", "get-sum", `{"a":9007199254740991,"b":0}`, "The sum of 9007199254740991 and 0 is 9007199254740991."},
		{"a fraction", "get-sum", `{"a":0.1,"b":0}`, "The sum of 0.1 and 0 is 0.1."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := call(t, c.method, c.arguments); got.IsError() || got.Text() != c.want {
				t.Errorf("got %s", got.Raw)
			}
		})
	}
	t.Run("absent arguments are none", func(t *testing.T) {
		if got := call(t, "get-tiny-image", ""); got.IsError() || !strings.Contains(got.Raw, `"type":"image"`) {
			t.Errorf("got %s", got.Raw)
		}
	})
	before := states(t, h)
	for _, c := range []struct{ name, method, arguments string }{
		{"an integer that doubles cannot hold", "get-sum", `{"a":9007199254740993,"b":0}`},
		{"a number that nothing can hold", "get-sum", `{"a":1e400,"b":0}`},
		{"arguments that are null", "get-tiny-image", `null`},
		{"arguments that are a list", "get-tiny-image", `[]`},
		{"an argument too many", "echo", `{"message":"","more":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := call(t, c.method, c.arguments)
			if code, _ := got.Error.Get("code"); code.Text != "-32602" {
				t.Errorf("got %s", got.Raw)
			}
		})
	}
	if diff := cmp.Diff(before, states(t, h)); diff != "" {
		t.Errorf("refused arguments reached the journal's calls (-before +after):\n%s", diff)
	}
}

// Field faults, FF20: a large result is whole or is said to be too large.
func TestLargeResultsAreWholeOrRefused(t *testing.T) {
	dir := t.TempDir()
	h := hosttest.Start(t)
	h.Import(h.Config(map[string]hosttest.Server{"files": npmServer(t, "filesystem", nil, dir).Server}))
	h.Approve("files", map[string]string{"read_text_file": "read"})
	review := h.Review("files")
	app := h.AddApp("reader")
	tool := app.Grant("files", "read_text_file")["read_text_file"]
	write := func(name string, size int) (path, text string) {
		path, text = filepath.Join(dir, name), strings.Repeat("A line of a large file.\n", size/24)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path, text
	}

	// The server tells each text twice, as content and as structured content.
	path, text := write("fits", bound.ResultBytes.Int()*2/5)
	if got := modern(t, app, tool, map[string]any{"path": path}); got.IsError() || got.Text() != text {
		t.Errorf("%d bytes came as %d: %.200s", len(text), len(got.Text()), got.Raw)
	}
	path, _ = write("does-not", 2*bound.ResultBytes.Int())
	tx := newTx()
	got := send(t, app, review, tx, "read_text_file", map[string]any{"path": path})
	if got.Status != rpcwire.Indeterminate || got.Result != nil || got.Effects != rpcwire.Uncertain {
		t.Errorf("a result that is too large came as %.300v", got)
	}
	var row adminwire.Invocation
	h.JSON(&row, "journal", "show", tx)
	if row.Reason != "result_too_large" {
		t.Errorf("the journal says %+v", row)
	}
	path, text = write("small", 240)
	if got := modern(t, app, tool, map[string]any{"path": path}); got.IsError() || got.Text() != text {
		t.Errorf("after it: %s", got.Raw)
	}
}
