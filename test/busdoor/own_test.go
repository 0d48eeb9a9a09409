package busdoor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// shellCapsule makes the folder of a capsule that is a few lines of shell: it lists the URIs and
// answers a read of each with its own name, but for one that ends in wait, which it
// answers to nobody. A read that is called off it notes on its log.
func shellCapsule(t *testing.T, name string, uris ...string) string {
	t.Helper()
	var listed, reads strings.Builder
	for i, uri := range uris {
		fmt.Fprintf(&listed, `%s{"uri":"%s","name":"%s"}`, [...]string{"", ","}[min(i, 1)], uri, name)
		answer := fmt.Sprintf(`echo '{"type":"reply","id":"'"$id"'","payload":{"uri":"%s","contents":[{"text":{"uri":"%s","text":"%s"}}]}}'`, uri, uri, name)
		if strings.HasSuffix(uri, "wait") {
			answer = "echo asked >&2"
		}
		fmt.Fprintf(&reads, "\t*'\"uri\":\"%s\"'*) %s ;;\n", uri, answer)
	}
	return shellFolder(t, name, `	*'"type":"cancel"'*) echo called off >&2 ;;
	*request.describe*) echo '{"type":"reply","id":"'"$id"'","payload":{"resources":[`+listed.String()+`]}}' ;;
`+reads.String()+`	*) echo '{"type":"silent","id":"'"$id"'"}' ;;
`)
}

// shellFolder makes the folder of a capsule of resources that is a few lines of shell:
// cases are what it does with a line, whose id is $id.
func shellFolder(t *testing.T, name, cases string) string {
	t.Helper()
	dir := folder(t, map[string]string{
		"Capsule.toml": `name = "` + name + `"
version = "1"
publisher = "me"
runtime = "process"
command = ["./run"]
[publish]
"resource.v1.response.describe.*" = {}
"resource.v1.response.read.*" = {}
[subscribe]
"resource.v1.request.describe" = { handler = "describe" }
"resource.v1.request.read" = { handler = "read" }
`,
		"run": `#!/bin/sh
read -r hello
echo '{"type":"ready"}'
while read -r line; do
	id=$(printf %s "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
	case $line in
` + cases + `	esac
done
`})
	if err := os.Chmod(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, s *mcp.ClientSession, uri string) (string, error) {
	t.Helper()
	got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return got.Contents[0].Text, nil
}

// A72, I82: a newcomer that serves what an elder serves takes nothing, however often
// the host starts again and also where the elder has a new build; the owner is told.
func TestASquatterNeverWins(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	elder := shellCapsule(t, "zeal", "n:1")
	h.Do("capsule", "install", elder)
	h.Do("capsule", "install", shellCapsule(t, "apex", "n:1", "n:2"))
	for _, name := range []string{"zeal", "apex"} {
		h.Do("grants", "add", "reader", name, "read")
	}
	restarts := figure.Of(t, 2, 20, 20)
	for i := range restarts + 1 {
		s := reader.Session(nil)
		wantListed(t, s, "n:1 n:2")
		if got, err := read(t, s, "n:1"); err != nil || got != "zeal" {
			t.Fatalf("after %d restarts it is read from %q, %v", i, got, err)
		}
		var now adminwire.Status
		if h.JSON(&now, "status"); len(now.Alarms) != 1 || now.Alarms[0].Kind != "shared_uri" || !strings.Contains(now.Alarms[0].Text, "n:1 is listed by the capsules zeal and apex") {
			t.Errorf("the alarms are %+v", now.Alarms)
		}
		if i == 0 {
			h.Do("capsule", "install", elder)
			continue
		}
		h.Restart()
	}
	figure.Tell(t, "A72", "%d restarts and a new build of the elder: the same capsule is read each time", restarts)
	h.Do("capsule", "remove", "apex")
	wantListed(t, reader.Session(nil), "n:1")
	var now adminwire.Status
	if h.JSON(&now, "status"); len(now.Alarms) != 0 {
		t.Errorf("afterwards the alarms are %+v", now.Alarms)
	}
	h.Do("journal", "verify")
}

// A client that gives up in the middle of a read ends the capsule's work, in both eras.
func TestAClientThatGivesUpEndsTheCapsulesWork(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	h.Do("capsule", "install", shellCapsule(t, "slow", "n:wait", "n:1"))
	h.Do("grants", "add", "reader", "slow", "read")
	count := func(word string) int { return strings.Count(h.Do("capsule", "logs", "slow"), word) }
	for i, give := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := reader.Session(nil).ReadResource(ctx, &mcp.ReadResourceParams{URI: "n:wait"})
			return err
		},
		func(ctx context.Context) error {
			o, raw := handshake(t, h, reader), make(chan string, 1)
			go func() { raw <- o.ask("resources/read", `{"uri":"n:wait"}`) }()
			<-ctx.Done()
			o.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
			if text := <-raw; strings.Contains(text, `"result"`) {
				return nil
			}
			return ctx.Err()
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- give(ctx) }()
		hosttest.WaitFor(t, "the capsule to be asked", func() error {
			if n := count("asked"); n != i+1 {
				return fmt.Errorf("asked %d times", n)
			}
			return nil
		})
		cancel()
		if err := <-over; err == nil {
			t.Error("a read that was given up has an answer")
		}
		hosttest.WaitFor(t, "the capsule to be told", func() error {
			if n := count("called off"); n != i+1 {
				return fmt.Errorf("called off %d times", n)
			}
			return nil
		})
	}
	if got, err := read(t, reader.Session(nil), "n:1"); err != nil || got != "slow" {
		t.Errorf("afterwards %q, %v", got, err)
	}
}

// The shipped capsule introspect shows what the owner gave and to whom; what it has not
// is not there, at once and not after the time of a read.
func TestAnAppReadsWhatItsOwnerGave(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	h.Do("capsule", "install", "introspect")
	h.Do("grants", "add", "reader", "introspect", "read", "--per-day", "9")
	s := reader.Session(nil)
	wantListed(t, s, "introspect:apps introspect:budgets introspect:calls introspect:capsules introspect:grants")
	for uri, want := range map[string]string{
		"introspect:apps": `"name":"reader"`, "introspect:budgets": `"method":"read","limit":{"per_day":9}`, "introspect:calls": `[]`,
		"introspect:capsules": `"name":"introspect"`, "introspect:grants": `"app":"reader","resource":"introspect","method":"read","state":"active"`,
	} {
		if got, err := read(t, s, uri); err != nil || !strings.Contains(got, want) || strings.Contains(got, reader.MCP) {
			t.Errorf("%s: %s, %v", uri, got, err)
		}
	}
	began := time.Now()
	if got, err := read(t, s, "introspect:tokens"); code(err) != -32602 {
		t.Errorf("what it has not: %q, %v after %v", got, err, time.Since(began))
	}
}
