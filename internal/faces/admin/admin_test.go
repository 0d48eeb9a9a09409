package admin

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// bare is a door without services: a request that reaches one breaks it, so that
// a refusal shows that nothing was done.
func bare() *Door {
	log := slog.New(slog.DiscardHandler)
	return New(Host{}, Services{Importer: importer.New(nil, nil, log)}, log)
}

func post(d *Door, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

// failed decodes a failure and holds it to its row.
func failed(t *testing.T, w *httptest.ResponseRecorder) adminwire.Error {
	t.Helper()
	var f adminwire.Failure
	if err := strictjson.Decode(w.Body.Bytes(), strictjson.Limits{}, &f); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	row, ok := fault.Lookup(fault.Code(f.Error.Code))
	if !ok || f.Error.Retry != string(row.Retry) || w.Code != row.HTTP && w.Code != http.StatusMethodNotAllowed {
		t.Errorf("status %d and error %+v, want the row %+v", w.Code, f.Error, row)
	}
	return f.Error
}

func TestTableAndDoorHaveTheSameMethods(t *testing.T) {
	d := bare()
	seen := map[string]bool{}
	for _, row := range adminwire.Rows() {
		if d.methods[row.Name] == nil || seen[row.Name] {
			t.Errorf("%s: handled %v, named before %v", row.Name, d.methods[row.Name] != nil, seen[row.Name])
		}
		seen[row.Name] = true
		if _, err := strictjson.Encode(row.Reply); err != nil {
			t.Errorf("%s: %v", row.Name, err)
		}
	}
	if len(d.methods) != len(seen) {
		t.Errorf("the door has %d methods, the table %d", len(d.methods), len(seen))
	}
}

func TestBadRequestsChangeNothing(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		pointer    string
	}{
		{"nothing", "", 400, ""},
		{"no JSON", "{", 400, ""},
		{"a list", "[]", 400, ""},
		{"null", "null", 400, ""},
		{"two objects", "{}{}", 400, ""},
		{"a byte order mark", "\ufeff{}", 400, ""},
		{"an unknown member", `{"surprise":1}`, 400, "/surprise"},
		{"a name twice", `{"a":1,"a":1}`, 400, "/a"},
		{"one byte too many", "{}" + strings.Repeat(" ", bound.AdminBytes.Int()-1), 413, ""},
	}
	d := bare()
	for _, row := range adminwire.Rows() {
		for _, tt := range tests {
			w := post(d, adminwire.Prefix+row.Name, tt.body)
			pointer, _ := failed(t, w).Details["pointer"].(string)
			if w.Code != tt.status || pointer != tt.pointer {
				t.Errorf("%s, %s: status %d, pointer %q; want %d, %q", row.Name, tt.name, w.Code, pointer, tt.status, tt.pointer)
			}
		}
	}
}

func TestWrongMembersAreNamed(t *testing.T) {
	tests := []struct {
		method, body string
		pointer      string
	}{
		{"review.approve", `{"resource":"a","shown":"","methods":[]}`, "/shown"},
		{"review.approve", `{"resource":"a","shown":5,"methods":[]}`, "/shown"},
		{"grants.add", `{"app":"a","resource":"b","methods":["c"],"confirm":"sometimes"}`, "/confirm"},
		{"grants.add", `{"app":"a","resource":"b","methods":null}`, "/methods"},
		{"grants.add", `{"app":"a","resource":"b","methods":[],"expires_at":"tomorrow"}`, "/expires_at"},
		{"grants.revoke", `{}`, ""},
		{"grants.revoke", `{"grant":"grn_00000000000000000000000000","app":"a"}`, ""},
		{"grants.revoke", `{"app":"a"}`, ""},
		{"grants.revoke", `{"grant":"cnf_00000000000000000000000000"}`, "/grant"},
		{"confirm.approve", `{"confirmation":"1"}`, "/confirmation"},
		{"confirm.deny", `{}`, "/confirmation"},
		{"journal.list", `{"state":"lost"}`, "/state"},
		{"journal.list", `{"limit":-1}`, "/limit"},
		{"journal.list", `{"limit":` + strconv.Itoa(bound.PageRows.Int()+1) + `}`, "/limit"},
		{"call", `{"tx":"x","resource":"a","method":"b"}`, "/tx"},
		{"call", `{"tx":"tx_01kbabqzr0000000000000000t","resource":"a","method":"b","contract_digest":"x"}`, "/contract_digest"},
		{"call", `{"tx":"tx_01kbabqzr0000000000000000t","resource":"a","method":"b","ack":"x"}`, "/ack"},
		{"call", `{"tx":"tx_01kbabqzr0000000000000000t","resource":"a","method":"b","deadline_ms":30001}`, "/deadline_ms"},
		{"import.plan", `{"servers":[]}`, "/servers"},
		{"import.add", `{"servers":[]}`, "/servers"},
		{"import.add", `{"servers":[{"name":"a","command":"b","args":[],"env":{},"surprise":"c"}]}`, "/servers/0/surprise"},
	}
	d := bare()
	for _, tt := range tests {
		w := post(d, adminwire.Prefix+tt.method, tt.body)
		pointer, _ := failed(t, w).Details["pointer"].(string)
		if w.Code != 400 || pointer != tt.pointer {
			t.Errorf("%s %s: status %d, pointer %q; want 400, %q", tt.method, tt.body, w.Code, pointer, tt.pointer)
		}
	}
}

// Whatever strict JSON refuses is refused here too (threats, A25).
func TestSmuggledJSONIsRefused(t *testing.T) {
	file, err := os.ReadFile("../../ground/strictjson/testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	d, n := bare(), 0
	for line := range strings.Lines(string(file)) {
		_, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		doc, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if w := post(d, adminwire.CallMethod.Path(), doc); failed(t, w).Code != string(fault.InvalidRequest) {
			t.Errorf("%q: %s", doc, w.Body)
		}
		n++
	}
	if n < 200 {
		t.Errorf("only %d documents", n)
	}
}

func TestOnlyPostAndOnlyMethods(t *testing.T) {
	d := bare()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, adminwire.AppsList.Path(), nil))
	if failed(t, w); w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: status %d, header %v", w.Code, w.Header())
	}
	for _, path := range []string{"/", "/v1/", "/v1/apps", "/v1/apps.list/", "/v2/apps.list", "/apps.list"} {
		if w := post(d, path, "{}"); failed(t, w).Code != string(fault.NotFound) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

func TestPanicIsAPlainFailure(t *testing.T) {
	var log bytes.Buffer
	d := New(Host{}, Services{}, slog.New(slog.NewTextHandler(&log, nil)))
	w := post(d, adminwire.AppsList.Path(), "{}")
	if failed(t, w).Code != string(fault.Internal) || strings.Contains(w.Body.String(), "pointer") {
		t.Errorf("%s", w.Body)
	}
	if !strings.Contains(log.String(), "nil pointer") {
		t.Errorf("the log does not tell why: %q", log.String())
	}
}

// A reply that no client would read is a failure and not half a reply.
func TestReplyOverItsBoundIsAFailure(t *testing.T) {
	w := httptest.NewRecorder()
	bare().write(w, http.StatusOK, adminwire.Version{Version: strings.Repeat("v", bound.AnswerBytes.Int())})
	if failed(t, w).Code != string(fault.TooLarge) {
		t.Errorf("%d %.80s", w.Code, w.Body)
	}
}
