package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/access"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// emptyPool is the journal of an owner who has nothing: every verb decides by
// the real rules over no facts. It counts what reaches it.
type emptyPool struct {
	dispatch.Journal // verbs that an empty pool never reaches
	caller           authority.Caller
	reached          int
	denied           int
}

func (p *emptyPool) standing() authority.Standing {
	return authority.Standing{Client: &authority.Client{Kind: authority.Application, Connected: true},
		Token: &authority.Token{Audience: p.caller.Audience}}
}

func (p *emptyPool) Resolve(context.Context, id.Owner, dispatch.Reference) (dispatch.Resolved, bool, error) {
	p.reached++
	return dispatch.Resolved{}, false, nil
}

func (p *emptyPool) Reserve(_ context.Context, c authority.Call) (authority.CallChanges, error) {
	ch, bad := authority.DecideCall(authority.CallFacts{Standing: p.standing()}, c, time.Now())
	if bad != nil {
		return ch, bad
	}
	return ch, nil
}

func (p *emptyPool) Recall(context.Context, authority.Call) (invocation.Answer, bool, error) {
	return invocation.Answer{}, false, nil
}

func (p *emptyPool) Denied(authority.Caller, fault.Code) { p.denied++ }

func (p *emptyPool) Lookup(context.Context, authority.Caller, id.Tx) (invocation.Answer, error) {
	p.reached++
	return invocation.Answer{}, authority.NotFound()
}

type fixture struct {
	*Door
	pool  *emptyPool
	token secret.Secret
}

func newFixture() fixture {
	token := secret.NewToken(secret.Access)
	hash, _ := secret.HashToken(secret.Access, token)
	pool := &emptyPool{caller: authority.Caller{Owner: id.New[id.Owner](), Client: id.New[id.Client](), Audience: authority.ForRPC, Token: hash}}
	find := func(_ context.Context, presented secret.Hash) (authority.Caller, bool, error) {
		return pool.caller, secret.Equal(presented, hash), nil
	}
	log := slog.New(slog.DiscardHandler)
	none := func(id.Adapter) (dispatch.Executor, bool) { return nil, false }
	port := dispatch.New(pool, none, id.New[id.Node](), 1, log)
	return fixture{New(access.New(find, pool.Denied, authority.ForRPC), port, log), pool, token}
}

func (f fixture) post(path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+f.token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// answered decodes an answer strictly and holds it to what every answer keeps.
func answered(t *testing.T, w *httptest.ResponseRecorder) rpcwire.Response {
	t.Helper()
	var resp rpcwire.Response
	if err := strictjson.Decode(w.Body.Bytes(), strictjson.Limits{}, &resp); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	for _, member := range []string{"v", "tx", "status", "effects", "replayed", "revision", "usage"} {
		if !strings.Contains(w.Body.String(), strconv.Quote(member)+":") {
			t.Errorf("no %s in %s", member, w.Body)
		}
	}
	h := w.Header()
	if h.Get("Cache-Control") != "no-store" || h.Get("Content-Type") != "application/json" || h.Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
		t.Errorf("header %v", h)
	}
	if e := resp.Error; e != nil {
		row, ok := fault.Lookup(fault.Code(e.Code))
		if !ok || e.Retry != string(row.Retry) || (w.Code != row.HTTP && w.Code != http.StatusMethodNotAllowed) {
			t.Errorf("status %d and error %+v, want the row %+v", w.Code, e, row)
		}
	}
	return resp
}

const goodTx = "tx_01kbabqzr0000000000000000t"

