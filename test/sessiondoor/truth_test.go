package sessiondoor

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// truth is what a crowd was told so far, all of it together. It says where one
// thing contradicts another, or a promise of the session daemon (proof, I1 to I30).
type truth struct {
	errorf func(format string, args ...any)

	secrets    map[string]string                      // grant or proof to the record that told it
	registries map[string]string                      // registry revision to what is in it
	resources  map[string]string                      // resource ID to kind and name
	revisions  map[string]sessionwire.Descriptor      // revision ID to the descriptor
	manifests  map[string]string                      // turn to its manifest
	holders    map[string]string                      // executor to the connection that it is attached to
	generation map[string]int64                       // of executors
	calls      map[string]sessionwire.CallProof       // as last told
	accepted   map[string]bool                        // calls whose result was acknowledged
	sources    map[[3]string]string                   // kind, name and description to the captured bytes
	terminals  map[string]sessionwire.TerminalPayload // by turn
}

func newTruth(errorf func(string, ...any)) *truth {
	return &truth{
		errorf: errorf, secrets: map[string]string{}, registries: map[string]string{}, resources: map[string]string{}, revisions: map[string]sessionwire.Descriptor{},
		manifests: map[string]string{}, holders: map[string]string{}, generation: map[string]int64{}, calls: map[string]sessionwire.CallProof{}, accepted: map[string]bool{},
		sources: map[[3]string]string{{"tool", "alpha", ""}: addSource, {"tool", "beta", ""}: addSource, {"tool", "add", ""}: addSource,
			{"skill", "alpha", ""}: "words", {"skill", "beta", ""}: "words", {"skill", "add", ""}: "words"},
		terminals: map[string]sessionwire.TerminalPayload{},
	}
}

// answer is told of what the crowd does not need itself.
func (w *truth) answer(t testing.TB, r sessionwire.Response, line string) {
	switch payload := string(r.Payload); *r.Method {
	case sessionwire.SessionClaim:
		a := decodeInto[sessionwire.ClaimAnswer](t, payload)
		w.secret(a.Control.GrantID, line)
		if turn := a.Snapshot.Turn; turn != nil {
			w.manifest(turn.TurnID, turn.ApplicationManifest)
		}
		if end := a.Snapshot.Terminal; end != nil {
			w.terminal(sessionwire.TerminalPayload{TurnID: end.TurnID, Status: end.Status, Error: end.Error, AssistantText: end.AssistantText, ApplicationManifest: end.ApplicationManifest})
		}
	case sessionwire.OperationLookup:
		a := decodeInto[sessionwire.LookupAnswer](t, payload)
		if a.Method != nil && *a.Method == sessionwire.TurnStart && a.State == "settled" && a.Error == nil {
			end := decodeInto[sessionwire.Terminal](t, string(a.Result))
			w.terminal(sessionwire.TerminalPayload{TurnID: end.TurnID, Status: end.Status, Error: end.Error, AssistantText: end.AssistantText, ApplicationManifest: end.ApplicationManifest})
		}
	case sessionwire.ResourcesList:
		a := decodeInto[sessionwire.ResourcesListAnswer](t, payload)
		w.registry(a.RegistryRevision, a.Entries)
	case sessionwire.ResourcesRegister:
		a := decodeInto[sessionwire.RegisterAnswer](t, payload)
		w.changed(a.RegistryRevision)
		if _, told := w.revisions[a.Entry.RevisionID]; told {
			w.errorf("revision %s came twice", a.Entry.RevisionID)
		}
		w.descriptor(a.Entry)
	case sessionwire.ResourcesClear:
		if a := decodeInto[sessionwire.ClearAnswer](t, payload); a.RemovedCount > 0 {
			w.changed(a.RegistryRevision)
		}
	}
}

// record holds a whole record to what was told before: a secret is on the wire once
// (I10, I15).
func (w *truth) record(line string) {
	for secret := range w.secrets {
		if strings.Contains(line, secret) {
			w.errorf("a secret of %s is told again: %s", w.secrets[secret], line)
		}
	}
}

func (w *truth) secret(value, line string) { w.secrets[value] = line }

// registry is told with all that is in it: a revision is of one content, and a name
// is there once (I2, I4).
func (w *truth) registry(revision string, entries []sessionwire.Descriptor) {
	var all, names []string
	for _, d := range entries {
		w.descriptor(d)
		all, names = append(all, d.RevisionID), append(names, d.Name)
	}
	content := strings.Join(all, " ")
	if before, told := w.registries[revision]; told && before != content && before != "?" {
		w.errorf("registry %s has %q, and had %q", revision, content, before)
	}
	w.registries[revision] = content
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) || len(names) > bound.RegistryTools.Int()+bound.RegistrySkills.Int() {
		w.errorf("the registry has %q", names)
	}
}

// changed is told of a change: its revision was never there (I2).
func (w *truth) changed(revision string) {
	if _, told := w.registries[revision]; told {
		w.errorf("registry revision %s came twice", revision)
	}
	w.registries[revision] = "?"
}

