package issuer

import "strings"

// Bearer reads the parameters of a Bearer challenge, which may stand among others in
// one WWW-Authenticate line (RFC 9110, section 11.6.1). It reports whether there is one.
func Bearer(line string) (map[string]string, bool) {
	var out map[string]string
	for line != "" {
		line = strings.TrimLeft(line, " \t,")
		word, rest := token(line)
		if word == "" {
			return out, out != nil
		}
		after := strings.TrimLeft(rest, " \t")
		if value, ok := strings.CutPrefix(after, "="); ok && !strings.HasPrefix(value, "=") {
			var text string
			text, line = parameter(strings.TrimLeft(value, " \t"))
			if out != nil {
				if _, twice := out[strings.ToLower(word)]; !twice {
					out[strings.ToLower(word)] = text
				}
			}
			continue
		}
		if out != nil {
			return out, true // another challenge begins
		}
		if strings.EqualFold(word, "Bearer") {
			out = map[string]string{}
		}
		line = strings.TrimLeft(after, "=")
	}
	return out, out != nil
}

const tokenChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~/"

func token(s string) (word, rest string) {
	n := len(s) - len(strings.TrimLeft(s, tokenChars))
	return s[:n], s[n:]
}

// parameter reads a token or a quoted text.
func parameter(s string) (text, rest string) {
	if !strings.HasPrefix(s, `"`) {
		return token(s)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