// envelope is a well-formed call whose members can be exchanged; an empty value
// leaves one out.
func envelope(changes ...string) string {
	members := [][2]string{{"v", "1"}, {"tx", `"` + goodTx + `"`}, {"resource", `"@items"`},
		{"contract", `"https://steward.invalid/contracts/item-store/v1"`}, {"method", `"get"`}, {"args", `{"key":"a"}`}}
	for i := 0; i < len(changes); i += 2 {
		at := -1
		for j, m := range members {
			if m[0] == changes[i] {
				at = j
			}
		}
		if at < 0 {
			members = append(members, [2]string{changes[i]})
			at = len(members) - 1
		}
		members[at][1] = changes[i+1]
	}
	var parts []string
	for _, m := range members {
		if m[1] != "" {
			parts = append(parts, strconv.Quote(m[0])+":"+m[1])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

type refusedInput struct {
	name, body string
	status     int
	pointer    string
}

// memberCases are one wrong value for each rule of each member.
func memberCases() []refusedInput {
	cases := []refusedInput{
		{"no v", envelope("v", ""), 400, "/v"}, {"another v", envelope("v", "2"), 400, "/v"}, {"v as text", envelope("v", `"1"`), 400, "/v"},
		{"v with a fraction", envelope("v", "1.5"), 400, "/v"}, {"no tx", envelope("tx", ""), 400, "/tx"},
		{"an empty tx", envelope("tx", `""`), 400, "/tx"}, {"a tx of another kind", envelope("tx", `"inv_01kbabqzr0000000000000000t"`), 400, "/tx"},
		{"a tx in capitals", envelope("tx", `"tx_01KBABQZR0000000000000000T"`), 400, "/tx"},
		{"a tx that is too long", envelope("tx", `"`+goodTx+`0"`), 400, "/tx"},
		{"no resource", envelope("resource", ""), 400, "/resource"}, {"an empty resource", envelope("resource", `""`), 400, "/resource"},
		{"no contract", envelope("contract", ""), 400, "/contract"}, {"no method", envelope("method", ""), 400, "/method"},
		{"no args", envelope("args", ""), 400, "/args"}, {"a precondition that is no object", envelope("if", `[1]`), 400, "/if"},
		{"a deadline of nothing", envelope("deadline_ms", "0"), 400, "/deadline_ms"},
		{"a deadline in the past", envelope("deadline_ms", "-1"), 400, "/deadline_ms"},
		{"a deadline with a fraction", envelope("deadline_ms", "1.5"), 400, "/deadline_ms"},
		{"a deadline out of range", envelope("deadline_ms", "1e300"), 400, "/deadline_ms"},
		{"a deadline over the longest", envelope("deadline_ms", fmt.Sprint(bound.CallDeadline.Max+1)), 400, "/deadline_ms"},
		{"an empty digest", envelope("contract_digest", `""`), 400, "/contract_digest"},
		{"a digest of another form", envelope("contract_digest", `"md5:00"`), 400, "/contract_digest"},
		{"a confirmation of another kind", envelope("confirm", `"`+goodTx+`"`), 400, "/confirm"},
		{"an ack of another kind", envelope("ack", `"x"`), 400, "/ack"},
		{"an owner of the caller's choice", envelope("owner", `"own_00000000000000000000000000"`), 400, "/owner"},
		{"a member in another case", envelope("TX", `"`+goodTx+`"`), 400, "/TX"},
		{"args that are no object", envelope("args", `[1]`), 422, ""}, {"a number that has no canonical form", envelope("args", `{"n":9007199254740993}`), 422, ""},
	}
	for _, member := range []string{"v", "tx", "resource", "contract", "contract_digest", "method", "args", "if", "deadline_ms", "confirm", "ack"} {
		cases = append(cases, refusedInput{"null for " + member, envelope(member, "null"), 400, "/" + member})
	}
	return cases
}

func TestWrongMembersAreNamed(t *testing.T) {
	for _, tt := range memberCases() {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture()
			w := f.post(rpcwire.Call.Path, tt.body)
			resp := answered(t, w)
			pointer, _ := resp.Error.Details["pointer"].(string)
			if w.Code != tt.status || tt.pointer != "" && pointer != tt.pointer || f.pool.reached > 1 {
				t.Errorf("status %d, pointer %q, %d reads; want %d, %q: %s", w.Code, pointer, f.pool.reached, tt.status, tt.pointer, w.Body)
			}
			if tt.pointer != "" && f.pool.reached != 0 {
				t.Error("the port was asked")
			}
		})
	}
}

func TestLookupTakesTwoMembers(t *testing.T) {
	lookup := `{"v":1,"tx":"` + goodTx + `"}`
	tests := []refusedInput{
		{"a good one", lookup, 404, ""},
		{"another v", strings.Replace(lookup, "1", "2", 1), 400, "/v"},
		{"no tx", `{"v":1}`, 400, "/tx"},
		{"a call", envelope(), 400, "/resource"},
		{"null", `{"v":1,"tx":null}`, 400, "/tx"},
		{"a list", `[` + lookup + `]`, 400, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture()
			w := f.post(rpcwire.Lookup.Path, tt.body)
			pointer, _ := answered(t, w).Error.Details["pointer"].(string)
			if w.Code != tt.status || pointer != tt.pointer {
				t.Errorf("status %d, pointer %q; want %d, %q: %s", w.Code, pointer, tt.status, tt.pointer, w.Body)
			}
		})
	}
}

