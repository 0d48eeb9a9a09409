package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	okBody    = `{"v":1,"tx":"%s","status":"ok","result":{"n":1},"effects":"reported","replayed":false,"revision":"r","usage":{"ms":1}}`
	doubtBody = `{"v":1,"tx":"%s","status":"indeterminate","error":{"code":"indeterminate","message":"","retry":"after_reconcile","details":{"reason":"restart"}},"effects":"uncertain","replayed":true}`
	errorBody = `{"v":1,"tx":"%s","status":"error","error":{"code":"%s","message":"","retry":"never"},"effects":"%s","replayed":false}`
)

// story builds logs, one exchange after the other, a second apart.
type story struct {
	logs
	n int
}

func (s *story) at() time.Time { return time.Unix(1_800_000_000+int64(len(s.lines)), 0).UTC() }

func (s *story) put(l line) {
	l.At = s.at()
	s.lines = append(s.lines, l)
}

// send adds a request, and an answer unless it is empty.
func (s *story) send(l line, body string) {
	s.n++
	l.N, l.Do = s.n, "send"
	if l.Client == "" {
		l.Client = "app"
	}
	if l.Path == "" {
		l.Path = "/rpc/v1"
	}
	if l.Digest == "" {
		l.Digest = l.Tx
	}
	s.put(l)
	if body != "" {
		s.put(line{N: s.n, Do: "answer", Client: l.Client, Tx: l.Tx, Body: body})
	}
}

func ok(tx string) string       { return fmt.Sprintf(okBody, tx) }
func again(tx string) string    { return same(ok(tx)) }
func doubt(tx string) string    { return fmt.Sprintf(doubtBody, tx) }
func no(tx, code string) string { return refusal(tx, code, "none") }
func refusal(tx, code, effects string) string {
	return fmt.Sprintf(errorBody, tx, code, effects)
}

// good is a story in which every rule holds.
func good() *story {
	s := &story{}
	s.send(line{Tx: "t1", Nonce: "a"}, ok("t1"))
	s.send(line{Tx: "t1", Nonce: "a"}, again("t1"))
	s.send(line{Tx: "t2", Nonce: "b"}, "")
	s.send(line{Tx: "t2", Nonce: "b"}, doubt("t2"))
	s.send(line{Tx: "t3", Nonce: "c"}, refusal("t3", "unavailable", "not_dispatched"))
	s.send(line{Tx: "t3", Nonce: "c"}, ok("t3"))
	s.send(line{Tx: "t4", Nonce: "b"}, refusal("t4", "conflict", "not_dispatched"))
	s.send(line{Tx: "t1", Nonce: "never", Never: true, Digest: "x"}, no("t1", "tx_mismatch"))
	s.send(line{Tx: "t1", Path: "/rpc/v1/tx"}, again("t1"))
	s.put(line{Do: "revoke", Client: "app"})
	s.put(line{Do: "revoked", Client: "app"})
	s.send(line{Tx: "t5", Nonce: "d"}, no("t5", "not_found"))
	s.send(line{Tx: "t9", Nonce: "f"}, refusal("t9", "not_found", "reported"))
	s.put(line{Do: "grant", Client: "app"})
	s.put(line{Do: "granted", Client: "app"})
	s.send(line{Tx: "t6", Key: "k"}, strings.Replace(ok("t6"), `"usage"`, `"version":"v1","usage"`, 1))
	s.send(line{Tx: "t7", Key: "k", If: "v1"}, strings.Replace(ok("t7"), `"usage"`, `"version":"v2","usage"`, 1))
	s.send(line{Tx: "t8", Nonce: "e"}, refusal("t8", "tx_in_progress", "uncertain"))
	s.send(line{Tx: "t8", Nonce: "e"}, doubt("t8"))
	s.send(line{Tx: "t8", Nonce: "e"}, refusal("t8", "unavailable", "uncertain"))
	s.send(line{Tx: "t8", Nonce: "e"}, strings.Replace(again("t8"), `"usage"`, `"details":{"reconciled":{"by":"late_answer"}},"usage"`, 1))
	s.nonces = []string{"a", "b", "c", "e", "f"}
	result := []byte(`{"n":1}`)
	s.rows = []row{
		{Tx: "t1", State: "succeeded", Result: result, DispatchedAt: s.lines[0].At},
		{Tx: "t2", State: "indeterminate", DispatchedAt: s.lines[0].At},
		{Tx: "t3", State: "succeeded", Result: result, DispatchedAt: s.lines[0].At},
		{Tx: "t6", State: "succeeded", Result: result, Method: "put", Version: "v1"},
		{Tx: "t7", State: "succeeded", Result: result, Method: "put", Version: "v2"},
		{Tx: "t8", State: "reconciled_succeeded", Result: result, ReconciledBy: "late_answer"},
		{Tx: "t9", State: "succeeded", Result: result},
	}
	for i := range s.rows {
		s.rows[i].Client = "app"
	}
	s.whole, s.items = true, []storedItem{{"k", "v2"}}
	return s
}

