package clientconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stewardhost/steward/internal/adapters/clientconfig/guess"
	"github.com/stewardhost/steward/internal/adapters/clientconfig/jsonc"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// mask stands in the place of what is not shown.
const mask = "…"

// Shown is a server's entry as the client's file would have it, and nothing of the
// rest of the file, for people to read.
func (c Client) Shown(name string, entry strictjson.Value) string {
	if c.servers == nil {
		return codexText(name, entry)
	}
	doc := strictjson.Raw(object(name, entry).Append(nil))
	if err := doc.Indent(); err != nil {
		panic("clientconfig: cannot lay out an entry that was read: " + err.Error())
	}
	lines := strings.Split(string(doc), "\n")
	var out strings.Builder
	for _, line := range lines[1 : len(lines)-1] { // without the braces around it
		out.WriteString(strings.TrimPrefix(line, "\t") + "\n")
	}
	return out.String()
}

// Current is the entry that a client's file has under a name, with … in the place of
// what may be a secret: every value of its variables and headers, and all else that
// looks like one. It is no entry to write. It reports whether there is one; a file
// that cannot be read has none.
func (c Client) Current(raw []byte, name string) (strictjson.Value, bool) {
	var at strictjson.Value
	path := append(slices.Clone(c.servers), name)
	if c.servers == nil {
		if checkBrackets(raw) != nil {
			return at, false
		}
		var file map[string]any
		if err := toml.Unmarshal(raw, &file); err != nil {
			return at, false
		}
		at, path = valueOf(file), []string{codexTables, name}
	} else {
		doc, err := strictjson.Parse(jsonc.Plain(raw), limits)
		if err != nil {
			return at, false
		}
		at = doc
	}
	for _, step := range path {
		var ok bool
		if at, ok = at.Get(step); !ok {
			return at, false
		}
	}
	return masked("", at, 0), true
}

// masked hides in a value of a name; what is below the entry's own members is
// variables, headers or something unknown, and hidden whole.
func masked(name string, v strictjson.Value, depth int) strictjson.Value {
	hide := func(v strictjson.Value) strictjson.Value {
		if v.Kind != strictjson.String && v.Kind != strictjson.Number || strings.TrimSpace(guess.WithoutReferences(v.Text)) == "" {
			return v
		}
		if depth != 1 || guess.Secret(name, v.Text) {
			if word, rest, two := strings.Cut(v.Text, " "); two && guess.IsScheme(word) && guess.WithoutReferences(rest) == "" {
				return v
			}
			return str(mask)
		}
		return v
	}
	switch v.Kind {
	case strictjson.Array:
		items, before := slices.Clone(v.Items), ""
		for i, item := range v.Items {
			items[i] = masked(name, item, depth)
			if _, secret := (Server{}).argument(i, before, item.Text); secret {
				items[i] = str(mask)
			}
			before = item.Text
		}
		v.Items = items
	case strictjson.Object:
		members := slices.Clone(v.Members)
		for i, m := range members {
			members[i].Value = masked(m.Name, m.Value, depth+1)
			if guess.Word(m.Name) {
				members[i].Name = mask
			}
		}
		v.Members = members
	default:
		return hide(v)
	}
	return v
}

// valueOf is what the reader of TOML gives, as a value; tables by their names.
func valueOf(v any) strictjson.Value {
	out := strictjson.Value{}
	switch v := v.(type) {
	case string:
		return str(v)
	case bool:
		return strictjson.Value{Kind: strictjson.Bool, Bool: v}
	case int64:
		return strictjson.Value{Kind: strictjson.Number, Text: fmt.Sprint(v)}
	case []any:
		out.Kind = strictjson.Array
		for _, item := range v {
			out.Items = append(out.Items, valueOf(item))
		}
	case map[string]any:
		out.Kind = strictjson.Object
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out.Members = append(out.Members, strictjson.Member{Name: name, Value: valueOf(v[name])})
		}
	default: // a time or a fraction
		return str(fmt.Sprint(v))
	}
	return out
}
