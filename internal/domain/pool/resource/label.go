package resource

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// CheckLabel holds a name of an app, a server or a resource to what an owner can
// read, tell from others and type in a command: one line of at most
// bound.LabelBytes, Readable, with a letter, a digit or a symbol in it, no space
// but between words, and each accent on the character that it belongs to, so
// that the same name has one spelling. It may not begin as an alias or a flag
// does, look like an id that could stand in its place, or be a built-in's.
func CheckLabel(label string) error {
	if err := bound.LabelBytes.Check(len(label)); err != nil {
		return err
	}
	switch {
	case !Readable(label) || !strings.ContainsFunc(label, solid):
		return fault.New(fault.InvalidRequest, "a name is one line of visible characters")
	case strings.TrimSpace(label) != label || strings.ContainsFunc(label, oddSpace):
		return fault.New(fault.InvalidRequest, "a name has no space at its ends, and no space but the usual one")
	case label[0] == '@' || label[0] == '-':
		return fault.New(fault.InvalidRequest, "a name does not begin with @, as the aliases of built-ins do, or with -, as flags do")
	case isID(label):
		return fault.New(fault.InvalidRequest, "a name may not look like an id")
	case slices.Contains([]string{LabelItems, LabelProfile, LabelGrants, LabelJournal}, label):
		return fault.Newf(fault.InvalidRequest, "%s is the name of a built-in resource", label)
	case apart(label):
		return fault.New(fault.InvalidRequest, "a name has its accents and syllables as single characters")
	}
	return nil
}

func solid(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsSymbol(r) }

func oddSpace(r rune) bool { return r != ' ' && unicode.IsSpace(r) }

// isID reports whether a reference that is this text would be read as an id.
func isID(text string) bool {
	_, client := id.Parse[id.Client](text)
	_, thing := id.Parse[id.Resource](text)
	_, adapter := id.Parse[id.Adapter](text)
	return client == nil || thing == nil || adapter == nil
}

// apart reports whether a text has parts of characters where Unicode's usual form
// (NFC) has one character: an accent behind a letter of ASCII, Greek or
// Cyrillic, a voicing mark of Japanese, a part of a Korean syllable, and the
// three signs that are but letters. It is what file systems and keyboards make;
// it is not all of NFC.
func apart(text string) bool {
	var before rune
	for _, r := range text {
		switch {
		case '\u0300' <= r && r <= '\u036f' && unicode.IsLetter(before) && (before <= unicode.MaxASCII || unicode.In(before, unicode.Greek, unicode.Cyrillic)),
			r == '\u3099', r == '\u309a',
			'\u1100' <= r && r <= '\u11ff',
			r == '\u2126', r == '\u212a', r == '\u212b':
			return true
		}
		before = r
	}
	return false
}