func (s *story) row(tx string) *row {
	for i := range s.rows {
		if s.rows[i].Tx == tx {
			return &s.rows[i]
		}
	}
	panic("no row " + tx)
}

func (s *story) drop(tx string) {
	for i := range s.rows {
		if s.rows[i].Tx == tx {
			s.rows = append(s.rows[:i], s.rows[i+1:]...)
			return
		}
	}
}

func TestAGoodStoryIsBelieved(t *testing.T) {
	if c := check(good().logs); len(c.complaints) > 0 {
		t.Errorf("complaints about a good story:\n%s", strings.Join(c.complaints, "\n"))
	}
}

func TestEveryRuleCanBeBroken(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(s *story)
		want  string
	}{
		{"a lost outcome", func(s *story) { s.drop("t1") }, "lost: the client was told ok"},
		{"a lost doubt", func(s *story) { s.drop("t2") }, "lost: the client was told indeterminate"},
		{"an outcome that became another", func(s *story) { s.row("t1").State = "indeterminate" }, "changed: the client was told ok"},
		{"a doubt that became an outcome", func(s *story) { s.row("t2").State = "succeeded" }, "changed: the client was told indeterminate"},
		{"another result", func(s *story) { s.row("t1").Result = []byte(`{"n":2}`) }, "changed: the client was told {"},
		{"other bytes", func(s *story) {
			s.send(line{Tx: "t1", Nonce: "a"}, strings.Replace(again("t1"), `"ms":1`, `"ms":2`, 1))
		}, "the outcome changes"},
		{"a doubt again", func(s *story) { s.send(line{Tx: "t8", Nonce: "e"}, doubt("t8")) }, "the outcome changes"},
		{"executed anew", func(s *story) { s.send(line{Tx: "t1", Nonce: "a"}, ok("t1")) }, "2 answers say that this send was executed"},
		{"in progress again", func(s *story) { s.send(line{Tx: "t1", Nonce: "a"}, no("t1", "tx_in_progress")) }, "after the outcome the host says"},
		{"an effect twice", func(s *story) { s.nonces = append(s.nonces, "a") }, "effect a: happened 2 times, the journal says 1 to 1"},
		{"no effect of an ok", func(s *story) { s.nonces = s.nonces[1:] }, "effect a: happened 0 times, the clients were told 1 to 1"},
		{"a doubt twice", func(s *story) { s.nonces = append(s.nonces, "b") }, "effect b: happened 2 times"},
		{"no effect of a withheld outcome", func(s *story) { s.nonces = s.nonces[:4] }, "effect f: happened 0 times, the clients were told 1 to 1"},
		{"an effect of a refusal", func(s *story) { s.nonces = append(s.nonces, "d") }, "effect d: happened 1 times, the clients were told 0 to 0"},
		{"an effect of another request", func(s *story) { s.nonces = append(s.nonces, "never") }, "nobody may have asked"},
		{"a mismatch that is executed", func(s *story) { s.send(line{Tx: "t1", Nonce: "never", Never: true, Digest: "x"}, again("t1")) }, "used anew for something else"},
		{"left open", func(s *story) { s.row("t2").State = "dispatching" }, "the row is left dispatching"},
		{"a built-in in doubt", func(s *story) { s.row("t6").State = "indeterminate" }, "a built-in, which is one commit"},
		{"a stranger's row", func(s *story) { s.rows = append(s.rows, row{Tx: "t99", Client: "app", State: "failed"}) }, "that nobody sent"},
		{"two rows", func(s *story) { s.rows = append(s.rows, *s.row("t1")) }, "two rows of one tx"},
		{"a doubt that says reported", func(s *story) {
			s.send(line{Tx: "t2", Nonce: "b"}, strings.Replace(doubt("t2"), "uncertain", "reported", 1))
		}, "says effects reported"},
		{"a refusal that says uncertain", func(s *story) { s.send(line{Tx: "t10", Nonce: "z"}, refusal("t10", "conflict", "uncertain")) }, "says effects uncertain"},
		{"a refusal that says reported", func(s *story) { s.send(line{Tx: "t10", Nonce: "z"}, refusal("t10", "unavailable", "reported")) }, "says effects reported"},
		{"a doubt that is told as not sent", func(s *story) {
			s.send(line{Tx: "t2", Nonce: "b"}, refusal("t2", "unavailable", "not_dispatched"))
		}, "t2: the call was sent, and then the host says unavailable not_dispatched"},
		{"a doubt of the journal that is told as not sent", func(s *story) {
			s.send(line{Tx: "t11", Nonce: "y"}, strings.Replace(doubt("t11"), `"restart"`, `"journal_unknown"`, 1))
			s.send(line{Tx: "t11", Nonce: "y"}, refusal("t11", "unavailable", "not_dispatched"))
		}, "t11: the call was sent, and then the host says unavailable not_dispatched"},
		{"an outcome that is told as not sent", func(s *story) {
			s.send(line{Tx: "t1", Nonce: "a"}, no("t1", "rate_limited"))
		}, "t1: the call was sent, and then the host says rate_limited none"},
		{"in progress and no effect", func(s *story) {
			s.send(line{Tx: "t10", Nonce: "z"}, refusal("t10", "tx_in_progress", "not_dispatched"))
		}, "says effects not_dispatched"},
		{"an effect of what was in progress and had none", func(s *story) {
			s.send(line{Tx: "t10", Nonce: "z"}, no("t10", "tx_in_progress"))
			s.nonces = append(s.nonces, "z")
		}, "effect z: happened 1 times, the clients were told 0 to 0"},
		{"a doubt with a result", func(s *story) {
			s.send(line{Tx: "t2", Nonce: "b"}, strings.Replace(doubt("t2"), `"error"`, `"result":{},"error"`, 1))
		}, "a doubt with a result"},
		{"an unknown refusal", func(s *story) { s.send(line{Tx: "t10", Nonce: "z"}, no("t10", "internal")) }, "the host answers internal"},
		{"about another tx", func(s *story) { s.send(line{Tx: "t10", Nonce: "z"}, no("t1", "not_found")) }, "the answer is about"},
		{"no response", func(s *story) { s.send(line{Tx: "t10", Nonce: "z"}, "<html>") }, "that is no response"},
		{"an answer to nothing", func(s *story) { s.put(line{N: 999, Do: "answer", Client: "app", Body: ok("t1")}) }, "to nothing that was sent"},
		{"a client that lies", func(s *story) { s.send(line{Tx: "t1", Nonce: "a", Digest: "y"}, again("t1")) }, "two requests under one tx"},
		{"a lost item", func(s *story) { s.items = nil }, `item k: version "" is stored`},
		{"an old item", func(s *story) { s.items[0].Version = "v1" }, `item k: version "v1" is stored`},
		{"an item of nobody", func(s *story) { s.items = append(s.items, storedItem{"other", "v9"}) }, "no put of it succeeded"},
		{"a lost update", func(s *story) { s.lines[sendOf(s, "t7")].If = "" }, "two puts replaced version"},
		{"dispatched without rights", func(s *story) { s.row("t3").DispatchedAt = s.lines[sendOf(s, "t5")].At }, "after the revocation"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s := good()
			tc.spoil(s)
			if all := strings.Join(check(s.logs).complaints, "\n"); !strings.Contains(all, tc.want) {
				t.Errorf("no complaint has %q:\n%s", tc.want, all)
			}
		})
	}
}

