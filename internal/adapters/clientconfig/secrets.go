package clientconfig

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
)

// Secrets names the values of a server that look like secrets written out: env
// NAME, header NAME, argument N from 1, or url.
func (s Server) Secrets() []string {
	_, found := s.split()
	return found
}

// Redacted is the server with ${NAME} in the place of each value that looks like
// a secret. What looks like none is kept, so that a name is better than a guess:
// see LooksSecret.
func (s Server) Redacted() Server {
	out, _ := s.split()
	return out
}

// split takes the secrets out and says where they were.
func (s Server) split() (Server, []string) {
	var found []string
	words := s.Args
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if LooksSecret(name, s.Env[name]) {
			s.Env[name] = "${" + variable(name) + "}"
			found = append(found, "env "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if LooksSecret(name, s.Headers[name]) {
			scheme, rest, two := strings.Cut(s.Headers[name], " ")
			s.Headers[name] = "${" + variable(s.Name, name) + "}"
			if two && rest != "" && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
				s.Headers[name] = scheme + " " + s.Headers[name]
			}
			found = append(found, "header "+name)
		}
	}
	for i, arg := range words {
		before := ""
		if i > 0 {
			before = words[i-1]
		}
		if hidden, ok := s.argument(i, before, arg); ok {
			s.Args[i] = hidden
			found = append(found, fmt.Sprintf("argument %d", i+1))
		}
	}
	if hidden, ok := s.address(); ok {
		s.URL = hidden
		found = append(found, "url")
	}
	return s, found
}

// argument hides the value of --token=VALUE, of --token VALUE, or of a word that
// is a secret by itself.
func (s Server) argument(i int, before, arg string) (string, bool) {
	flag, value, pair := strings.Cut(arg, "=")
	switch {
	case pair && LooksSecret(strings.TrimLeft(flag, "-"), value):
		return flag + "=${" + variable(s.Name, strings.TrimLeft(flag, "-")) + "}", true
	case strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && !strings.HasPrefix(arg, "-") && LooksSecret(strings.TrimLeft(before, "-"), arg):
		return "${" + variable(s.Name, strings.TrimLeft(before, "-")) + "}", true
	case LooksSecret("", arg):
		return "${" + variable(s.Name, "argument", fmt.Sprint(i+1)) + "}", true
	}
	return "", false
}

// address hides what a URL has before its host and in parameters with a telling name.
func (s Server) address() (string, bool) {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" {
		return "", false
	}
	if u.User != nil || slices.ContainsFunc(strings.Split(u.RawQuery, "&"), func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return LooksSecret(name, value)
	}) {
		return "${" + variable(s.Name, "url") + "}", true
	}
	return "", false
}

// variable is a name for the environment, made of words.
func variable(words ...string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.Join(words, "_"))
	if len(words) > 1 {
		name = strings.ToUpper(name)
	}
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// telling are parts of names whose values are secrets.
var telling = []string{
	"token", "secret", "passw", "passphrase", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key", "private_key", "private-key",
	"credential", "authorization", "cookie", "bearer", "connection_string", "database_url", "dsn", "webhook",
}

// beginnings are what secrets of well-known kinds begin with.
var beginnings = []string{
	"sk-", "sk_", "pk_live", "rk_live", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-",
	"akia", "aiza", "ya29.", "eyj", "stw_", "npm_", "hf_", "shpat_", "dop_v1_", "bearer ", "basic ", "-----begin",
}

// LooksSecret guesses from a value and the name that it goes by. A reference such
// as ${NAME} is no secret. Long words in which hardly any letter comes twice are
// taken for one.
func LooksSecret(name, value string) bool {
	if value == "" || isReference(value) {
		return false
	}
	name, low := strings.ToLower(name), strings.ToLower(value)
	if low == "true" || low == "false" {
		return false
	}
	if slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(name, part) }) ||
		name == "key" || strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "-key") || name == "pat" || strings.HasSuffix(name, "_pat") || name == "auth" || strings.HasSuffix(name, "_auth") {
		return true
	}
	if slices.ContainsFunc(beginnings, func(part string) bool { return strings.HasPrefix(low, part) }) && len(value) >= 8 {
		return true
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		_, has := u.User.Password()
		return has
	}
	return len(value) >= 20 && !strings.ContainsAny(value, " /\\:@,") && strings.ContainsAny(value, "0123456789") && bits(value) >= 3.4
}

// isReference reports whether a text is ${NAME}, behind a word such as Bearer or not.
func isReference(text string) bool {
	if word, rest, two := strings.Cut(text, " "); two && !strings.Contains(word, "${") {
		text = rest
	}
	return strings.HasPrefix(text, "${") && strings.IndexByte(text, '}') == len(text)-1
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
