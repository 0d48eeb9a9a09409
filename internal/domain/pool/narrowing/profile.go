package narrowing

import (
	"cmp"
	"strings"
	"unicode"
)

// Profile holds the limits that are proposed where a schema sets none. A field
// that is zero means its default. Numbers are always bounded to the safe
// integers and objects always closed.
type Profile struct {
	Text     int // code points of a text
	LongText int // code points of a text whose name says that it may be long
	List     int // entries of an array
}

// Default is the profile that the owner is offered first (mcp reference, 4.2).
func Default() Profile { return Profile{Text: 4096, LongText: 32768, List: 64} }

func (p Profile) orDefault() Profile {
	d := Default()
	return Profile{cmp.Or(p.Text, d.Text), cmp.Or(p.LongText, d.LongText), cmp.Or(p.List, d.List)}
}

// text is the limit for a text of this name.
func (p Profile) text(name string) int {
	if long[lastWord(name)] {
		return p.LongText
	}
	return p.Text
}

// long are the last words of names that carry whole documents, as newText does.
var long = map[string]bool{
	"content": true, "text": true, "body": true, "data": true, "document": true, "message": true, "description": true,
	"code": true, "script": true, "function": true, "source": true, "snippet": true, "template": true, "command": true,
	"sql": true, "query": true, "statement": true, "expression": true, "patch": true, "diff": true, "input": true,
	"html": true, "css": true, "xml": true, "svg": true, "json": true, "yaml": true, "csv": true, "markdown": true,
	"prompt": true, "thought": true, "note": true, "comment": true, "summary": true, "observation": true, "payload": true,
}

// lastWord is the last word of a name in camel, snake or kebab case, singular.
func lastWord(name string) string {
	start, runes := 0, []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			start = i + 1
		} else if unicode.IsUpper(r) && i > 0 && unicode.IsLower(runes[i-1]) {
			start = i
		}
	}
	word := strings.ToLower(string(runes[min(start, len(runes)):]))
	if long[word] {
		return word
	}
	return strings.TrimSuffix(word, "s")
}
