// Package secret holds values that must not be printed. Every way of
// formatting, logging or encoding a Secret gives a fixed word instead.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
)

const redacted = "[secret]"

// Secret is text that only Reveal gives out. The zero value is no secret. Two
// secrets are compared by their hashes, not with ==.
//
// The text is behind a pointer, since fmt calls no method of a value in an
// unexported field, nor under a verb that it does not know, and prints what it
// finds there.
type Secret struct{ text *string }

// Of wraps text that came from outside.
func Of(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal gives the text to the one place that must send or show it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// Format writes the fixed word for every verb and flag.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// LogValue keeps a secret out of structured logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText keeps a secret out of every encoder.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Kind is the prefix that says what a token is for; kinds never interchange
// (pool page, section 2).
type Kind string

// The kinds of tokens.
const (
	Access     Kind = "stw_at_" // a consumer's bearer
	Refresh    Kind = "stw_rt_"
	Invocation Kind = "stw_ic_"
	Client     Kind = "stw_cs_"
)

const tokenBytes = 32

// Hash is the SHA-256 of a token, the only form that is stored.
type Hash [sha256.Size]byte

// NewToken mints a token of 32 random bytes.
func NewToken(kind Kind) Secret {
	var b [tokenBytes]byte
	rand.Read(b[:])
	return Of(string(kind) + base64.RawURLEncoding.EncodeToString(b[:]))
}

// HashToken gives the stored form of a token of this kind, and false for text
// that cannot be one.
func HashToken(kind Kind, token Secret) (Hash, bool) {
	body, ok := strings.CutPrefix(token.Reveal(), string(kind))
	if !ok || len(body) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return Hash{}, false
	}
	if _, err := base64.RawURLEncoding.Strict().DecodeString(body); err != nil {
		return Hash{}, false
	}
	return sha256.Sum256([]byte(token.Reveal())), true
}

// Equal compares two hashes in constant time.
func Equal(a, b Hash) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// proofBytes is how long the random part of a proof is.
const proofBytes = 32

// NewProof mints a secret without a kind: 32 random bytes in base64url (guide,
// Executor authority). It serves where the message says what it is for.
func NewProof() Secret {
	var b [proofBytes]byte
	rand.Read(b[:])
	return Of(base64.RawURLEncoding.EncodeToString(b[:]))
}

// HashProof gives the stored form of a proof. Text that cannot be one has a hash
// that nothing equals.
func HashProof(proof Secret) Hash { return sha256.Sum256([]byte(proof.Reveal())) }
