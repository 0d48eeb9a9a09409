package capsulefile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/capsulefile"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
)

const good = `name = "notes"
version = "1.0.0"
publisher = "acme"
runtime = "process"
command = ["./notes", "--quiet"]

[publish]
"resource.v1.response.describe.*" = {}
"resource.v1.response.read.*" = {}

[subscribe]
"resource.v1.request.describe" = { handler = "describe" }
"resource.v1.request.read" = { handler = "read" }

[resources]
families = ["notes:"]

[bounds]
calls = 4
`

func TestAWholeManifestIsRead(t *testing.T) {
	f, err := capsulefile.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "notes" || f.Version != "1.0.0" || f.Publisher != "acme" || len(f.Command) != 2 || len(f.Families) != 1 || f.Bounds != (capsulefile.Bounds{Time: capsulefile.Widest().Time, Call: capsulefile.Widest().Call, Calls: 4, Payload: 1 << 20}) ||
		!f.Claim.Serves(topic.DescribeRequest) || !f.Claim.Serves(topic.ReadRequest) {
		t.Errorf("%+v", f)
	}
}

// BF9, BF14 to BF16: what could never work is refused at once, and the refusal
// says what would be right.
func TestARefusalSaysWhatWouldBeRight(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", `version =`, `release =`, "release"},
		{"unknown table", `[resources]`, `[resource]`, "resource"},
		{"wrong type", `"1.0.0"`, `1`, "2| version = 1"},
		{"syntax", `name = "notes"`, `name = notes`, "name = notes"},
		{"no name", `"notes"`, `""`, `name = "notes"`},
		{"bad name", `"notes"`, `"My Notes"`, "a-z, 0-9 and -"},
		{"bad version", `"1.0.0"`, `""`, "version is needed"},
		{"runtime", `"process"`, `"docker"`, `runtime = "process"`},
		{"a module with a command", `"process"`, `"wasm"`, `module = "./notes.wasm"`},
		{"a program with a module", `runtime =`, "module = \"./a.wasm\"\nruntime =", `runtime = "wasm"`},
		{"no command", `["./notes", "--quiet"]`, `[]`, "command is needed"},
		{"other topic taken", `"resource.v1.request.read" =`, `"resource.v1.*.read" =`, "is not delivered"},
		{"wrong handler", `{ handler = "read" }`, `{ handler = "open" }`, `{ handler = "read" }`},
		{"answer cannot be published", `"resource.v1.response.read.*" = {}`, ``, `add "resource.v1.response.read.*" = {}`},
		{"another's answer", `"resource.v1.response.read.*" = {}`, "\"resource.v1.response.read.*\" = {}\n\"resource.v1.response.describe.x\" = {}", "nobody hears"},
		{"nothing listed", `"resource.v1.request.describe" = { handler = "describe" }`, ``, `add "resource.v1.request.describe"`},
		{"listed and never read", `"resource.v1.request.read" = { handler = "read" }`, ``, `add "resource.v1.request.read"`},
		{"every URI", `"notes:"`, `""`, "scheme"},
		{"no calls", `calls = 4`, `calls = 0`, "[bounds]: calls is a number from 1 to 64"},
		{"more calls than the host's", `calls = 4`, `calls = 65`, "1 to 64"},
		{"more time than the host's", `calls = 4`, `time_ms = 9501`, "1 to 9500"},
		{"more bytes than the host's", `calls = 4`, `payload_bytes = 1048577`, "1 to 1048576"},
		{"a bound that is none", `calls = 4`, `memory = 4`, "memory"},
		{"climbing family", `"notes:"`, `"notes:/../"`, ".."},
	} {
		raw := strings.Replace(good, c.old, c.new, 1)
		_, err := capsulefile.Parse([]byte(raw))
		if err == nil || raw == good || !strings.Contains(fault.From(err).Text, c.want) || !strings.HasPrefix(fault.From(err).Text, "Capsule.toml") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	tools := func(publish, subscribe string) string {
		head, _, _ := strings.Cut(good, "[publish]")
		return head + "[publish]\n" + publish + "\n[subscribe]\n" + subscribe + "\n"
	}
	const offers, takes = `"tool.v1.response.describe.*" = {}`, `"tool.v1.request.describe" = { handler = "tools" }`
	const answers, calls = `"tool.v1.response.execute.*" = {}`, `"tool.v1.execute.*" = { handler = "execute" }`
	for _, c := range []struct{ publish, subscribe, want string }{
		{offers + "\n" + answers, takes + "\n" + calls, ""},
		{offers, takes, `add "tool.v1.execute.*" = { handler = "execute" }`},
		{answers, calls, `add "tool.v1.request.describe" = { handler = "tools" }`},
		{offers, takes + "\n" + calls, `add "tool.v1.response.execute.*" = {}`},
		{offers + "\n" + answers, takes + "\n" + strings.Replace(calls, "*", "add", 1), "is not delivered"},
	} {
		f, err := capsulefile.Parse([]byte(tools(c.publish, c.subscribe)))
		if c.want == "" && (err != nil || !f.Claim.Serves(topic.ToolsRequest) || f.Claim.Serves(topic.DescribeRequest)) || c.want != "" && (err == nil || !strings.Contains(fault.From(err).Text, c.want)) {
			t.Errorf("%s | %s: %v", c.publish, c.subscribe, err)
		}
	}
	toolsAlone := tools(offers+"\n"+answers, takes+"\n"+calls) + "[resources]\nfamilies = [\"notes:\"]\n"
	if _, err := capsulefile.Parse([]byte(toolsAlone)); err == nil || !strings.Contains(fault.From(err).Text, "[resources]") {
		t.Errorf("families of a capsule without resources: %v", err)
	}
	module := strings.Replace(strings.Replace(good, `command = ["./notes", "--quiet"]`, `module = "MODULE"`, 1), `"process"`, `"wasm"`, 1)
	for path, ok := range map[string]bool{"./notes.wasm": true, "build/notes.wasm": true, "": false, "../notes.wasm": false, "/notes.wasm": false} {
		f, err := capsulefile.Parse([]byte(strings.Replace(module, "MODULE", path, 1)))
		if (err == nil) != ok || ok && f.Module != path || !ok && !strings.Contains(fault.From(err).Text, "module is needed") {
			t.Errorf("the module %q: %v", path, err)
		}
	}
	server := "name = \"docs\"\nversion = \"1\"\nruntime = \"mcp\"\ncommand = [\"npx\", \"docs\"]\n"
	if f, err := capsulefile.Parse([]byte(server)); err != nil || !f.Claim.Serves(topic.ReadRequest) || len(f.Claim.Publish) != 2 {
		t.Errorf("an MCP server: %+v, %v", f, err)
	}
	if _, err := capsulefile.Parse([]byte(server + "[publish]\n\"a.b\" = {}\n")); err == nil {
		t.Error("an MCP server with topics passes")
	}
	if _, err := capsulefile.Parse([]byte(good + "#" + strings.Repeat("x", 64<<10))); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a file of 64 KiB and more: %v", err)
	}
}

// The manifest that authors read is one that is taken.
func TestTheManifestOfTheAuthorsPageIsTaken(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/capsules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```toml\n")
	manifest, _, _ := strings.Cut(rest, "```")
	f, err := capsulefile.Parse([]byte(manifest))
	if err != nil || f.Name != "shopping" || !f.Claim.Serves(topic.ToolsRequest) || len(f.Families) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`name = "a"`))
	f.Add([]byte("name = \"a\"\nversion = \"1\"\nruntime = \"process\"\ncommand = [\"./a\"]\n")) // it answers nothing
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := capsulefile.Parse(raw)
		if err != nil {
			if got.Name != "" || fault.From(err).Code == fault.Internal {
				t.Errorf("a refused file gives %+v, %v", got, err)
			}
			return
		}
		if !got.Claim.Serves(topic.DescribeRequest) && !got.Claim.Serves(topic.ToolsRequest) || (len(got.Command) == 0) != (got.Runtime == capsulefile.WASM) || (got.Module != "") != (got.Runtime == capsulefile.WASM) {
			t.Errorf("accepted %+v", got)
		}
	})
}
