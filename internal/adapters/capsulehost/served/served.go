// Package served remembers what a capsule last said that it serves, as its host needs
// it: a capsule is waited for where it is taken for the owner of a URI, and nobody else
// has to say that it has no such one.
//
// It promises: a URI that stood in the last list as it is written there, or that begins
// with a family of the manifest, is taken for the capsule's. It does not promise the
// contrary of others: a URI that was written with escapes is not found again, and a text
// that equals a URI is taken for one.
//
// It keeps one list, of at most bound.CapsuleBytes. A List is safe for concurrent use;
// its zero value is of a capsule that said nothing yet.
package served

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// List is what one capsule said.
type List struct {
	mu  sync.Mutex
	raw []byte
}

// Note keeps an answer to describe, in the place of the one before.
func (l *List) Note(answer []byte) {
	kept := bytes.Clone(answer)
	l.mu.Lock()
	l.raw = kept
	l.mu.Unlock()
}

// Has reports whether the capsule is taken for the owner of a URI.
func (l *List) Has(uri string, families []string) bool {
	l.mu.Lock()
	raw := l.raw
	l.mu.Unlock()
	return bytes.Contains(raw, []byte(`"`+uri+`"`)) || slices.ContainsFunc(families, func(prefix string) bool { return strings.HasPrefix(uri, prefix) })
}

// Answer is a way to answer that notes the lists among what goes out.
func Answer[Request any](l *List, isList func(Request) bool, answer func(Request, []byte) error) func(Request, []byte) error {
	return func(q Request, payload []byte) error {
		if isList(q) {
			l.Note(payload)
		}
		return answer(q, payload)
	}
}
