// Package digest is the one encoder of everything that is hashed. A digest is
// SHA-256 over the name of its domain, a NUL and the bytes (pool page, section
// 2), so that two things of different nature never share one.
//
// JSON is hashed in its canonical form; strings are not normalised. Values that
// are no single document are joined by Fields, in which no two lists of values
// look alike. The vectors in testdata are a promise: a digest that they hold
// never changes; a changed rule takes a new domain.
//
// The package keeps nothing and sets no bound beyond the Limits that it is
// given. Everything but a Fields is safe for concurrent use.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const prefix = "sha256:"

// Digest is one comparable hash. The zero value is no digest.
type Digest struct{ sum [sha256.Size]byte }

// Of hashes bytes as they are.
func Of(domain Domain, data []byte) Digest {
	h := sha256.New()
	io.WriteString(h, string(domain))
	h.Write([]byte{0})
	h.Write(data)
	var d Digest
	h.Sum(d.sum[:0])
	return d
}

// JSON hashes the canonical form of a document; its faults are those of
// strictjson.Canonical.
func JSON(domain Domain, raw []byte, lim strictjson.Limits) (Digest, error) {
	canonical, err := strictjson.Canonical(raw, lim)
	if err != nil {
		return Digest{}, err
	}
	return Of(domain, canonical), nil
}

// Parse reads the text form, byte for byte: sha256: and 64 lower-case
// hexadecimal digits, not all of them zero. The fault is invalid_request.
func Parse(text string) (Digest, error) {
	var d Digest
	body, ok := strings.CutPrefix(text, prefix)
	if !ok || len(body) != hex.EncodedLen(len(d.sum)) || strings.ToLower(body) != body {
		return Digest{}, malformed()
	}
	if _, err := hex.Decode(d.sum[:], []byte(body)); err != nil || d.IsZero() {
		return Digest{}, malformed()
	}
	return d, nil
}

func malformed() error {
	return fault.New(fault.InvalidRequest, "not a digest of the form sha256:…")
}

// String is the text form; of the zero value it is empty.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	var text [len(prefix) + 2*sha256.Size]byte
	copy(text[:], prefix)
	hex.Encode(text[len(prefix):], d.sum[:])
	return string(text[:])
}

// Bits128 is the first half, for ids that follow from what they name.
func (d Digest) Bits128() (b [16]byte) {
	copy(b[:], d.sum[:])
	return b
}

// IsZero reports whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText writes the text form; the zero value is the empty text.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is Parse; the empty text gives the zero value.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	got, err := Parse(string(text))
	*d = got
	return err
}
