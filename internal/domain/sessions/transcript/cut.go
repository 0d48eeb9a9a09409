package transcript

import (
	"strings"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// Cut splits a text after as many whole characters as fit a number of encoded
// bytes; at least one character is taken.
func Cut(text string, encoded int) (head, tail string) {
	n := 0
	for i, r := range text {
		n += conversation.EncodedLen(string(r))
		if n > encoded && i > 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// Kept is what a record has of a text of a model's: all of it within a bound in
// bytes, else its beginning. What is longer is refused elsewhere and never goes out.
func Kept(text string, most bound.Row) string {
	if most.Check(len(text)) == nil {
		return text
	}
	return strings.ToValidUTF8(text[:most.Int()], "")
}