// descriptor is told: a revision never changes, a resource keeps kind and name, and
// both hashes are those of the guide (I3, I5).
func (w *truth) descriptor(d sessionwire.Descriptor) {
	if before, told := w.revisions[d.RevisionID]; told && before != d {
		w.errorf("revision %+v was %+v", d, before)
	}
	w.revisions[d.RevisionID] = d
	is := d.Kind + " " + d.Name
	if was, told := w.resources[d.ResourceID]; told && was != is {
		w.errorf("resource %s is %s and was %s", d.ResourceID, is, was)
	}
	w.resources[d.ResourceID] = is
	source := w.sources[[3]string{d.Kind, d.Name, d.Description}]
	whole := []byte("magi-application-resource-v1")
	for _, part := range []string{d.Kind, d.Name, d.Description, source} {
		whole = append(binary.BigEndian.AppendUint64(whole, uint64(len(part))), part...)
	}
	content, revision := sha256.Sum256([]byte(source)), sha256.Sum256(whole)
	if d.ContentSHA256 != hex.EncodeToString(content[:]) || d.RevisionSHA256 != hex.EncodeToString(revision[:]) || d.CapturedBytes != len(source) {
		w.errorf("the hashes of %+v", d)
	}
}

// manifest is told with a turn: it never changes, and fits (I7, I12).
func (w *truth) manifest(turn string, raw sessionwire.Raw) {
	if len(raw) == 0 {
		return // on an ordinary connection
	}
	if before, told := w.manifests[turn]; told && before != string(raw) {
		w.errorf("the manifest of %s is %s and was %s", turn, raw, before)
	}
	w.manifests[turn] = string(raw)
	if len(raw) > bound.ManifestBytes.Int() {
		w.errorf("a manifest of %d bytes", len(raw))
	}
}

// terminal is told live, by a snapshot or by a lookup: always the same.
func (w *truth) terminal(t sessionwire.TerminalPayload) {
	w.manifest(t.TurnID, t.ApplicationManifest)
	t.ApplicationManifest = nil
	before, told := w.terminals[t.TurnID]
	if told && (before.Status != t.Status || before.AssistantText != t.AssistantText) {
		w.errorf("%+v was told as %+v", t, before)
	}
	w.terminals[t.TurnID] = t
}

// attached is told to a connection: generations grow by one with each resume, and the
// holder before is fenced (I13, I14, I18).
func (w *truth) attached(executor, connection string, generation int64, resumed bool) {
	want := w.generation[executor]
	if resumed {
		want++
	}
	if known := w.generation[executor] > 0; known && generation != want {
		w.errorf("executor %s has generation %d, want %d", executor, generation, want)
	}
	for other, holder := range w.holders {
		if holder == connection && other != executor {
			delete(w.holders, other)
		}
	}
	w.generation[executor], w.holders[executor] = generation, connection
}

// dispatched is told to a connection: it holds the executor, under the generation
// that counts (I13, I18, I20).
func (w *truth) dispatched(connection string, c sessionwire.CallPayload) {
	if w.holders[c.ExecutorID] != connection || w.generation[c.ExecutorID] != c.ExecutorGeneration {
		w.errorf("%s goes to %s under %d; it is held by %s under %d", c.CallID, connection, c.ExecutorGeneration, w.holders[c.ExecutorID], w.generation[c.ExecutorID])
	}
}

// rank orders the statuses of a call: none is followed by one of a lower rank (I23).
var rank = map[string]int{"waiting_for_executor": 0, "pending": 1, "succeeded": 2, "failed": 2, "cancelled": 2}

// evidence is told of a turn (I23, I24, I26, I29, I30).
func (w *truth) evidence(raw sessionwire.Raw, a sessionwire.EvidenceAnswer) {
	if len(raw) > bound.EvidenceBytes.Int() || len(a.Calls) > bound.Callbacks.Int() {
		w.errorf("evidence of %d bytes and %d calls", len(raw), len(a.Calls))
	}
	w.manifest(a.TurnID, a.ApplicationManifest)
	for _, c := range a.Calls {
		before, told := w.calls[c.CallID]
		w.calls[c.CallID] = c
		effects := map[string][]string{
			"waiting_for_executor": {"not_dispatched"}, "pending": {"uncertain"}, "succeeded": {"reported"},
			"failed": {"not_dispatched", "uncertain", "reported"}, "cancelled": {"not_dispatched", "uncertain"},
		}[c.Status]
		if !slices.Contains(effects, c.ExternalEffects) || w.accepted[c.CallID] && c.ExternalEffects != "reported" {
			w.errorf("a call is %s with effects %s; its result was accepted: %v", c.Status, c.ExternalEffects, w.accepted[c.CallID])
		}
		if (rank[c.Status] < 2) != (c.RemainingMS != nil && c.WaitKind != nil) {
			w.errorf("%s waits: %v, %v", c.Status, c.WaitKind, c.RemainingMS)
		}
		if !told {
			continue
		}
		settled := rank[before.Status] == 2 && (c.Status != before.Status || c.ExternalEffects != before.ExternalEffects)
		longer := c.Status == before.Status && c.RemainingMS != nil && *c.RemainingMS > *before.RemainingMS
		if settled || longer || rank[c.Status] < rank[before.Status] || before.ExternalEffects != "not_dispatched" && c.ExternalEffects == "not_dispatched" {
			w.errorf("a call is %+v and was %+v", c, before)
		}
	}
}
