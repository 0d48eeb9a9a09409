package id_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// kind is one type of identifier, seen from outside its type.
type kind struct {
	prefix string
	typ    reflect.Type
	mint   func() string
	parse  func(text string) (string, error)
	decode func(text string) (string, error)
}

type textual[T any] interface {
	*T
	UnmarshalText([]byte) error
}

func kindOf[I interface {
	comparable
	fmt.Stringer
	MarshalText() ([]byte, error)
}, P textual[I]](prefix string, mint func() I, parse func(string) (I, error)) kind {
	return kind{
		prefix: prefix,
		typ:    reflect.TypeFor[I](),
		mint:   func() string { return mint().String() },
		parse:  func(text string) (string, error) { i, err := parse(text); return i.String(), err },
		decode: func(text string) (string, error) {
			i := mint()
			err := P(&i).UnmarshalText([]byte(text))
			out, _ := i.MarshalText()
			return string(out), err
		},
	}
}

var kinds = []kind{
	kindOf("own_", id.New[id.Owner], id.Parse[id.Owner]),
	kindOf("cli_", id.New[id.Client], id.Parse[id.Client]),
	kindOf("res_", id.New[id.Resource], id.Parse[id.Resource]),
	kindOf("rev_", id.New[id.Revision], id.Parse[id.Revision]),
	kindOf("cnt_", id.New[id.Contribution], id.Parse[id.Contribution]),
	kindOf("adp_", id.New[id.Adapter], id.Parse[id.Adapter]),
	kindOf("asg_", id.New[id.Assignment], id.Parse[id.Assignment]),
	kindOf("grn_", id.New[id.Grant], id.Parse[id.Grant]),
	kindOf("cns_", id.New[id.Consent], id.Parse[id.Consent]),
	kindOf("inv_", id.New[id.Invocation], id.Parse[id.Invocation]),
	kindOf("cnf_", id.New[id.Confirmation], id.Parse[id.Confirmation]),
	kindOf("nod_", id.New[id.Node], id.Parse[id.Node]),
	kindOf("tx_", id.New[id.Tx], id.Parse[id.Tx]),
}

func TestEveryKindComesBack(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]{2,3}_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
	seen := map[string]bool{}
	for _, k := range kinds {
		for range 100 {
			text := k.mint()
			if !form.MatchString(text) || !strings.HasPrefix(text, k.prefix) || seen[text] {
				t.Fatalf("%s: minted %s", k.prefix, text)
			}
			seen[text] = true
			if got, err := k.parse(text); err != nil || got != text {
				t.Errorf("%s parses as %q, %v", text, got, err)
			}
			if got, err := k.decode(text); err != nil || got != text {
				t.Errorf("%s decodes as %q, %v", text, got, err)
			}
		}
		if got, err := k.decode(""); err != nil || got != "" {
			t.Errorf("%s: the empty text decodes as %q, %v", k.prefix, got, err)
		}
	}
}

// No id of one kind is text of another, and no type converts to another.
func TestKindsNeverInterchange(t *testing.T) {
	for i, a := range kinds {
		for j, b := range kinds {
			text := a.mint()
			if _, err := b.parse(text); (err == nil) != (i == j) {
				t.Errorf("%s read as %s: %v", text, b.prefix, err)
			}
			if a.typ.ConvertibleTo(b.typ) != (i == j) {
				t.Errorf("%s converts to %s", a.prefix, b.prefix)
			}
		}
	}
}

// Whatever is not byte for byte an id is refused and gives no id.
func TestCorruptedIdsAreRefused(t *testing.T) {
	for _, k := range kinds {
		good := k.mint()
		bad := []string{"", k.prefix, good + "0", good + "\n", " " + good, good[1:], strings.ToUpper(good), good[len(k.prefix):], k.prefix + "8" + good[len(k.prefix)+1:]}
		for i := range good {
			bad = append(bad, good[:i], good[:i]+good[i+1:], good[:i]+"0"+good[i:])
			for c := range 256 {
				// A body character that is swapped for another of the alphabet is another id.
				changed := good[:i] + string([]byte{byte(c)}) + good[i+1:]
				if i < len(k.prefix) && byte(c) != good[i] || !strings.ContainsRune("0123456789abcdefghjkmnpqrstvwxyz", rune(c)) {
					bad = append(bad, changed)
				}
			}
		}
		for _, text := range bad {
			if text == good {
				continue
			}
			refuse(t, k, text)
		}
	}
}

func refuse(t *testing.T, k kind, text string) {
	t.Helper()
	got, err := k.parse(text)
	if !fault.Is(err, fault.InvalidRequest) || got != "" {
		t.Errorf("%s: %q parses as %q, %v", k.prefix, text, got, err)
	}
	if text == "" {
		return
	}
	if got, err := k.decode(text); !fault.Is(err, fault.InvalidRequest) || got != "" {
		t.Errorf("%s: %q decodes as %q, %v", k.prefix, text, got, err)
	}
}

func TestATxTellsWhenItWasMinted(t *testing.T) {
	for _, at := range []time.Time{
		time.UnixMilli(0), time.UnixMilli(1), time.Date(2026, 7, 1, 12, 0, 0, 999_999_999, time.FixedZone("", 3600)), time.UnixMilli(1<<48 - 1),
	} {
		tx := id.NewTx(at)
		if got, want := id.MintedAt(tx), at.Truncate(time.Millisecond).UTC(); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: got %v, want %v", tx, got, want)
		}
		if again := id.NewTx(at); again == tx {
			t.Errorf("two of one time are both %s", tx)
		}
	}
	if got := id.MintedAt(id.Tx{}); !got.IsZero() {
		t.Errorf("no tx was minted at %v", got)
	}
	earlier, later := id.NewTx(time.UnixMilli(1_700_000_000_000)), id.NewTx(time.UnixMilli(1_700_000_000_001))
	if earlier.String() >= later.String() {
		t.Errorf("%s does not sort before %s", earlier, later)
	}
	// Worked out elsewhere: 48 bits of time, then zeros.
	tx, err := id.Parse[id.Tx]("tx_01hf7yat000000000000000000")
	if err != nil || id.MintedAt(tx).UnixMilli() != 1_700_000_000_000 {
		t.Errorf("%s: %v, %v", tx, id.MintedAt(tx), err)
	}
}

func TestZeroIsNoId(t *testing.T) {
	var zero id.Owner
	text, err := zero.MarshalText()
	if !zero.IsZero() || zero.String() != "" || len(text) != 0 || err != nil || id.New[id.Owner]().IsZero() {
		t.Errorf("zero is %q, %q, %v", zero, text, err)
	}
}

// Text that is accepted is the id's own text.
func FuzzParse(f *testing.F) {
	for _, k := range kinds {
		f.Add(k.mint())
	}
	f.Add("tx_80000000000000000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		accepted := 0
		for _, k := range kinds {
			got, err := k.parse(text)
			if err == nil {
				accepted++
			}
			if (err == nil) != (got == text && text != "") || (err != nil && got != "") {
				t.Errorf("%q parses as %q, %v", text, got, err)
			}
		}
		if accepted > 1 {
			t.Errorf("%q is an id of %d kinds", text, accepted)
		}
	})
}