// Whatever strict JSON refuses is refused here too, as a whole body and inside
// the arguments of a good one (threats, A25).
func TestSmuggledJSONIsRefused(t *testing.T) {
	f := newFixture()
	for _, doc := range smuggled(t) {
		for _, body := range []string{doc, envelope("args", doc), envelope("args", `{"x":`+doc+`}`)} {
			w := f.post(rpcwire.Call.Path, body)
			if answered(t, w); w.Code != 400 {
				t.Errorf("status %d for %.80q: %s", w.Code, body, w.Body)
			}
		}
	}
	if f.pool.reached != 0 {
		t.Errorf("the port was asked %d times", f.pool.reached)
	}
}

func smuggled(tb testing.TB) []string {
	tb.Helper()
	file, err := os.ReadFile("../../ground/strictjson/testdata/refused.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(file)) {
		class, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		doc, err := strconv.Unquote(quoted)
		if err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		if class != "trailing" { // what follows a document may be right inside another
			out = append(out, doc)
		}
	}
	if len(out) < 150 {
		tb.Fatalf("only %d documents", len(out))
	}
	return out
}

func TestDoorLooksAtTheRequestFirst(t *testing.T) {
	set := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	f := newFixture()
	good := "Bearer " + f.token.Reveal()
	tests := []struct {
		name   string
		path   string
		change func(*http.Request)
		status int
		header string // that the answer must have
	}{
		{"a good call", rpcwire.Call.Path, func(*http.Request) {}, 404, ""},
		{"the scheme in another case", rpcwire.Call.Path, set("Authorization", "bEARER "+f.token.Reveal()), 404, ""},
		{"the content type with its charset", rpcwire.Call.Path, set("Content-Type", "application/json; charset=UTF-8"), 404, ""},
		{"GET", rpcwire.Call.Path, func(r *http.Request) { r.Method = "GET" }, 405, "Allow"},
		{"PUT to a lookup", rpcwire.Lookup.Path, func(r *http.Request) { r.Method = "PUT" }, 405, "Allow"},
		{"another path", "/rpc/v2", func(*http.Request) {}, 404, ""},
		{"a path below", rpcwire.Call.Path + "/", func(*http.Request) {}, 404, ""},
		{"no token", rpcwire.Call.Path, set("Authorization"), 401, "Www-Authenticate"},
		{"an unknown token", rpcwire.Call.Path, set("Authorization", "Bearer "+secret.NewToken(secret.Access).Reveal()), 401, "Www-Authenticate"},
		{"a token of another kind", rpcwire.Call.Path, set("Authorization", "Bearer "+secret.NewToken(secret.Refresh).Reveal()), 401, "Www-Authenticate"},
		{"another scheme", rpcwire.Call.Path, set("Authorization", "Basic "+f.token.Reveal()), 401, "Www-Authenticate"},
		{"two tokens", rpcwire.Call.Path, set("Authorization", good, good), 401, "Www-Authenticate"},
		{"no content type", rpcwire.Call.Path, set("Content-Type"), 400, ""},
		{"the content type of a form", rpcwire.Call.Path, set("Content-Type", "text/plain"), 400, ""},
		{"another charset", rpcwire.Call.Path, set("Content-Type", "application/json; charset=utf-16"), 400, ""},
		{"a content coding", rpcwire.Call.Path, set("Content-Encoding", "gzip"), 400, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := f.post(tt.path, envelope(), tt.change)
			answered(t, w)
			if w.Code != tt.status || tt.header != "" && w.Header().Get(tt.header) == "" {
				t.Errorf("status %d, header %v; want %d with %q", w.Code, w.Header(), tt.status, tt.header)
			}
		})
	}
}

func TestTokenInTheURLIsNone(t *testing.T) {
	f := newFixture()
	w := f.post(rpcwire.Call.Path+"?access_token="+f.token.Reveal(), envelope(), func(r *http.Request) { r.Header.Del("Authorization") })
	if w.Code != 401 {
		t.Errorf("status %d", w.Code)
	}
}

func TestBodyAtItsBoundAndOneOver(t *testing.T) {
	f := newFixture()
	pad := func(n int64) string { return envelope() + strings.Repeat(" ", int(n)-len(envelope())) }
	for size, want := range map[int64]int{bound.RequestBytes.Max: 404, bound.RequestBytes.Max + 1: 413} {
		for _, length := range []int64{size, -1} {
			w := f.post(rpcwire.Call.Path, pad(size), func(r *http.Request) { r.ContentLength = length })
			if answered(t, w); w.Code != want {
				t.Errorf("%d bytes, announced as %d: status %d, want %d", size, length, w.Code, want)
			}
		}
	}
	if int64(rpcwire.MaxBytes) != bound.RequestBytes.Max || int64(rpcwire.MaxDeadlineMS) != bound.CallDeadline.Max {
		t.Error("the wire tells other bounds than the table")
	}
}

