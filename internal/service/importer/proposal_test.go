package importer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// upstream is a fleet with one server of fixed tools.
type upstream struct {
	tools []importer.Tool
	err   error
	away  error // of reaching it
	once  bool  // it can be listed once only
	used  map[id.Adapter]bool
}

func (u *upstream) Use(a id.Adapter, _ id.Owner, _ importer.Entry) error {
	u.used[a] = true
	return nil
}
func (u *upstream) Reach(context.Context, importer.Entry) error { return u.away }
func (u *upstream) Drop(a id.Adapter)                           { delete(u.used, a) }
func (u *upstream) Connection(a id.Adapter) (view.Connection, bool) {
	return view.Connection{State: "failed", Reason: "last words"}, u.err != nil && u.used[a]
}
func (u *upstream) List(context.Context, id.Adapter) (importer.Listed, error) {
	err := u.err
	if u.once {
		u.err = errors.New("it ended")
	}
	return importer.Listed{Server: "s 1", Protocol: "2025-11-25", Tools: u.tools}, err
}

// shelf keeps what the importer stores.
type shelf struct {
	adapters []view.Adapter
	offers   []resource.Offer
	err      error
	merged   int   // listings so far
	full     error // of a listing
}

func (s *shelf) Adapters(context.Context) ([]view.Adapter, error) { return s.adapters, nil }
func (s *shelf) AddAdapter(_ context.Context, a view.Adapter, _ resource.Row) error {
	s.adapters = append(s.adapters, a)
	return s.err
}
func (s *shelf) ReplaceAdapter(_ context.Context, owner id.Owner, a id.Adapter, configuration []byte) error {
	for i := range s.adapters {
		if s.adapters[i].ID == a {
			s.adapters[i].Configuration = configuration
		}
	}
	return s.SetAdapterState(context.Background(), owner, a, view.Enabled)
}
func (s *shelf) SetAdapterState(_ context.Context, _ id.Owner, a id.Adapter, state view.AdapterState) error {
	for i := range s.adapters {
		if s.adapters[i].ID == a {
			s.adapters[i].State = state
		}
	}
	return nil
}
func (s *shelf) ApplyListing(_ context.Context, _ id.Owner, _ id.Adapter, _, _ string, offers []resource.Offer) (view.Listing, error) {
	s.merged++
	s.offers = offers
	return view.Listing{}, s.full
}

func list(tools ...string) *upstream {
	u := &upstream{used: map[id.Adapter]bool{}}
	for _, raw := range tools {
		_, after, _ := strings.Cut(raw, `"name":"`)
		name, _, _ := strings.Cut(after, `"`)
		u.tools = append(u.tools, importer.Tool{Name: name, Raw: []byte(raw)})
	}
	return u
}

var entry = importer.Entry{Name: "files", Command: "server"}

func offers(t *testing.T, tools ...string) []resource.Offer {
	t.Helper()
	s := &shelf{}
	if _, err := importer.New(s, list(tools...), slog.New(slog.DiscardHandler)).Add(t.Context(), id.New[id.Owner](), entry); err != nil {
		t.Fatal(err)
	}
	return s.offers
}

func TestEffectsAreProposedFromHints(t *testing.T) {
	cases := map[string]string{
		``:                                     "write,communicate",
		`,"annotations":{"readOnlyHint":true}`: "read",
		`,"annotations":{"readOnlyHint":true,"openWorldHint":true}`:                          "read",
		`,"annotations":{"destructiveHint":true}`:                                            "write,delete,communicate",
		`,"annotations":{"destructiveHint":true,"openWorldHint":true}`:                       "write,delete,communicate",
		`,"annotations":{"readOnlyHint":false}`:                                              "write,communicate",
		`,"annotations":{"readOnlyHint":false,"destructiveHint":false}`:                      "write,communicate",
		`,"annotations":{"openWorldHint":false}`:                                             "write",
		`,"annotations":{"destructiveHint":true,"openWorldHint":false}`:                      "write,delete",
		`,"annotations":{"openWorldHint":true}`:                                              "write,communicate",
		`,"annotations":{"readOnlyHint":"true"}`:                                             "write,communicate",
		`,"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true}`: "write,delete,communicate",
	}
	for annotations, want := range cases {
		got := offers(t, `{"name":"x","inputSchema":{"type":"object"}`+annotations+`}`)
		if got[0].Definition.Effects.String() != want {
			t.Errorf("%s: %s, want %s", annotations, got[0].Definition.Effects, want)
		}
	}
}

