package buswing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// remarkBytes is how much of a remark is kept, of which the capsule chose a part.
const remarkBytes = 512

// Shared says which resource several capsules list, and whose apps get, empty while
// there is none.
func (w *Wing) Shared() string {
	all := w.Collisions(topic.PrincipalOf(w.parts.Owner))
	if len(all) == 0 {
		return ""
	}
	names := map[topic.Source]string{}
	for _, s := range w.host.Statuses() {
		names[s.Source] = s.Name
	}
	one := all[0]
	line := fmt.Sprintf("%s is listed by the capsules %s and %s; apps get that of %s, which was installed first",
		resource.Visible(one.URI[:min(len(one.URI), remarkBytes/4)]), names[one.Winner], names[one.Losers[0]], names[one.Winner])
	if len(all) > 1 {
		line += fmt.Sprintf(" (and %d more resources)", len(all)-1)
	}
	return strings.ReplaceAll(line, "\n", " ")
}

func (w *Wing) described(r describe.Reply) {
	switch {
	case r.Err != nil:
		w.remark(r.Source, "its list", r.Err)
	case len(r.Bad) > 0:
		w.remark(r.Source, "a resource of its list", r.Bad[0].Err)
	}
	w.Described(r)
}

func (w *Wing) wasRead(r read.Reply) {
	if r.Err != nil {
		w.remark(r.Source, "its answer to a read", r.Err)
	}
	w.WasRead(r)
}

// remark tells the author of a capsule what the app is not told: what is wrong with an
// answer, and where.
func (w *Wing) remark(s topic.Source, what string, err error) {
	f := fault.From(err)
	line := what + " is not of the contract: " + f.Text
	for _, key := range slices.Sorted(maps.Keys(f.Details)) {
		line += fmt.Sprintf(" (%s: %v)", key, f.Details[key])
	}
	line = strings.ReplaceAll(resource.Visible(line[:min(len(line), remarkBytes)]), "\n", " ")
	w.host.Remark(s, line)
}