// sendOf finds the first request of a tx.
func sendOf(s *story, tx string) int {
	for i, l := range s.lines {
		if l.Do == "send" && l.Tx == tx {
			return i
		}
	}
	panic("nothing of " + tx + " was sent")
}

// What cannot be read is no clean bill.
func TestLogsAreReadWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	client := write("client", `{"at":"2030-01-01T00:00:00Z","n":1,"do":"send","client":"app","path":"/rpc/v1","tx":"t1","nonce":"a"}`+"\n")
	oracle, journal := write("oracle", "a\nb\n"), write("journal", `{"tx":"t1","app_id":"app","state":"succeeded"}`+"\n")
	items := write("items", `{"key":"k","version":"v"}`+"\n")
	l, err := read(oracle, journal, items, []string{client})
	if err != nil || len(l.lines) != 1 || len(l.nonces) != 2 || len(l.rows) != 1 || len(l.items) != 1 || !l.whole {
		t.Errorf("%+v %v", l, err)
	}
	for name, broken := range map[string][4]string{
		"no client":      {oracle, journal, items, ""},
		"a torn line":    {oracle, write("torn", `{"tx":"t1"`), items, client},
		"a missing file": {filepath.Join(dir, "none"), journal, items, client},
	} {
		clients := []string{broken[3]}
		if broken[3] == "" {
			clients = nil
		}
		if _, err := read(broken[0], broken[1], broken[2], clients); err == nil {
			t.Errorf("%s: taken for whole logs", name)
		}
	}
}
