package resource

import "unicode"

// Readable reports whether every character of a text can be seen as it is: no
// control, format, tag, private-use or unassigned character, none that a screen
// may leave out, such as variation selectors and fillers, and no invalid encoding
// (threats, A9; field faults, FF79).
func Readable(text string) bool {
	for _, r := range text {
		if !readable(r) {
			return false
		}
	}
	return true
}

func readable(r rune) bool {
	return r != unicode.ReplacementChar && r != brailleBlank && unicode.IsGraphic(r) &&
		!unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const brailleBlank = '\u2800' // a symbol to Unicode, though nothing of it is seen

// Visible gives a text in which every character that cannot be seen, save line
// feeds and tabs, is written as an escape such as \u{200b}. It is what the owner
// is shown and, since approval pins it, what models are told.
func Visible(text string) string {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if readable(r) || r == '\n' || r == '\t' {
			out = append(out, string(r)...)
			continue
		}
		out = appendEscape(out, r)
	}
	return string(out)
}

const hexDigits = "0123456789abcdef"

func appendEscape(out []byte, r rune) []byte {
	out = append(out, `\u{`...)
	started := false
	for shift := 20; shift >= 0; shift -= 4 {
		d := r >> shift & 15
		if started = started || d != 0 || shift == 0; started {
			out = append(out, hexDigits[d])
		}
	}
	return append(out, '}')
}
