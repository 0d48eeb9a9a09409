package digest_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

type vector struct {
	Domain digest.Domain  `json:"domain"`
	Bytes  *string        `json:"bytes"`
	JSON   *string        `json:"json"`
	Fields strictjson.Raw `json:"fields"`
	Digest string         `json:"digest"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	file, err := os.ReadFile("testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	for line := range bytes.Lines(file) {
		var v vector
		if err := strictjson.Decode(line, strictjson.Limits{}, &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		t.Fatal("no vectors")
	}
	return out
}

// The vectors were made by an implementation in another language. They must
// never change; new ones may be added.
func TestPublishedVectorsHold(t *testing.T) {
	seen := map[string]digest.Domain{}
	for _, v := range vectors(t) {
		var got digest.Digest
		switch {
		case v.Bytes != nil:
			got = digest.Of(v.Domain, []byte(*v.Bytes))
		case v.JSON != nil:
			var err error
			if got, err = digest.JSON(v.Domain, []byte(*v.JSON), strictjson.Limits{}); err != nil {
				t.Fatal(err)
			}
		default:
			got = joined(t, v.Fields).Sum(v.Domain)
		}
		if got.String() != v.Digest {
			t.Errorf("%+v: got %v", v, got)
		}
		seen[string(v.Domain)] = v.Domain
	}
	for _, d := range digest.Domains() {
		if seen[string(d)] == "" {
			t.Errorf("%q has no vector", d)
		}
	}
	if len(seen) != len(digest.Domains()) {
		t.Errorf("vectors name %d domains, the table has %d", len(seen), len(digest.Domains()))
	}
}

func joined(t *testing.T, raw strictjson.Raw) *digest.Fields {
	t.Helper()
	list, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f := new(digest.Fields)
	for _, item := range list.Items {
		if item.Kind == strictjson.Null {
			f.Absent()
		} else {
			f.Text(item.Text)
		}
	}
	return f
}

func TestDomainsAreDistinct(t *testing.T) {
	sums := map[digest.Digest]digest.Domain{}
	for _, d := range digest.Domains() {
		if strings.ContainsRune(string(d), 0) {
			t.Errorf("%q holds the separator", d)
		}
		sum := digest.Of(d, []byte("same"))
		if other, ok := sums[sum]; ok {
			t.Errorf("%q and %q share a digest", d, other)
		}
		sums[sum] = d
	}
}

func TestParseReadsOnlyTheOneSpelling(t *testing.T) {
	good := digest.Of(digest.Input, nil)
	for i := range good.String() {
		bad := []byte(good.String())
		bad[i] ^= 0x80
		refuse(t, string(bad))
		refuse(t, good.String()[:i])
	}
	refuse(t, strings.ToUpper(good.String()))
	refuse(t, "sha256:"+strings.ToUpper(good.String()[7:]))
	refuse(t, good.String()+"0")
	refuse(t, good.String()+"\n")
	refuse(t, " "+good.String())
	refuse(t, "sha512:"+good.String()[7:])
	refuse(t, "sha256:"+strings.Repeat("0", 64))

	var back digest.Digest
	text, _ := good.MarshalText()
	if err := back.UnmarshalText(text); err != nil || back != good {
		t.Errorf("round trip gives %v, %v", back, err)
	}
	if err := back.UnmarshalText(nil); err != nil || !back.IsZero() || back.String() != "" {
		t.Errorf("the empty text gives %v, %v", back, err)
	}
}

func refuse(t *testing.T, text string) {
	t.Helper()
	got, err := digest.Parse(text)
	if !fault.Is(err, fault.InvalidRequest) || !got.IsZero() {
		t.Errorf("%q: got %v, %v", text, got, err)
	}
}

func TestJSONRefusesWhatHasNoCanonicalForm(t *testing.T) {
	for _, raw := range []string{`9007199254740993`, `{"a":1,"a":1}`, `1e400`, ``} {
		if got, err := digest.JSON(digest.Input, []byte(raw), strictjson.Limits{}); !fault.Is(err, fault.InvalidRequest) || !got.IsZero() {
			t.Errorf("%s: got %v, %v", raw, got, err)
		}
	}
}

// The digest of a list of values tells the list, whatever the values hold.
func TestFieldsNeverCollide(t *testing.T) {
	value := rapid.Ptr(rapid.StringMatching(`[0-3a:,\-]{0,4}`), true)
	lists := rapid.SliceOfN(value, 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := lists.Draw(t, "a"), lists.Draw(t, "b")
		if equal(a, b) != (sum(a) == sum(b)) {
			t.Fatalf("equal lists: %v, equal digests: %v", equal(a, b), sum(a) == sum(b))
		}
	})
}

func sum(list []*string) digest.Digest {
	var f digest.Fields
	for _, s := range list {
		if s == nil {
			f.Absent()
		} else {
			f.Bytes([]byte(*s))
		}
	}
	return f.Sum(digest.Request)
}

func equal(a, b []*string) bool {
	return slices.EqualFunc(a, b, func(x, y *string) bool {
		return (x == nil) == (y == nil) && (x == nil || *x == *y)
	})
}

func TestFieldsOfOtherTypes(t *testing.T) {
	d := digest.Of(digest.Method, nil)
	got := new(digest.Fields).Int(-12).Digest(d).Digest(digest.Digest{}).Sum(digest.Audit)
	want := new(digest.Fields).Text("-12").Text(d.String()).Absent().Sum(digest.Audit)
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Digest)
	}
	f.Add("sha256:")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := digest.Parse(text)
		if err == nil && d.String() != text {
			t.Errorf("%q reads as %v", text, d)
		}
		if err != nil && !d.IsZero() {
			t.Errorf("%q is refused and still gives %v", text, d)
		}
	})
}
