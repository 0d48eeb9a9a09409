package sessiondoor

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

const echoSource = `{"input_schema":{"type":"object","additionalProperties":false,"properties":{"canaryin":{"type":"string","maxLength":99}},"required":["canaryin"]},` +
	`"output_schema":{"type":"object","additionalProperties":false,"properties":{"out":{"type":"string","maxLength":99}},"required":["out"]}}`

// Bodies, paths, schemas, arguments, results, grants and proofs are told to who
// needs them and nowhere else: not in lists, manifests, evidence, snapshots, replays,
// lookups or logs.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		defer slog.SetDefault(before)
		s := newStage(t)
		s.r.files["canarypath.md"] = "canarybody"
		s.r.files["echo"] = echoSource
		s.ready("a")
		s.quietly("a",
			`session.resources.register S C O=1 {"expected_revision":null,"resource":{"kind":"skill","name":"note","description":"","source":{"kind":"workspace_file","path":"canarypath.md"}}}`,
			`session.resources.register S C O=2 {"expected_revision":null,"resource":{"kind":"tool","name":"echo","description":"","source":{"kind":"inline","content":{{echo}}}}}`,
			`session.resources.list S C {}`, `executor.create O=3 {}`, `executor.confirm O=4 {{{proof}}}`, `executor.rotate O=5 {{{executor}}}`)
		a := s.peers["a"]
		s.answer("a", fmt.Sprintf(strings.Replace(start, "O=turn", "O=6", 1), `both c1 echo {"canaryin":"canaryargument"}`+"\nhold"))
		s.answer("a", `turn.application_tool_result S O=7 {{{binding}},"outcome":{"status":"success","value":{"out":"canaryresult"}}}`)
		canaries := map[string]string{
			"a body": "canarybody", "a path": "canarypath", "a schema": "canaryin", "arguments": "canaryargument", "a result": "canaryresult",
			"the grant": a.grant, "a proof": a.proof, "a candidate": s.values["<proof.2>"],
		}
		asked := []string{
			`session.resources.list S C {}`, `turn.application_evidence S C {"turn_id":"<turn.1>"}`, `session.replay S {"after":"2"}`,
			`session.active {}`, `session.list {}`, `status {}`, `session.claim S O=8 {"mode":"takeover"}`,
		}
		for o := range 9 {
			asked = append(asked, fmt.Sprintf(`operation.lookup {"operation_id":"%d"}`, o))
		}
		for _, line := range asked {
			got := s.answer("a", line)
			if !strings.HasPrefix(got, "{") {
				t.Errorf("%s: %s", line, got)
			}
			for what, canary := range canaries {
				if strings.Contains(got, canary) {
					t.Errorf("%s tells %s: %s", line, what, got)
				}
			}
		}
		s.dials("b")
		if got := s.answer("b", `executor.resume O=9 {{{proof.a}}}`); strings.Contains(got, "canary") || !strings.HasPrefix(got, "{") {
			t.Errorf("resume tells %s", got)
		}
		for what, canary := range canaries {
			if strings.Contains(log.String(), canary) {
				t.Errorf("the log tells %s", what)
			}
		}
		s.end()
	})
}