func TestStoreThatCannotBeReadIsUnavailable(t *testing.T) {
	broken := func(context.Context, secret.Hash) (authority.Caller, bool, error) {
		return authority.Caller{}, false, errors.New("disk 7 is full of canaries")
	}
	var log bytes.Buffer
	f := newFixture()
	f.Door = New(access.New(broken, f.pool.Denied, authority.ForRPC), f.port, slog.New(slog.NewTextHandler(&log, nil)))
	w := f.post(rpcwire.Call.Path, envelope())
	resp := answered(t, w)
	if w.Code != 503 || resp.Effects != rpcwire.Uncertain || strings.Contains(w.Body.String(), "canaries") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "canaries") {
		t.Errorf("the log does not tell why: %s", log.String())
	}
}

// Every code of the table leaves the door with the status, retry class and, only
// where its row allows them, details.
func TestEveryCodeHasItsAnswer(t *testing.T) {
	f := newFixture()
	for _, row := range fault.Rows() {
		w := httptest.NewRecorder()
		a := invocation.Refusal(id.NewTx(time.Now()), fault.New(row.Code, "text").With("reason", "why"), effect.None)
		if row.Code == fault.Indeterminate {
			a.Status = invocation.InDoubt
		}
		f.answer(w, a)
		resp := answered(t, w)
		want := rpcwire.Response{V: 1, Tx: a.Tx.String(), Status: rpcwire.Status(a.Status), Effects: rpcwire.None,
			Error: &rpcwire.Error{Code: string(row.Code), Message: "text", Retry: string(row.Retry)}}
		if row.Details {
			want.Error.Details = map[string]any{"reason": "why"}
		}
		if diff := cmp.Diff(want, resp); diff != "" || w.Code != row.HTTP {
			t.Errorf("%s: status %d, want %d; %s", row.Code, w.Code, row.HTTP, diff)
		}
	}
	w := httptest.NewRecorder()
	f.answer(w, invocation.Refusal(id.Tx{}, fault.New("made_up", "text"), effect.None))
	if resp := answered(t, w); resp.Error.Code != string(fault.Internal) || w.Code != 500 {
		t.Errorf("a code of no row: %d %s", w.Code, w.Body)
	}
}

// A settled row gives these bytes, to the letter.
func TestAnswersOfSettledRows(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)
	tx, err := id.Parse[id.Tx](goodTx)
	if err != nil {
		t.Fatal(err)
	}
	rev, err := id.Parse[id.Revision]("rev_00000000000000000000000001")
	if err != nil {
		t.Fatal(err)
	}
	base := invocation.Row{ID: id.New[id.Invocation](), Tx: tx, Revision: rev, ReservedAt: at, DispatchedAt: at,
		DeadlineAt: at.Add(30 * time.Second), SettledAt: at.Add(1234 * time.Millisecond)}
	doubt := invocation.Outcome{Code: fault.Indeterminate, Reason: "timeout", Effects: effect.Uncertain}
	tests := []struct {
		name   string
		row    invocation.Row
		status int
		want   string
	}{
		{"ok", with(base, invocation.Succeeded, invocation.Outcome{Effects: effect.Reported, Result: []byte(`{"n":9007199254740993,"e":1e2}`), Version: "v1"}), 200,
			`{"v":1,"tx":"TX","status":"ok","result":{"n":9007199254740993,"e":1e2},"effects":"reported","replayed":false,"revision":"REV","version":"v1","usage":{"ms":1234}}`},
		{"failed", with(base, invocation.Failed, invocation.Outcome{Code: fault.UpstreamFailed, Text: "no", Reason: "tool_error", Effects: effect.Reported, Result: []byte(`{"isError":true}`)}), 502,
			`{"v":1,"tx":"TX","status":"error","result":{"isError":true},"error":{"code":"upstream_failed","message":"no","retry":"new_tx","details":{"reason":"tool_error"}},"effects":"reported","replayed":false,"revision":"REV","usage":{"ms":1234}}`},
		{"in doubt", with(base, invocation.Indeterminate, doubt), 504,
			`{"v":1,"tx":"TX","status":"indeterminate","error":{"code":"indeterminate","message":"the call may have happened; do not repeat it, ask the owner","retry":"after_reconcile","details":{"attempt":1,"deadline_at":"2026-03-04T05:06:37.089Z","dispatched_at":"2026-03-04T05:06:07.089Z","reason":"timeout","reconcile":"owner"}},"effects":"uncertain","replayed":false,"revision":"REV","usage":{"ms":1234}}`},
		{"a doubt that ended well", reconciled(with(base, invocation.ReconciledSucceeded, invocation.Outcome{Effects: effect.Reported}), at), 200,
			`{"v":1,"tx":"TX","status":"ok","effects":"reported","replayed":false,"revision":"REV","usage":{"ms":1234},"details":{"reconciled":{"by":"owner","at":"2026-03-04T05:06:07.089Z"}}}`},
		{"a doubt that ended badly", reconciled(with(base, invocation.ReconciledFailed, invocation.Outcome{Code: fault.UpstreamFailed, Text: "no", Effects: effect.None}), at), 502,
			`{"v":1,"tx":"TX","status":"error","error":{"code":"upstream_failed","message":"no","retry":"new_tx","details":{"reconciled":{"at":"2026-03-04T05:06:07.089Z","by":"owner"}}},"effects":"none","replayed":false,"revision":"REV","usage":{"ms":1234}}`},
		{"underway", with(base, invocation.Dispatching, invocation.Outcome{}), 200,
			`{"v":1,"tx":"TX","status":"pending","effects":"uncertain","replayed":false,"revision":"REV","usage":{"ms":1234}}`},
	}
	f := newFixture()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			f.answer(w, tt.row.Answer())
			answered(t, w)
			want := strings.NewReplacer("TX", goodTx, "REV", rev.String()).Replace(tt.want)
			if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != tt.status {
				t.Errorf("status %d, want %d; %s", w.Code, tt.status, diff)
			}
		})
	}
}