// What apps are not given of a definition is told to the owner (field faults,
// FF13).
func TestWhatIsWithheldIsShown(t *testing.T) {
	const closed = `"inputSchema":{"type":"object","properties":{},"additionalProperties":false}`
	for raw, want := range map[string]string{
		`{"name":"a",` + closed + `}`: "",
		`{"name":"a",` + closed + `,"title":"A","annotations":{"title":"A","readOnlyHint":true,"idempotentHint":true}}`:                   "",
		`{"name":"a",` + closed + `,"annotations":{"title":"A"}}`:                                                                         "",
		`{"name":"a",` + closed + `,"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}}`: "",
		`{"name":"a",` + closed + `,"outputSchema":{"not":{"type":"string"}}}`:                                                            "-withhold_output /outputSchema",
		`{"name":"a",` + closed + `,"icons":[{"src":"https://x.example/a.png"}],"_meta":{"a":1},"execution":{"taskSupport":"optional"}}`:  "+withhold_member /_meta,+withhold_member /execution,+withhold_member /icons",
		`{"name":"a",` + closed + `,"title":"A","annotations":{"title":"B","seen\u200b":1}}`:                                              `+withhold_member /annotations/title,+withhold_member /annotations/seen\u{200b}`,
	} {
		var got adminwire.PlannedTool
		if err := strictjson.Decode(offers(t, raw)[0].Review, strictjson.Limits{}, &got); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		var told []string
		for _, d := range got.Decisions {
			told = append(told, "+"+d.Kind+" "+d.Pointer)
			if said := narrowing.Decision(d).String(); !strings.HasPrefix(said, d.Pointer+": ") {
				t.Errorf("the owner reads %q", said)
			}
		}
		for _, d := range got.Lost {
			told = append(told, "-"+d.Kind+" "+d.Pointer)
		}
		if strings.Join(told, ",") != want || got.Reason != nil {
			t.Errorf("%s: told %q, want %q; reason %v", raw, told, want, got.Reason)
		}
	}
}

// What one tool has wrong with it is told of that tool and harms no other.
func TestAToolThatCannotBeImportedIsShownWithTheReason(t *testing.T) {
	long := strings.Repeat("x", 9<<10)
	cases := map[string]string{
		`{"name":"a"}`: "/inputSchema the tool has no input schema",
		`{"name":"a","inputSchema":{"type":"object","properties":{"p":{"x-mcp-header":"P","type":"string"}},"required":["p"]}}`: "x-mcp-header",
		`{"name":"a","inputSchema":{"type":"object"},"description":"` + long + `"}`:                                             "/description",
		`{"name":"a","inputSchema":{"type":"object","properties":{"p":{"$ref":"https://e.example/s"}},"required":["p"]}}`:       "$ref",
		`{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`:                                   "/execution/taskSupport",
		`{"name":"a","inputSchema":[]}`: "/inputSchema",
		`{"name":"a","x-mcp-f":1,"x-mcp-b":1,"x-mcp-e":1,"X-MCP-a":1,"x-mcp-d":1,"x-mcp-c":1,"x-mcp-g":1,"x-mcp-h":1}`: "/X-MCP-a not importable: X-MCP-a",
		`{"name":"a","inputSchema":{},"name":"b"}`: "",
	}
	for raw, want := range cases {
		got := offers(t, raw, `{"name":"good","inputSchema":{"type":"object"}}`)
		if got[0].Refusal == "" || !strings.Contains(got[0].Refusal, want) {
			t.Errorf("%.80s: refused with %q, want %q in it", raw, got[0].Refusal, want)
		}
		if got[1].Refusal != "" {
			t.Errorf("beside it a good tool is refused with %q", got[1].Refusal)
		}
	}
}

func TestAToolThatCouldNotBeTakenIsARefusedRow(t *testing.T) {
	u := list(`{"name":"good","inputSchema":{"type":"object"}}`)
	u.tools = append(u.tools, importer.Tool{Name: "fat", Trouble: fault.New(fault.TooLarge, "over the bound")})
	s := &shelf{}
	if _, err := importer.New(s, u, slog.New(slog.DiscardHandler)).Add(t.Context(), id.New[id.Owner](), entry); err != nil {
		t.Fatal(err)
	}
	if s.offers[0].Refusal != "" || s.offers[1].Refusal != "over the bound" || s.offers[1].Binding.Tooldef.IsZero() {
		t.Errorf("%+v", s.offers)
	}
}

