package digest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"
)

// Fields joins values for hashing: each is its length in decimal, a colon, its
// bytes and a comma; a value that is absent is a minus sign and a comma.
//
//	Text("ab").Absent().Text("")    2:ab,-,0:,
//
// No list of values reads as another, whatever the values hold. The order and
// meaning of the values belong to the domain. The zero value is ready to use;
// a Fields belongs to one goroutine.
type Fields struct{ buf []byte }

// spare is room for a few values more than those that a Fields starts with.
const spare = 256

// Join starts a Fields with some texts.
func Join(texts ...string) *Fields {
	room := spare
	for _, s := range texts {
		room += len(s) + len("65536:,")
	}
	f := &Fields{make([]byte, 0, room)}
	for _, s := range texts {
		f.Text(s)
	}
	return f
}

// Text adds a string; an empty one is present.
func (f *Fields) Text(s string) *Fields {
	f.buf = strconv.AppendInt(f.buf, int64(len(s)), 10)
	f.buf = append(f.buf, ':')
	f.buf = append(f.buf, s...)
	f.buf = append(f.buf, ',')
	return f
}

// Bytes adds bytes as they are, such as canonical JSON; nil counts as empty.
func (f *Fields) Bytes(b []byte) *Fields { return f.Text(string(b)) }

// Int adds a whole number in decimal.
func (f *Fields) Int(n int64) *Fields { return f.Text(strconv.FormatInt(n, 10)) }

// Digest adds the text form of a digest, or an absent value if there is none.
func (f *Fields) Digest(d Digest) *Fields {
	if d.IsZero() {
		return f.Absent()
	}
	return f.Text(d.String())
}

// Absent adds a value that is not there.
func (f *Fields) Absent() *Fields {
	f.buf = append(f.buf, "-,"...)
	return f
}

// Join adds the values of another.
func (f *Fields) Join(more *Fields) *Fields {
	f.buf = append(f.buf, more.buf...)
	return f
}

// Sum hashes the values so far.
func (f *Fields) Sum(domain Domain) Digest { return Of(domain, f.buf) }

// SumAround hashes the values so far, size bytes of r as Bytes would add them, and
// the values of after, without keeping what it reads. It fails where r has not that
// many bytes.
func (f *Fields) SumAround(domain Domain, r io.Reader, size int64, after *Fields) (d Digest, err error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s%d:", domain, f.buf, size)
	if _, err := io.CopyN(h, r, size); err != nil {
		return Digest{}, err
	}
	fmt.Fprintf(h, ",%s", after.buf)
	h.Sum(d.sum[:0])
	return d, nil
}