func with(r invocation.Row, s invocation.State, o invocation.Outcome) invocation.Row {
	r.State, r.Outcome = s, o
	return r
}

func reconciled(r invocation.Row, at time.Time) invocation.Row {
	r.Reconciled = invocation.Reconciliation{By: "owner", At: at}
	return r
}

// A record that was damaged on disk must not pass for an outcome.
func TestUnwritableResultIsNoOutcome(t *testing.T) {
	f := newFixture()
	w := httptest.NewRecorder()
	f.answer(w, invocation.Answer{Status: invocation.OK, Result: []byte(`{"half":`), Effects: effect.Reported})
	if resp := answered(t, w); w.Code != 500 || resp.Status != rpcwire.Failed || resp.Effects != rpcwire.Uncertain {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestBrokenDoorTellsNothingOfEffects(t *testing.T) {
	w := httptest.NewRecorder()
	Refuse(w, http.StatusInternalServerError, fault.New(fault.Internal, "the host failed; its log has the reason"))
	if resp := answered(t, w); resp.Effects != rpcwire.Uncertain {
		t.Errorf("%s", w.Body)
	}
}

// No body makes the door fail by itself or answer with what is in no row, and a
// body that is let through is a well-formed call.
func FuzzEnvelope(f *testing.F) {
	for _, c := range memberCases() {
		f.Add([]byte(c.body))
	}
	for _, doc := range smuggled(f) {
		f.Add([]byte(doc))
		f.Add([]byte(envelope("args", doc)))
	}
	all := envelope("contract_digest", `"`+digest.Of(digest.Contract, nil).String()+`"`, "if", "{}", "deadline_ms", "30000",
		"confirm", `"cnf_00000000000000000000000000"`, "ack", `"`+goodTx+`"`)
	f.Add([]byte(all))
	door := newFixture()
	f.Fuzz(func(t *testing.T, body []byte) {
		tx, req, err := parseCall(body)
		w := door.post(rpcwire.Call.Path, string(body))
		resp := answered(t, w)
		if resp.Status != rpcwire.Failed || w.Code >= 500 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if err != nil {
			if got := fault.From(err); resp.Error.Code != string(got.Code) || resp.Tx != tx.String() {
				t.Errorf("parsed to %v, answered %s", got, w.Body)
			}
			return
		}
		again, err := id.Parse[id.Tx](req.Tx.String())
		if err != nil || again != req.Tx || req.Ref.Resource == "" || req.Ref.Contract == "" || req.Ref.Method == "" ||
			req.Deadline < 0 || req.Deadline > bound.CallDeadline.Duration() || strictjson.Check(req.Args, strictjson.RequestLimits) != nil {
			t.Errorf("let through: %+v", req)
		}
	})
}
