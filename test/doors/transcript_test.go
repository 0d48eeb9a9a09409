package doors_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

var update = flag.Bool("update", false, "write what the doors say into the transcripts")

// A transcript tells one behaviour. It starts with a host that has imported the
// server "notes" ({{res notes}}, {{url notes}}), approved its tools, and given the
// app "reader" ({{cli reader}}, {{token reader}}, {{token readermcp}}) the methods
// read_note, send_note and write_note. Its sections are:
//
//	rpc TOKEN       a body for /rpc/v1 under {{token TOKEN}}
//	lookup TOKEN    a body for /rpc/v1/tx
//	admin METHOD    a body for the admin socket
//	reply           what came back: the status and the body, byte for byte
//	upstream        the next events, one a line: a kind and its result
//	upstream down   it cannot be started any more; up ends that
//	upstream tool   the definition of the tool of that name from now on
//	asked           what the upstream was asked so far
//	restart         the process ends and another one starts
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(raw)
			if len(bytes.TrimSpace(archive.Comment)) == 0 {
				t.Error("the transcript does not say why it is here")
			}
			play(t, archive)
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play runs a transcript and compares each reply, or writes it into the archive.
func play(t *testing.T, archive *txtar.Archive) {
	t.Helper()
	h, n := newHouse(t), newNames()
	review := h.notes()
	client, tokens := h.app("reader", "read_note", "send_note", "write_note")
	n.set("res notes", review.Resource.ID)
	n.set("url notes", review.Methods[0].Contract)
	n.set("cli reader", client)
	n.set("token reader", tokens["rpc"])
	n.set("token readermcp", tokens["mcp"])
	last := ""
	for i, section := range archive.Files {
		body := strings.TrimSpace(string(section.Data))
		verb, object, _ := strings.Cut(section.Name, " ")
		want := body + "\n"
		switch verb {
		case "rpc":
			last = n.hide(said(h.rpc(rpcwire.Call.Path, n.values["token "+object], n.fill(t, body))))
		case "lookup":
			last = n.hide(said(h.rpc(rpcwire.Lookup.Path, n.values["token "+object], n.fill(t, body))))
		case "admin":
			last = n.hide(indented(t, said(h.raw(object, n.fill(t, body)))))
		case "upstream":
			script(t, h.up, object, body)
		case "restart":
			h.restart()
		case "asked":
			last = strings.Join(h.up.calls(), "\n") + "\n"
			fallthrough
		case "reply":
			if *update {
				archive.Files[i].Data = []byte(last)
			} else if diff := cmp.Diff(want, last); diff != "" {
				t.Errorf("section %d, %s: %s", i, section.Name, diff)
			}
		default:
			t.Fatalf("section %q means nothing", section.Name)
		}
	}
}

func said(status int, body string) string { return fmt.Sprintf("%d\n%s\n", status, body) }

func indented(t *testing.T, text string) string {
	t.Helper()
	status, body, _ := strings.Cut(text, "\n")
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(strings.TrimSpace(body)), "", " "); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return status + "\n" + out.String() + "\n"
}

func script(t *testing.T, u *upstream, object, body string) {
	t.Helper()
	u.set(func(u *upstream) {
		switch object {
		case "down":
			u.down, u.ready = true, false
		case "up":
			u.down = false
		case "tool":
			for i, tool := range u.tools {
				if strings.Contains(body, `"name":"`+tool.Name+`"`) {
					u.tools[i].Raw = []byte(body)
				}
			}
		default:
			for line := range strings.Lines(body) {
				kind, result, _ := strings.Cut(strings.TrimSpace(line), " ")
				ev := invocation.Event{Kind: invocation.EventKind(kind)}
				if result != "" {
					ev.Result = []byte(result)
				}
				u.events = append(u.events, ev)
			}
		}
	})
}
