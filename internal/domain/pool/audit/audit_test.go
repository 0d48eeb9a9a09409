package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/id"
)

// trail makes two epochs of three rows each.
func trail() []audit.Entry {
	node := id.New[id.Node]()
	var rows []audit.Entry
	var last audit.Entry
	for epoch := int64(1); epoch <= 2; epoch++ {
		head := last.Hash.String()
		last = audit.Entry{}
		for i := range 3 {
			e := audit.Entry{Node: node, Epoch: epoch, At: time.UnixMilli(int64(i)), Kind: audit.Called, Subject: fmt.Sprint(i), Count: 1}
			if i == 0 {
				e.Kind, e.Detail = audit.Anchor, head
			}
			last = audit.Link(last, e)
			rows = append(rows, last)
		}
	}
	return rows
}

func check(rows []audit.Entry) (*audit.Break, int64) {
	var c audit.Checker
	for _, e := range rows {
		if b := c.Next(e); b != nil {
			return b, c.Rows()
		}
	}
	return nil, c.Rows()
}

func TestTheChainNamesTheFirstRowThatDoesNotHold(t *testing.T) {
	if b, n := check(trail()); b != nil || n != 6 {
		t.Fatalf("an untouched trail breaks at %+v after %d rows", b, n)
	}
	cases := map[string]struct {
		tamper func([]audit.Entry) []audit.Entry
		epoch  int64
		seq    int64
	}{
		"edited":            {func(r []audit.Entry) []audit.Entry { r[1].Detail = "x"; return r }, 1, 2},
		"dropped":           {func(r []audit.Entry) []audit.Entry { return append(r[:1], r[2:]...) }, 1, 3},
		"reordered":         {func(r []audit.Entry) []audit.Entry { r[1], r[2] = r[2], r[1]; return r }, 1, 3},
		"first one dropped": {func(r []audit.Entry) []audit.Entry { return r[1:] }, 1, 2},
		"epoch's end cut":   {func(r []audit.Entry) []audit.Entry { return append(r[:2], r[3:]...) }, 2, 1},
		"relinked after an edit": {func(r []audit.Entry) []audit.Entry {
			r[1].Detail = "x"
			r[1] = audit.Link(r[0], r[1])
			r[2] = audit.Link(r[1], r[2])
			return r
		}, 2, 1},
	}
	for name, c := range cases {
		b, _ := check(c.tamper(trail()))
		if b == nil || b.Epoch != c.epoch || b.Seq != c.seq {
			t.Errorf("%s: %+v, want epoch %d row %d", name, b, c.epoch, c.seq)
		}
	}
}
