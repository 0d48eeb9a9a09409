package transcript

import "github.com/stewardhost/steward/internal/domain/sessions/conversation"

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
