package importer_test

import (
	"log/slog"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/importer"
)

// What is imported again is the same, another one, or takes the place of one that is
// off, by what it is and not by where it was written.
func TestWhatIsImportedAgain(t *testing.T) {
	entry := func(change func(*importer.Entry)) importer.Entry {
		e := importer.Entry{Name: "n", Command: "/c", Args: []string{"a"}, Env: map[string]string{"KEY": "one"}, Base: "/f"}
		change(&e)
		return e
	}
	for name, c := range map[string]struct {
		change  func(*importer.Entry)
		on, off importer.Standing
	}{
		"as it was":         {func(*importer.Entry) {}, importer.IsSame, importer.IsSame},
		"of another file":   {func(e *importer.Entry) { e.Base, e.Written = "/g", map[string]string{"env KEY": "${KEY}"} }, importer.IsSame, importer.IsSame},
		"of an export":      {func(e *importer.Entry) { e.Dir, e.Base = "/f", "" }, importer.IsSame, importer.IsSame},
		"in another folder": {func(e *importer.Entry) { e.Dir = "/g" }, importer.IsAnother, importer.Replaces},
		"another secret":    {func(e *importer.Entry) { e.Env = map[string]string{"KEY": "two", "NEW": "x"} }, importer.IsAnother, importer.Replaces},
		"other arguments":   {func(e *importer.Entry) { e.Args = []string{"b"} }, importer.IsAnother, importer.IsAnother},
		"another command":   {func(e *importer.Entry) { e.Command = "/d" }, importer.IsAnother, importer.IsAnother},
		"an address":        {func(e *importer.Entry) { *e = importer.Entry{Name: "n", URL: "https://x.example"} }, importer.IsAnother, importer.IsAnother},
		"another name":      {func(e *importer.Entry) { e.Name = "m" }, importer.IsNew, importer.IsNew},
	} {
		for state, want := range map[view.AdapterState]importer.Standing{view.Enabled: c.on, view.Disabled: c.off} {
			owner := id.New[id.Owner]()
			raw, err := strictjson.Encode(entry(func(*importer.Entry) {}))
			if err != nil {
				t.Fatal(err)
			}
			im := importer.New(&shelf{adapters: []view.Adapter{{Owner: owner, ID: id.New[id.Adapter](), Name: "n", Configuration: raw, State: state}}}, list(), slog.New(slog.DiscardHandler))
			if got, err := im.Stands(t.Context(), owner, entry(c.change)); got != want || err != nil {
				t.Errorf("%s, %s: %v, %v", name, state, got, err)
			}
			if got, err := im.Stands(t.Context(), id.New[id.Owner](), entry(c.change)); got != importer.IsNew || err != nil {
				t.Errorf("%s, of another owner: %v, %v", name, got, err)
			}
		}
	}
}
