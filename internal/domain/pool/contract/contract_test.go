package contract_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const (
	url   = "https://notes.example/contracts/notes/v1"
	empty = `{"additionalProperties":false,"type":"object"}`
)

func method(id string) contract.Method {
	reads, err := effect.SetOf(effect.Read)
	if err != nil {
		panic(err)
	}
	return contract.Method{ID: id, Title: "T", Description: "D", Input: strictjson.Raw(empty),
		Effects: reads, Errors: []fault.Code{fault.NotFound}}
}

func document(t *testing.T, methods ...contract.Method) contract.Document {
	t.Helper()
	d, err := contract.New(url, "Notes", methods)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func numbered(n int) []contract.Method {
	var methods []contract.Method
	for i := range n {
		methods = append(methods, method(fmt.Sprintf("m%02d", i)))
	}
	return methods
}

func TestImportedContractsAreToldFromOthers(t *testing.T) {
	if !contract.IsImported(contract.ImportedURL("0k3h", "e1")) {
		t.Error("a contract that was named for an import is not taken for one")
	}
	for _, other := range []string{url, contract.ItemStoreURL, "https://h/contracts/imported/e1/v1", "https://steward.invalid/contracts/imported/e1/v1"} {
		if contract.IsImported(other) {
			t.Errorf("%s is taken for an import's", other)
		}
	}
}

func TestCheckURL(t *testing.T) {
	atLimit := func(more int) string {
		const head, tail = "https://h/contracts/", "/v1"
		return head + strings.Repeat("a", bound.ContractURLBytes.Int()-len(head)-len(tail)+more) + tail
	}
	for _, good := range []string{
		url, contract.ItemStoreURL, contract.ProfileURL, contract.GrantsURL, contract.JournalURL,
		contract.ImportedURL("0k3h", strings.Repeat("f", 64)),
		"https://h/contracts/a/v999999999", "https://a-b.c1:8443/contracts/a/b_c/d.e-f/v20", "https://h/contracts/v1/v2",
		"https://h/contracts/contracts/v1", atLimit(0),
	} {
		if err := contract.CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "https://", "http://h/contracts/a/v1", "HTTPS://h/contracts/a/v1", "https://h/contracts/a/v1 ", " https://h/contracts/a/v1",
		"https:///contracts/a/v1", "https://H/contracts/a/v1", "https://u@h/contracts/a/v1", "https://u:p@h/contracts/a/v1",
		"https://:8443/contracts/a/v1", "https://h:/contracts/a/v1", "https://h:0443/contracts/a/v1", "https://h:123456/contracts/a/v1", "https://h:1:2/contracts/a/v1",
		"https://h..i/contracts/a/v1", "https://.h/contracts/a/v1", "https://h./contracts/a/v1", "https://-h/contracts/a/v1",
		"https://[::1]/contracts/a/v1", "https://ä.example/contracts/a/v1", "https://h_i/contracts/a/v1",
		"https://h/contract/a/v1", "https://h/x/contracts/a/v1", "https://h/contracts/v1", "https://h/contracts//v1",
		"https://h/contracts//a/v1", "https://h/contracts/a//v1", "https://h/contracts/a//b/v1", "https://h/contracts/./v1",
		"https://h/contracts/../v1", "https://h/contracts/a/../b/v1", "https://h/contracts/.a/v1", "https://h/contracts/a./v1",
		"https://h/contracts/A/v1", "https://h/contracts/ä/v1", "https://h/contracts/a%2fb/v1", "https://h/contracts/a\\b/v1",
		"https://h/contracts/a/v1/", "https://h/contracts/a/v1?x", "https://h/contracts/a/v1#x", "https://h/contracts/a/v1\n",
		"https://h/contracts/a", "https://h/contracts/a/", "https://h/contracts/a/v", "https://h/contracts/a/1", "https://h/contracts/a/v0",
		"https://h/contracts/a/v01", "https://h/contracts/a/v+1", "https://h/contracts/a/v-1", "https://h/contracts/a/v1.0",
		"https://h/contracts/a/V1", "https://h/contracts/a/v9999999999", "https://h/contracts/a\x00/v1", atLimit(1),
	} {
		if err := contract.CheckURL(bad); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCheckMethodID(t *testing.T) {
	for _, good := range []string{"a", "Z", "get_item-2", "a_", "a-", strings.Repeat("a", 64)} {
		if err := contract.CheckMethodID(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "1a", "_a", "-a", "a.b", "a/b", "a b", "a\x00", "ä", "aä", "a\n", strings.Repeat("a", 65)} {
		if err := contract.CheckMethodID(bad); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// However a document is written, it is kept in one form, which reads as itself.
func TestADocumentHasOneForm(t *testing.T) {
	put := method("put")
	put.Input = strictjson.Raw(`{ "type":"object", "additionalProperties":false,"properties":{"n":{"type":"integer","minimum":0.0,"maximum":1e2}} }`)
	put.Output = strictjson.Raw(`{"type":"object", "properties":{"ns":{"type":"integer"}}}`)
	put.Precondition = true
	given := []contract.Method{put, method("get")}
	d := document(t, given...)

	kept := put
	kept.Input = strictjson.Raw(`{"additionalProperties":false,"properties":{"n":{"maximum":100,"minimum":0,"type":"integer"}},"type":"object"}`)
	kept.Output = strictjson.Raw(`{"properties":{"ns":{"type":"integer"}},"type":"object"}`)
	want := contract.Document{URL: url, Title: "Notes", Methods: []contract.Method{method("get"), kept}}
	if diff := cmp.Diff(want, d, cmp.AllowUnexported(effect.Set{})); diff != "" {
		t.Errorf("New (-want +got)\n%s", diff)
	}
	if !bytes.Contains(given[0].Input, []byte("1e2")) {
		t.Error("what the caller gave was changed")
	}
	again, err := contract.Parse(d.Encode())
	if diff := cmp.Diff(d, again, cmp.AllowUnexported(effect.Set{})); err != nil || diff != "" {
		t.Errorf("Parse (-want +got) %v\n%s", err, diff)
	}
	if again.Digest() != d.Digest() || document(t, method("get"), put).Digest() != d.Digest() {
		t.Error("the digest depends on order or spelling")
	}
	for id, want := range map[string]contract.Method{"get": method("get"), "put": kept} {
		got, ok := d.Method(id)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(effect.Set{})); !ok || diff != "" {
			t.Errorf("%s (-want +got) %v\n%s", id, ok, diff)
		}
	}
	for _, id := range []string{"", "ge", "gets", "PUT"} {
		if m, ok := d.Method(id); ok || m.ID != "" {
			t.Errorf("%q is found as %+v", id, m)
		}
	}
}

// A grant pins one method: what changes there changes its digest and the
// document's, and no other method's.
func TestDigestsPin(t *testing.T) {
	before := document(t, method("get"), method("put"))
	sums := map[digest.Digest]string{}
	for name, change := range map[string]func(*contract.Method){
		"nothing":      func(*contract.Method) {},
		"id":           func(m *contract.Method) { m.ID = "puts" },
		"title":        func(m *contract.Method) { m.Title = "U" },
		"description":  func(m *contract.Method) { m.Description = "" },
		"input":        func(m *contract.Method) { m.Input = strictjson.Raw(`{"title":"x",` + empty[1:]) },
		"output":       func(m *contract.Method) { m.Output = strictjson.Raw(`{"type":"object"}`) },
		"effects":      func(m *contract.Method) { m.Effects, _ = effect.SetOf(effect.Read, effect.Write) },
		"precondition": func(m *contract.Method) { m.Precondition = true },
		"errors":       func(m *contract.Method) { m.Errors = nil },
	} {
		m := method("put")
		change(&m)
		after := document(t, method("get"), m)
		sum := after.Methods[1].Digest()
		if other, ok := sums[sum]; ok {
			t.Errorf("%s and %s are pinned alike", name, other)
		}
		sums[sum] = name
		if same := name == "nothing"; (after.Digest() == before.Digest()) != same || (sum == before.Methods[1].Digest()) != same {
			t.Errorf("%s: method %s, document %s", name, sum, after.Digest())
		}
		if after.Methods[0].Digest() != before.Methods[0].Digest() {
			t.Errorf("%s of one method changed another", name)
		}
	}
	if renamed, err := contract.New(url, "Other", before.Methods); err != nil || renamed.Digest() == before.Digest() {
		t.Errorf("another title is pinned alike: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	with := func(change func(*contract.Method)) []contract.Method {
		m := method("a")
		change(&m)
		return []contract.Method{method("b"), m}
	}
	long := func(row bound.Row) string { return strings.Repeat("x", row.Int()+1) }
	for name, c := range map[string]struct {
		methods []contract.Method
		code    fault.Code
	}{
		"no method":          {nil, fault.InvalidRequest},
		"33 methods":         {numbered(33), fault.TooLarge},
		"an id twice":        {[]contract.Method{method("a"), method("b"), method("a")}, fault.InvalidRequest},
		"no id":              {with(func(m *contract.Method) { m.ID = "" }), fault.InvalidRequest},
		"no effects":         {with(func(m *contract.Method) { m.Effects = effect.Set{} }), fault.InvalidRequest},
		"a long title":       {with(func(m *contract.Method) { m.Title = long(bound.TitleBytes) }), fault.InvalidRequest},
		"a long description": {with(func(m *contract.Method) { m.Description = long(bound.DescriptionBytes) }), fault.InvalidRequest},
		"no input":           {with(func(m *contract.Method) { m.Input = nil }), fault.InvalidRequest},
		"input of an array": {with(func(m *contract.Method) {
			m.Input = strictjson.Raw(`{"type":"array","maxItems":1,"items":{"type":"null"}}`)
		}), fault.InvalidRequest},
		"an open input":          {with(func(m *contract.Method) { m.Input = strictjson.Raw(`{"type":"object"}`) }), fault.InvalidRequest},
		"output of any value":    {with(func(m *contract.Method) { m.Output = strictjson.Raw(`{}`) }), fault.InvalidRequest},
		"output that is no JSON": {with(func(m *contract.Method) { m.Output = strictjson.Raw(`{`) }), fault.InvalidRequest},
		"too much in all": {func() []contract.Method {
			methods := numbered(9)
			for i := range methods {
				methods[i].Description = strings.Repeat("x", bound.DescriptionBytes.Int())
			}
			return methods
		}(), fault.TooLarge},
	} {
		if d, err := contract.New(url, "Notes", c.methods); !fault.Is(err, c.code) || len(d.Methods) > 0 {
			t.Errorf("%s: %v, %d methods", name, err, len(d.Methods))
		}
	}
	if _, err := contract.New("https://h/a", "Notes", numbered(1)); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("another URL: %v", err)
	}
	if _, err := contract.New(url, long(bound.TitleBytes), numbered(1)); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("a long title: %v", err)
	}
	if d := document(t, numbered(32)...); len(d.Methods) != 32 {
		t.Errorf("%d of 32 methods", len(d.Methods))
	}
}

func TestParseIsStrict(t *testing.T) {
	const get = `{"title":"","description":"","input":` + empty + `,"effects":"read","precondition":false,"errors":[]}`
	whole := func(methods string) string { return `{"id":"` + url + `","title":"Notes","methods":{` + methods + `}}` }
	if _, err := contract.Parse([]byte(whole(`"get":` + get))); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		``, `null`, `[]`, whole(``), whole(`"get":` + get + `,"get":` + get), whole(`"get":` + get + `,"\u0067et":` + get), whole(`"get":null`),
		whole(`"g.t":` + get), whole(`"get":{"id":"get",` + get[1:]), whole(`"get":{"Title":"",` + get[1:]),
		whole(`"get":` + strings.Replace(get, `"read"`, `"reads"`, 1)), whole(`"get":` + strings.Replace(get, `"read"`, `""`, 1)),
		whole(`"get":`+get) + ` {}`, strings.Replace(whole(`"get":`+get), `"id"`, `"url"`, 1), strings.Replace(whole(`"get":`+get), url, "x", 1),
	} {
		if d, err := contract.Parse([]byte(bad)); !fault.Is(err, fault.InvalidRequest) || d.URL != "" {
			t.Errorf("%s is read as %+v, %v", bad, d, err)
		}
	}
	var ids []string
	for i := range 33 {
		ids = append(ids, fmt.Sprintf(`"m%d":%s`, i, get))
	}
	if _, err := contract.Parse([]byte(whole(strings.Join(ids, ",")))); !fault.Is(err, fault.TooLarge) {
		t.Errorf("33 methods: %v", err)
	}
}

// published are the contracts that anyone can read in the tree.
func published(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../../../contracts/pool/*.json")
	if err != nil || len(names) < 4 {
		t.Fatalf("%d contracts are published, %v", len(names), err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		if out[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestPublishedContracts(t *testing.T) {
	got := map[string]string{}
	for name, raw := range published(t) {
		d, err := contract.Parse(raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got[name] = d.URL
	}
	want := map[string]string{"grants-v1.json": contract.GrantsURL, "item-store-v1.json": contract.ItemStoreURL,
		"journal-v1.json": contract.JournalURL, "profile-v1.json": contract.ProfileURL}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is accepted is encoded in a form that reads as itself, and each of its
// methods is found.
func FuzzParse(f *testing.F) {
	for _, raw := range published(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := contract.Parse(raw)
		if err != nil {
			if d.URL != "" || d.Methods != nil {
				t.Fatalf("refused and still gives %+v", d)
			}
			return
		}
		encoded := d.Encode()
		if bound.DescriptorBytes.Check(len(encoded)) != nil || bound.ContractMethods.Check(len(d.Methods)) != nil {
			t.Fatalf("accepted %d methods in %d bytes", len(d.Methods), len(encoded))
		}
		again, err := contract.Parse(encoded)
		if err != nil || !bytes.Equal(again.Encode(), encoded) || again.Digest() != d.Digest() {
			t.Fatalf("%s reads as %s, %v", encoded, again.Encode(), err)
		}
		if !slices.IsSortedFunc(d.Methods, func(a, b contract.Method) int { return strings.Compare(a.ID, b.ID) }) {
			t.Fatal("the methods are not in order")
		}
		for _, m := range d.Methods {
			other, ok := again.Method(m.ID)
			if !ok || other.Digest() != m.Digest() {
				t.Fatalf("%s is pinned as %s, then as %s", m.ID, m.Digest(), other.Digest())
			}
		}
	})
}
