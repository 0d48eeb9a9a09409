package secret

import "strings"

// Mask gives a text that came from outside and is to be logged, with the fixed
// word in place of whatever begins like a token, whole or cut off.
func Mask(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, tokenMark)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString(redacted)
		text = strings.TrimLeft(rest, tokenAlphabet)
	}
}

// tokenMark begins a token of every kind.
const tokenMark = "stw_"

const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
