package clientconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/clientconfig/guess"
)

// Secrets names the values of a server that look like secrets written out: env
// NAME, header NAME, argument N from 1, command, cwd, or url.
func (s Server) Secrets() []string {
	_, found := s.split()
	return found
}

// Redacted is the server with ${NAME} in the place of each value that has a part
// that looks like a secret. What looks like none is kept, so that a name is better
// than a guess: see guess.Secret.
func (s Server) Redacted() Server {
	out, _ := s.split()
	return out
}

// SecretWords lists what must not be repeated of a server's arguments, headers and
// URL: each value that Redacted hides, and the words of it that are long enough
// to be told from others.
func (s Server) SecretWords() (out []string) {
	hidden := s.Redacted()
	add := func(was, is string) {
		if was == is {
			return
		}
		out = append(out, was)
		for _, word := range strings.FieldsFunc(was, isBreak) {
			if len(word) >= 8 && !strings.Contains(is, word) {
				out = append(out, word)
			}
		}
	}
	for i, arg := range s.Args {
		add(arg, hidden.Args[i])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		add(s.Headers[name], hidden.Headers[name])
	}
	add(s.URL, hidden.URL)
	return out
}

// isBreak splits a value into words that somebody may repeat alone.
func isBreak(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;:=&?/@{}()<>", r) }

// split takes the secrets out and says where they were.
func (s Server) split() (Server, []string) {
	var found []string
	words := s.Args
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if guess.Secret(name, s.Env[name]) {
			s.Env[name] = "${" + variable(name) + "}"
			found = append(found, "env "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if hidden, ok := s.header(name, s.Headers[name]); ok {
			s.Headers[name] = hidden
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
	for _, place := range []struct {
		text *string
		name string
	}{{&s.Command, "command"}, {&s.Cwd, "cwd"}, {&s.URL, "url"}} {
		if guess.Secret("", *place.text) {
			*place.text = "${" + variable(s.Name, place.name) + "}"
			found = append(found, place.name)
		}
	}
	return s, found
}

// header hides the value of a header, but for the word of its scheme.
func (s Server) header(name, value string) (string, bool) {
	if !guess.Secret(name, value) {
		return "", false
	}
	hidden := "${" + variable(s.Name, name) + "}"
	if scheme, rest, two := strings.Cut(value, " "); two && rest != "" && guess.IsScheme(scheme) {
		hidden = scheme + " " + hidden
	}
	return hidden, true
}

var (
	flagForm   = regexp.MustCompile(`^-{0,2}[A-Za-z][A-Za-z0-9_.-]*$`)
	headerForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*)(:[ \t]*)`)
)

// argument hides the value of --token=VALUE, of --token VALUE and of a header
// behind any flag or none, and a word that has a secret anywhere. What stays of it
// is a name that tells nothing.
func (s Server) argument(i int, before, arg string) (string, bool) {
	if hidden, ok := s.named(before, arg); ok && !guess.Secret("", hidden) {
		return hidden, true
	}
	if guess.Secret("", arg) || strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && behindFlag(before, arg) {
		return "${" + variable(s.Name, "argument", fmt.Sprint(i+1)) + "}", true
	}
	return "", false
}

// named hides an argument whose value has a name, in the argument or before it.
func (s Server) named(before, arg string) (string, bool) {
	if head := headerForm.FindStringSubmatch(arg); head != nil && !strings.HasPrefix(arg[len(head[0]):], "//") {
		if hidden, ok := s.header(head[1], arg[len(head[0]):]); ok {
			return head[0] + hidden, true
		}
	}
	if flag, value, pair := strings.Cut(arg, "="); pair && flagForm.MatchString(flag) && !guess.Secret("", flag) {
		name := strings.TrimLeft(flag, "-")
		if hidden, ok := s.named("", value); ok && isHeaderFlag(flag) {
			return flag + "=" + hidden, true
		}
		if guess.Secret(name, value) {
			return flag + "=${" + variable(s.Name, name) + "}", true
		}
		return "", false
	}
	if strings.HasPrefix(before, "-") && flagForm.MatchString(before) && behindFlag(before, arg) {
		return "${" + variable(s.Name, strings.TrimLeft(before, "-")) + "}", true
	}
	return "", false
}

// behindFlag reports whether a word is a secret by the flag before it.
func behindFlag(flag, arg string) bool {
	if strings.HasPrefix(arg, "-") {
		return false
	}
	if slices.Contains([]string{"-u", "--user", "--proxy-user", "-U"}, flag) {
		name, password, ok := strings.Cut(guess.WithoutReferences(arg), ":")
		return ok && password != "" && strings.Trim(name+password, "0123456789") != ""
	}
	return !isHeaderFlag(flag) && guess.Secret(strings.TrimLeft(flag, "-"), arg)
}

// isHeaderFlag reports whether a flag takes a header, which is judged by its own
// name.
func isHeaderFlag(flag string) bool {
	return slices.Contains([]string{"-H", "h", "header", "headers"}, strings.ToLower(strings.TrimLeft(flag, "-"))) && flag != "-h"
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
