package link_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/pool/link"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func reader() link.Reader {
	return link.Reader{Owner: id.New[id.Owner](), Client: id.New[id.Client]()}
}

// An address is found by its reader alone, is another for each server, and no part of
// it can be changed (threats, A59).
func TestAnAddressIsForOneReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, other := link.Key{1}, link.Key{2}
		a, b, one, two := reader(), reader(), id.New[id.Resource](), id.New[id.Resource]()
		uri := rapid.OneOf(rapid.StringN(1, 40, 200), rapid.SampledFrom([]string{"file:///a b", "x", "res://é/%2F?q#f", "steward://link/x", "httpx:1"})).
			Filter(func(s string) bool {
				return !strings.HasPrefix(strings.ToLower(s), "http") || strings.HasPrefix(s, "httpx")
			}).Draw(t, "uri")
		address := key.Address(a, one, uri)
		if which, found, ok := key.Find(a, address); which != one || found != uri || !ok || !link.Is(address) {
			t.Fatalf("%q is %q, which is %v %q %v", uri, address, which, found, ok)
		}
		for _, not := range []string{key.Address(b, one, uri), other.Address(a, one, uri),
			key.Address(link.Reader{Owner: a.Owner, Client: b.Client}, one, uri), key.Address(link.Reader{Owner: b.Owner, Client: a.Client}, one, uri)} {
			if _, _, ok := key.Find(a, not); ok || not == address {
				t.Fatalf("%q is found", not)
			}
		}
		if which, _, ok := key.Find(a, key.Address(a, two, uri)); which != two || !ok {
			t.Fatalf("another server's is %v %v", which, ok)
		}
		i := rapid.IntRange(0, len(address)-1).Draw(t, "at")
		bent := []byte(address)
		bent[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, _, ok := key.Find(a, string(bent)); ok {
			t.Fatalf("%q is found for %q", bent, address)
		}
		if _, _, ok := key.Find(a, address[:i]); ok {
			t.Fatalf("%q is found for %q", address[:i], address)
		}
	})
}

// In content nothing changes but the URIs of links and of embedded resources.
func TestContentKeepsItsOtherBytes(t *testing.T) {
	key, r, which := link.Key{7}, reader(), id.New[id.Resource]()
	at := func(uri string) string { return `"` + key.Address(r, which, uri) + `"` }
	long := strings.Repeat("x", bound.ResourceURIBytes.Int()+1)
	for name, c := range map[string]struct{ in, want string }{
		"a link": {`[{"type":"resource_link", "uri" : "file:///c","name":"\u0063","size":1e3}]`,
			`[{"type":"resource_link", "uri" : ` + at("file:///c") + `,"name":"\u0063","size":1e3}]`},
		"a spelled one":       {`[ {"uri":"file:///\u0063","type":"resource_\u006cink"} ]`, `[ {"uri":` + at("file:///c") + `,"type":"resource_\u006cink"} ]`},
		"an embedded one":     {`[{"type":"resource","resource":{"text":"\ud83d\ude00","uri":"a:1"},"x":[2.0]}]`, `[{"type":"resource","resource":{"text":"\ud83d\ude00","uri":` + at("a:1") + `},"x":[2.0]}]`},
		"several":             {`[{"type":"text","text":"uri"},{"type":"resource_link","uri":"a"},1,{"type":"resource_link","uri":"b"}]`, `[{"type":"text","text":"uri"},{"type":"resource_link","uri":` + at("a") + `},1,{"type":"resource_link","uri":` + at("b") + `}]`},
		"the web's":           {`[{"type":"resource_link","uri":"HTTPS://x.invalid/a"},{"type":"resource_link","uri":"http://x"}]`, ""},
		"none that is read":   {`[{"type":"resource_link","uri":""},{"type":"resource_link","uri":["a"]},{"type":"resource","uri":"a"},{"type":"resource","resource":"uri"},{"type":"text","uri":"a"},{"uri":"a"}]`, ""},
		"too long":            {`[{"type":"resource_link","uri":"` + long + `"}]`, ""},
		"no content of links": {`[{"type":"text","text":"a"}]`, ""},
		"empty":               {`[]`, ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		if got := string(key.Content(r, which, []byte(c.in))); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	var many, first []string
	for n := range bound.ResultLinks.Int() + 1 {
		uri := fmt.Sprint("a:", n)
		many = append(many, `{"type":"resource_link","uri":"`+uri+`"}`)
		if n < bound.ResultLinks.Int() {
			uri = key.Address(r, which, uri)
		}
		first = append(first, `{"type":"resource_link","uri":"`+uri+`"}`)
	}
	if got := string(key.Content(r, which, []byte("["+strings.Join(many, ",")+"]"))); got != "["+strings.Join(first, ",")+"]" {
		t.Errorf("over the bound: %s", got)
	}
}

// Whatever an upstream writes, the content stays JSON of the same shape.
func FuzzContent(f *testing.F) {
	f.Add([]byte(`[{"type":"resource_link","uri":"file:///c"},{"type":"resource","resource":{"uri":"a","text":"x"}}]`))
	f.Add([]byte(`[{"type":"resource","resource":{"resource":{"uri":"a"}}},"uri",{"uri":{"uri":1}}]`))
	key, r, which := link.Key{7}, reader(), id.New[id.Resource]()
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := key.Content(r, which, raw)
		if (strictjson.Check(raw, strictjson.Limits{}) == nil) != (strictjson.Check(out, strictjson.Limits{}) == nil) {
			t.Fatalf("%s became %s", raw, out)
		}
		before, err := strictjson.Parts(raw, strictjson.Limits{})
		after, bad := strictjson.Parts(out, strictjson.Limits{})
		if err == nil && (bad != nil || len(before) != len(after)) {
			t.Fatalf("%s became %s", raw, out)
		}
	})
}
