// Package guess says whether a value looks like a secret: by the name that it goes
// by, by what it begins with, and by what stands in it.
//
// It would rather hide too much than too little, and does not promise to know a
// secret that is short and has no name. A value is looked at in time that grows
// with its length, which the caller bounds. The functions are pure.
package guess

import (
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// telling are parts of names whose values are secrets.
var telling = []string{
	"token", "secret", "passw", "passphrase", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key", "private_key", "private-key",
	"credential", "authorization", "cookie", "bearer", "connection_string", "database_url", "dsn", "webhook",
}

// tellingWords tell as whole words of a name, which lies between - _ . and the ends.
var tellingWords = []string{"key", "pat", "auth", "jwt", "pwd", "pass", "sig", "signature", "session", "sid", "sas", "creds"}

// beginnings are what secrets of well-known kinds begin with.
var beginnings = []string{
	"sk-", "sk_", "pk_live", "rk_live", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-",
	"akia", "aiza", "ya29.", "eyj", "stw_", "npm_", "hf_", "shpat_", "dop_v1_", "ntn_", "lin_api_", "bearer ", "basic ", "-----begin",
}

var (
	urls       = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]+`)
	pairs      = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)["']?\s*[:=]\s*["']?((?i:(?:bearer|basic|token)\s+)?[^\s"',;&}]+)`)
	schemes    = regexp.MustCompile(`(?i)(?:^|[^a-z0-9_-])(?:bearer\s+[^\s"',;]{4}|basic\s+[a-z0-9+/]*[0-9=][a-z0-9+/=]*)`)
	account    = regexp.MustCompile(`^([^\s/@:]+):[^\s/@]+@([^\s/@]+)`)
	base64Form = regexp.MustCompile(`^[A-Za-z0-9+_-][A-Za-z0-9+/_-]{31,}={0,2}$`)
	references = regexp.MustCompile(`\$\{[^{}]*\}`)
)

// Secret guesses from a value and the name that it goes by, which may be
// empty, whether the value is a secret or has one in it: by the name, by a known
// beginning, by what a URL has before its host, in its path and in its parameters,
// by a name before a colon or an equals sign. A reference such as ${NAME} is no
// secret; what stands in one for the case that there is no value may be. Long
// words in which hardly any letter comes twice are taken for one. It would rather
// hide too much than too little, and cannot know a short secret without a name.
func Secret(name, value string) bool {
	value = WithoutReferences(value)
	low := strings.ToLower(strings.TrimSpace(value))
	if low == "" || low == "true" || low == "false" || IsScheme(low) {
		return false
	}
	if isTelling(name) {
		return true
	}
	if slices.ContainsFunc(beginnings, func(part string) bool { return strings.HasPrefix(low, part) }) && len(low) >= 8 || schemes.MatchString(value) {
		return true
	}
	rest := value
	for _, address := range urls.FindAllString(value, -1) {
		if tellsInURL(address) {
			return true
		}
		rest = strings.ReplaceAll(rest, address, " ")
	}
	if m := account.FindStringSubmatch(rest); m != nil && !slices.Contains([]string{"npm", "jsr", "file", "git", "github", "gitlab", "docker"}, m[1]) && !strings.HasPrefix(m[2], "sha256:") {
		return true
	}
	for _, m := range pairs.FindAllStringSubmatch(rest, -1) {
		if !strings.HasPrefix(m[1], "sha") && (isTelling(m[1]) && !IsScheme(m[2]) && strings.Trim(m[2], "[]{}()") != "" || Word(m[2])) {
			return true
		}
	}
	return slices.ContainsFunc(strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;", r) }), func(word string) bool {
		return Word(word) || slices.ContainsFunc(strings.Split(word, "/"), hasBeginning)
	})
}

func isTelling(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(name, part) }) ||
		slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_.", r) }), func(word string) bool {
			return slices.Contains(tellingWords, word)
		})
}

// IsScheme reports whether a word is one that stands before a credential.
func IsScheme(word string) bool {
	return slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(strings.TrimSpace(word)))
}

// tellsInURL looks before the host, at the parts of the path and at the parameters.
func tellsInURL(address string) bool {
	scheme, rest, _ := strings.Cut(address, "://")
	host, tail := rest, ""
	if n := strings.IndexAny(rest, "/?#"); n >= 0 {
		host, tail = rest[:n], rest[n:]
	}
	if n := strings.LastIndexByte(host, '@'); n >= 0 {
		user := host[:n]
		if strings.Trim(user, ":") != "" && !(user == "git" && strings.Contains(scheme, "ssh")) {
			return true
		}
	}
	path, parameters := tail, ""
	if n := strings.IndexAny(tail, "?#"); n >= 0 {
		path, parameters = tail[:n], tail[n+1:]
	}
	for _, pair := range strings.FieldsFunc(parameters, func(r rune) bool { return strings.ContainsRune("&#?;", r) }) {
		name, value, _ := strings.Cut(pair, "=")
		if Secret(unescaped(name), unescaped(value)) || Word(unescaped(name)) {
			return true
		}
	}
	hook := strings.Contains(strings.ToLower(host), "hook")
	before := ""
	for _, part := range strings.FieldsFunc(unescaped(path), func(r rune) bool { return strings.ContainsRune("/:;=,", r) }) {
		odd := len(part) >= 16 || strings.ContainsAny(part, "0123456789")
		if Word(part) || hasBeginning(part) || odd && len(part) >= 6 && (isTelling(before) || hook) {
			return true
		}
		before = part
	}
	return false
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// hasBeginning reports whether a part of a path begins as a known kind of secret
// does and is long enough for one.
func hasBeginning(part string) bool {
	low := strings.ToLower(part)
	return len(part) >= 16 && strings.ContainsAny(part, "0123456789") &&
		slices.ContainsFunc(beginnings, func(begin string) bool { return strings.HasPrefix(low, begin) })
}

// Word reports whether a word says more than words do.
func Word(word string) bool {
	low := strings.ToLower(word)
	if len(word) >= 8 && slices.ContainsFunc(beginnings, func(begin string) bool { return strings.HasPrefix(low, begin) }) {
		return true
	}
	if !strings.ContainsAny(word, "0123456789") {
		return false
	}
	return len(word) >= 20 && !strings.ContainsAny(word, " /\\:@,") && bits(word) >= 3.4 || base64Form.MatchString(word) && low != word && bits(word) >= 4.2
}

// WithoutReferences is a text with nothing in the place of each ${NAME}, and with
// the usual value in the place of ${NAME:-usual}.
func WithoutReferences(text string) string {
	return references.ReplaceAllStringFunc(text, func(reference string) string {
		_, usual, _ := strings.Cut(reference[2:len(reference)-1], ":-")
		return usual
	})
}

// bits is how much one character of a text tells.
func bits(text string) float64 {
	count := map[byte]float64{}
	for i := range len(text) {
		count[text[i]]++
	}
	sum := 0.0
	for _, n := range count {
		p := n / float64(len(text))
		sum -= p * math.Log2(p)
	}
	return sum
}
