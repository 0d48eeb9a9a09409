// Package id makes and reads identifiers. Each kind of thing has its own type,
// so that an owner can never stand where a client belongs, and a request field
// becomes an id only by Parse.
//
// An id is three letters, an underscore and 26 characters of lower-case
// Crockford base32 for 128 bits (pool page, section 2). Ids are comparable
// values; the zero value is no id.
package id

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/ground/fault"
)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const (
	randomBytes = 16
	bodyLen     = 26 // 130 bits; the top two are zero
)

type kind interface{ prefix() string }

// ID is an identifier of one kind; use the named types below.
type ID[K kind] struct {
	_    [0]K // keeps Go from converting one kind to another
	text string
}

func of[K kind](text string) ID[K] { return ID[K]{text: text} }

// New mints an id from the system's randomness.
func New[I ID[K], K kind]() I {
	var b [randomBytes]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return I(of[K](prefixOf[K]() + encode(b)))
}

// Body is the id without the letters of its kind: one token of lower-case
// base32, for names that tell the kind by their place.
func (i ID[K]) Body() string {
	var k K
	return strings.TrimPrefix(i.text, k.prefix()+"_")
}

// Named is an id that follows from 128 bits, such as those of a digest: equal
// bits give equal ids, today and in any later build.
func Named[I ID[K], K kind](bits [16]byte) I {
	return I(of[K](prefixOf[K]() + encode(bits)))
}

// Parse reads an id of the wanted kind, byte for byte.
func Parse[I ID[K], K kind](text string) (I, error) {
	prefix := prefixOf[K]()
	if len(text) != len(prefix)+bodyLen || text[:len(prefix)] != prefix || !wellFormed(text[len(prefix):]) {
		return I{}, fault.Newf(fault.InvalidRequest, "not an id of the form %s…", prefix)
	}
	return I(of[K](text)), nil
}

// String is the id as it stands on every wire.
func (i ID[K]) String() string { return i.text }

// IsZero reports whether there is no id.
func (i ID[K]) IsZero() bool { return i.text == "" }

// MarshalText writes the id; the zero id is the empty text.
func (i ID[K]) MarshalText() ([]byte, error) { return []byte(i.text), nil }

// UnmarshalText is Parse; the empty text gives the zero id.
func (i *ID[K]) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*i = ID[K]{}
		return nil
	}
	got, err := Parse[ID[K]](string(text))
	*i = got
	return err
}

// NewTx mints a transaction id as a client does: 48 bits of Unix milliseconds,
// then 80 random bits.
func NewTx(now time.Time) Tx {
	var b [randomBytes]byte
	rand.Read(b[:])
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(b[:6], ms[2:])
	return of[txKind](prefixOf[txKind]() + encode(b))
}

// MintedAt is the time that the client wrote into a tx. It is a claim. No tx
// gives the zero time.
func MintedAt(tx Tx) time.Time {
	b, ok := decode(strings.TrimPrefix(tx.text, prefixOf[txKind]()))
	if !ok {
		return time.Time{}
	}
	var ms [8]byte
	copy(ms[2:], b[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))).UTC()
}

func prefixOf[K kind]() string {
	var k K
	return k.prefix() + "_"
}

func encode(b [randomBytes]byte) string {
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var out [bodyLen]byte
	for i := bodyLen - 1; i >= 0; i-- {
		out[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}

func decode(body string) (b [randomBytes]byte, ok bool) {
	var hi, lo uint64
	for i := range len(body) {
		v := index(body[i])
		if v < 0 || (i == 0 && v > 7) {
			return b, false
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(v)
	}
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return b, len(body) == bodyLen
}

func wellFormed(body string) bool {
	_, ok := decode(body)
	return ok
}

func index(c byte) int { return strings.IndexByte(alphabet, c) }
