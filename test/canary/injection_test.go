package canary_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stewardhost/steward/test/hosttest"
)

// hostile are texts that would break a line or move a terminal, or make a line look
// like one of the host's own.
var hostile = []string{
	"a\nlevel=INFO msg=forged", "a\r\ntime=2026-01-01T00:00:00Z level=ERROR msg=forged", "\x1b[2J\x1b]0;title\x07", "\u009b31m", "\u202eforged",
	"a\u2028b\u2029c\u0085d", "nul\x00tab\tvt\vff\f", `"} {"level":"ERROR","msg":"forged"}`, "msg=forged level=ERROR", "\x7f\u200b\ufeff",
}

var ownLine = regexp.MustCompile(`^(time=\S+ level=(DEBUG|INFO|WARN|ERROR) msg=|failpoint |steward is up|  |next: )`)

// A77. Whatever clients and upstreams send, each line of the log is the host's own, and
// no character of it obeys to a terminal; the owner's commands print none either.
func TestNoTextBreaksALineOfTheLog(t *testing.T) {
	for form, args := range map[string][]string{"text": nil, "JSON": {"--log-json"}} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, strings.ReplaceAll(strings.Join(hostile, " "), "\x00", ""), args...)
			for i, text := range hostile {
				quoted, _ := json.Marshal(text)
				q := string(quoted)
				r.Post("/"+url.PathEscape(text), r.app.RPC, nil, nil)
				r.Post("/rpc/v1?"+url.QueryEscape(text), r.app.RPC, []byte(r.rpc("answers", `{"text":`+q+`}`, "")), nil)
				for _, member := range []string{"tx", "resource", "contract", "method", "ack", q[1 : len(q)-1]} {
					r.Post("/rpc/v1", r.app.RPC, []byte(fmt.Sprintf(`{"v":1,"%s":%s}`, member, q)), nil)
				}
				r.Post("/mcp", r.app.MCP, []byte(`{"jsonrpc":"2.0","id":`+q+`,"method":`+q+`,"params":{"name":`+q+`}}`), nil)
				if !strings.ContainsRune(text, 0) {
					r.Run("", "apps", "add", text)
					r.Run("", "resources", "show", text)
					r.Run("", "import", r.Config(map[string]hosttest.Server{fmt.Sprint("x", i): {Command: "/nowhere/" + text, Args: []string{text}}}))
				}
			}
			for _, way := range ways {
				more := ""
				if told[way] == 504 {
					more = `,"deadline_ms":500`
				}
				r.Post("/rpc/v1", r.app.RPC, []byte(r.rpc(way, `{"text":"x"}`, more)), nil)
			}
			for _, words := range [][]string{{"status"}, {"apps", "list"}, {"resources", "list"}, {"resources", "show", "sly"}, {"journal", "list"}} {
				plain(t, strings.Join(words, " "), r.Do(words...))
				plain(t, strings.Join(words, " ")+" --json", r.Do(append(words, "--json")...))
			}
			r.Stop()
			log := r.text()
			plain(t, "the log", log)
			lines := 0
			for line := range strings.Lines(log) {
				lines++
				if form == "text" && !ownLine.MatchString(line) || form == "JSON" && line[0] == '{' && !json.Valid([]byte(line)) {
					t.Errorf("no line of the host's: %q", line)
				}
				if strings.Contains(line, `"msg":"forged"`) || strings.HasPrefix(line, "level=") {
					t.Errorf("a forged line: %q", line)
				}
			}
			if lines < 10*len(hostile) {
				t.Errorf("only %d lines", lines)
			}
		})
	}
}

// plain wants nothing but printable characters, line ends and tabs.
func plain(t *testing.T, where, text string) {
	t.Helper()
	for i, c := range text {
		if c != '\n' && c != '\t' && !unicode.IsPrint(c) && c != ' ' || c == utf8.RuneError {
			t.Errorf("%s has %U: %q", where, c, text[max(0, i-60):min(len(text), i+20)])
			return
		}
	}
}
