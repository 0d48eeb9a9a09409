package ledger

import (
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
)

// What a commit pays for its note, beside some hundred microseconds for the rest.
func BenchmarkNote(b *testing.B) {
	l := &latest{path: filepath.Join(b.TempDir(), "node.latest"), node: id.New[id.Node]()}
	if err := l.open(); err != nil {
		b.Fatal(err)
	}
	defer l.close()
	hash, owner, call := digest.Of(digest.Audit, nil), id.New[id.Owner](), id.New[id.Invocation]()
	b.ReportAllocs()
	for n := int64(1); b.Loop(); n++ {
		l.note(&Tx{order: 2 * n, last: audit.Entry{Epoch: 1, Seq: n, Hash: hash}})
		l.note(&Tx{order: 2*n + 1, taken: takeUp{owner, call, n, true}})
	}
}