func TestTheDigestPinsTheWholeToolAndNothingOfItsSpelling(t *testing.T) {
	base := `{"name":"x","title":"T","description":"d","inputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":100}}},"annotations":{"readOnlyHint":true},"_meta":{"k":1}}`
	same := []string{
		`{"_meta":{"k":1},"annotations":{"readOnlyHint":true},"title":"T","name":"x", "description":"d","inputSchema":{"properties":{"n":{"maximum":1e2,"type":"number"}},"type":"object"}}`,
	}
	other := []string{
		strings.Replace(base, `"T"`, `"t"`, 1), strings.Replace(base, `"d"`, `"D"`, 1), strings.Replace(base, `100`, `101`, 1),
		strings.Replace(base, `true`, `false`, 1), strings.Replace(base, `"k":1`, `"k":2`, 1),
		strings.Replace(base, `"_meta"`, `"outputSchema":{"type":"object"},"_meta"`, 1),
	}
	want := offers(t, base)[0].Binding.Tooldef
	for _, raw := range same {
		if got := offers(t, raw)[0].Binding.Tooldef; got != want {
			t.Errorf("a spelling counts as drift: %s", raw)
		}
	}
	for _, raw := range other {
		if got := offers(t, raw)[0].Binding.Tooldef; got == want {
			t.Errorf("a change goes unseen: %s", raw)
		}
	}
	// Numbers without an exact canonical form are pinned as they are spelled.
	big := strings.Replace(base, `100`, `9223372036854775807`, 1)
	near := strings.Replace(base, `100`, `9223372036854775806`, 1)
	if a, b := offers(t, big)[0].Binding.Tooldef, offers(t, near)[0].Binding.Tooldef; a == b || a.IsZero() {
		t.Error("two large bounds share a digest")
	}
}

