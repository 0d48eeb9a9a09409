package secret_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/secret"
)

const plain = "hunter2"

type holder struct {
	Shown  secret.Secret
	hidden secret.Secret
	list   []secret.Secret
	byName map[string]*secret.Secret
}

// Nothing that formats, logs or encodes a secret gives its text, wherever the
// secret stands in a value.
func TestASecretIsNeverPrinted(t *testing.T) {
	s := secret.Of(plain)
	values := []any{
		s, &s, []secret.Secret{s}, map[string]secret.Secret{"k": s}, map[secret.Secret]int{s: 1}, struct{ any }{s},
		holder{s, s, []secret.Secret{s}, map[string]*secret.Secret{"k": &s}}, &holder{Shown: s, hidden: s},
	}
	verbs := []string{"no verb", "%[2]v", "%.*v", "%s %"}
	for c := range rune(128) {
		verbs = append(verbs, "%"+string(c), "%+"+string(c), "%#"+string(c), "%-12.3"+string(c))
	}
	for _, v := range values {
		for _, verb := range verbs {
			quiet(t, fmt.Sprintf("%T under %s", v, verb), fmt.Sprintf(verb, v))
			quiet(t, fmt.Sprintf("%T in an error under %s", v, verb), fmt.Errorf(verb, v).Error())
		}
		quiet(t, "Sprint", fmt.Sprint(v))
		quiet(t, "Errorf", fmt.Errorf("%w: %v", errors.New("x"), v).Error())
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(h).With("with", v).WithGroup("g").Info("m", "k", v)
		}
		quiet(t, "slog", log.String())
		encoded, _ := json.Marshal(v)
		quiet(t, "JSON", string(encoded))
	}
	if got := fmt.Sprintf("%s %+v %#v %q %d", s, s, s, s, s); got != strings.TrimSpace(strings.Repeat("[secret] ", 5)) {
		t.Errorf("a secret is shown as %s", got)
	}
	if got, err := json.Marshal(holder{Shown: s}); err != nil || string(got) != `{"Shown":"[secret]"}` {
		t.Errorf("in JSON it is %s, %v", got, err)
	}
}

func quiet(t *testing.T, how, got string) {
	t.Helper()
	if strings.Contains(got, plain) || strings.Contains(got, fmt.Sprintf("%x", plain)) || strings.Contains(got, fmt.Sprintf("%X", plain)) ||
		strings.Contains(got, fmt.Sprintf("%v", []byte(plain))) {
		t.Errorf("%s tells the secret: %s", how, got)
	}
}

func TestOnlyRevealGivesTheText(t *testing.T) {
	for _, text := range []string{"", plain} {
		s := secret.Of(text)
		if s.Reveal() != text || s.IsZero() != (text == "") {
			t.Errorf("%q: reveals %q, is zero: %v", text, s.Reveal(), s.IsZero())
		}
	}
	if got := (secret.Secret{}).Reveal(); got != "" {
		t.Errorf("no secret reveals %q", got)
	}
}

var kinds = []secret.Kind{secret.Access, secret.Refresh, secret.Invocation, secret.Client}

func TestTokensAreOfOneKindAndOneSpelling(t *testing.T) {
	form := regexp.MustCompile(`^stw_(at|rt|ic|cs)_[A-Za-z0-9_-]{43}$`)
	seen := map[string]bool{}
	for _, kind := range kinds {
		token := secret.NewToken(kind)
		text := token.Reveal()
		if !form.MatchString(text) || seen[text] {
			t.Errorf("%s: the token is %s", kind, text)
		}
		seen[text] = true
		for _, other := range kinds {
			hash, ok := secret.HashToken(other, token)
			if ok != (other == kind) || (ok && hash != sha256.Sum256([]byte(text))) || (!ok && hash != secret.Hash{}) {
				t.Errorf("%s read as %s gives %x, %v", kind, other, hash, ok)
			}
		}
		// The last character of 43 holds four bits; its other spellings are no token.
		last := strings.IndexByte(base64url, text[len(text)-1])
		for _, bad := range []string{
			"", string(kind), text[1:], text + "A", text + "=", text + "\n", " " + text, text[:len(text)-1], strings.ToUpper(text),
			text[:len(text)-1] + string(base64url[last^1]), text[:len(text)-1] + "!", text[:20] + "+" + text[21:],
		} {
			if _, ok := secret.HashToken(kind, secret.Of(bad)); ok {
				t.Errorf("%s: %q is taken for a token", kind, bad)
			}
		}
	}
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func TestHashesCompare(t *testing.T) {
	a, b := secret.Hash{1}, secret.Hash{1}
	if !secret.Equal(a, b) {
		t.Error("equal hashes differ")
	}
	for i := range b {
		c := b
		c[i] ^= 0x10
		if secret.Equal(a, c) {
			t.Errorf("a change of byte %d is not seen", i)
		}
	}
}