func TestModelsAreToldWhatTheOwnerSaw(t *testing.T) {
	got := offers(t, `{"name":"x","inputSchema":{"type":"object"},"description":"ok\u200b\u202ehidden","annotations":{"title":"From annotations"}}`)[0]
	want := struct{ Title, Description string }{"From annotations", `ok\u{200b}\u{202e}hidden`}
	if diff := cmp.Diff(want, struct{ Title, Description string }{got.Definition.Title, got.Definition.Description}); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsStoredOfAServerThatCannotBeListed(t *testing.T) {
	down := fault.New(fault.Unavailable, "it does not start")
	for name, u := range map[string]*upstream{"down": {err: down, used: map[id.Adapter]bool{}}, "empty": list()} {
		s := &shelf{}
		im := importer.New(s, u, slog.New(slog.DiscardHandler))
		if _, err := im.Add(t.Context(), id.New[id.Owner](), entry); err == nil || len(s.adapters)+len(s.offers) > 0 {
			t.Errorf("%s: %v, stored %v", name, err, s.adapters)
		}
		if len(u.used) > 0 {
			t.Errorf("%s: the connection is kept", name)
		}
	}
	u := list(`{"name":"x","inputSchema":{"type":"object"}}`)
	s := &shelf{err: errors.New("the name is taken")}
	if _, err := importer.New(s, u, slog.New(slog.DiscardHandler)).Add(t.Context(), id.New[id.Owner](), entry); err == nil || len(u.used) > 0 || s.offers != nil {
		t.Errorf("a refused entry leaves %v %v", u.used, s.offers)
	}
}

// An entry is there with its tools or not at all, whatever goes wrong after it
// was listed.
func TestAnEntryIsThereWholeOrNotAtAll(t *testing.T) {
	const tool = `{"name":"a","inputSchema":{"type":"object"}}`
	add := func(s *shelf, u *upstream) error {
		_, err := importer.New(s, u, slog.New(slog.DiscardHandler)).Add(t.Context(), id.New[id.Owner](), entry)
		return err
	}
	s, u := &shelf{full: errors.New("no room")}, list(tool)
	if err := add(s, u); err == nil || s.adapters[0].State != view.Removed || len(u.used) > 0 {
		t.Errorf("tools that cannot be stored: %v, entry %s, %d connections", err, s.adapters[0].State, len(u.used))
	}
	s, u = &shelf{}, list(tool)
	u.once = true
	if err := add(s, u); err != nil || s.adapters[0].State != view.Enabled || s.merged != 1 || len(u.used) != 1 {
		t.Errorf("a second listing that fails: %v, entry %s, %d listings", err, s.adapters[0].State, s.merged)
	}
}

func TestPlanStoresNothing(t *testing.T) {
	s, u := &shelf{}, list(`{"name":"x","inputSchema":{"type":"object","properties":{"t":{"type":"string"}}}}`)
	got, err := importer.New(s, u, slog.New(slog.DiscardHandler)).Plan(t.Context(), id.New[id.Owner](), entry)
	if err != nil || len(got) != 1 || got[0].Outcome != narrowing.Narrowed || len(got[0].Decisions) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if len(s.adapters)+len(s.offers)+len(u.used) > 0 {
		t.Errorf("a plan left something behind: %+v %+v", s, u.used)
	}
}

// Whatever a server lists, a tool is refused by itself or becomes a method that a
// contract can hold.
func FuzzListing(f *testing.F) {
	file, err := os.ReadFile("../../domain/pool/narrowing/testdata/tool-schemas.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		f.Add(line)
	}
	f.Add([]byte(`{"name":"x","inputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1e300,"minimum":-1e400}}},"outputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1e300}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &shelf{}
		u := &upstream{tools: []importer.Tool{{Name: "x", Raw: raw}}, used: map[id.Adapter]bool{}}
		if _, err := importer.New(s, u, slog.New(slog.DiscardHandler)).Add(t.Context(), id.New[id.Owner](), entry); err != nil {
			t.Fatal(err)
		}
		kept, _ := resource.Merge(nil, s.offers, func(int) string { return "https://x.invalid/contracts/imported/x/v1" })
		m := kept[0].Method
		m.Pin() // every method is pinned, refused ones too
		if m.State == resource.Refused {
			return
		}
		if _, err := contract.New(m.Contract, "x", []contract.Method{m.Definition}); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	})
}

func TestRemoteEntriesAreHeldToTheirForm(t *testing.T) {
	headers := func(pairs ...string) importer.Entry {
		e := importer.Entry{Name: "far", URL: "https://a.example/mcp", Headers: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			e.Headers[pairs[i]] = pairs[i+1]
		}
		return e
	}
	for _, e := range []importer.Entry{headers(), headers("Authorization", "Bearer x", "X-Api-Key", "a\tb"), headers("x", strings.Repeat("v", 8<<10-22))} {
		if err := e.Check(); err != nil {
			t.Errorf("%v: %v", e.Headers, err)
		}
	}
	both, bare := headers(), importer.Entry{Name: "near", Command: "x", Exception: "y"}
	both.Command = "x"
	refused := []importer.Entry{both, bare, headers("", "x"), headers("a b", "x"), headers("a:", "x"), headers("x", "a\nb"), headers("x", "ä"), headers("x", strings.Repeat("v", 8<<10))}
	for _, name := range []string{"Host", "Mcp-Session-Id", "MCP-Protocol-Version", "Content-Type", "Content-Length", "Accept-Encoding", "Connection", "Transfer-Encoding", "Cookie", "Proxy-Authorization", "User-Agent"} {
		refused = append(refused, headers(name, "x"))
	}
	for _, e := range refused {
		if err := e.Check(); !fault.Is(err, fault.InvalidRequest) && !fault.Is(err, fault.TooLarge) {
			t.Errorf("%+v: %v", e, err)
		}
	}
	// Nothing is listed, and so nothing stored, of a server that must not be reached.
	up := &upstream{used: map[id.Adapter]bool{}, away: fault.New(fault.Unavailable, "inside").With("exception", "x=y")}
	store := &shelf{}
	_, err := importer.New(store, up, slog.New(slog.DiscardHandler)).Add(t.Context(), id.New[id.Owner](), headers())
	if fault.From(err).Details["exception"] != "x=y" || len(up.used) != 0 || len(store.adapters) != 0 {
		t.Errorf("%v, %d used, %d stored", err, len(up.used), len(store.adapters))
	}
}
