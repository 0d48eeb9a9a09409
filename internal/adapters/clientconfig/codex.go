package clientconfig

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// codexTables is the parent of the tables of servers.
const codexTables = "mcp_servers"

// setCodex gives a configuration of Codex with the table of one server, which has
// strings, lists of strings and maps of strings. All other bytes stay. A file that
// has the server in another form than a table is refused.
func setCodex(raw []byte, name string, entry strictjson.Value) ([]byte, error) {
	if err := checkBrackets(raw); err != nil {
		return nil, err
	}
	if err := toml.Unmarshal(raw, new(map[string]any)); err != nil {
		return nil, fault.New(fault.InvalidRequest, "the file is no TOML that is understood")
	}
	from, to, err := codexTable(raw, name)
	if err != nil {
		return nil, err
	}
	newline := "\n"
	if bytes.Contains(raw, []byte("\r\n")) {
		newline = "\r\n"
	}
	text := strings.ReplaceAll(codexText(name, entry), "\n", newline)
	if from < 0 {
		gap := ""
		switch {
		case len(raw) > 0 && !bytes.HasSuffix(raw, []byte("\n")):
			gap = newline + newline
		case len(raw) > 0:
			gap = newline
		}
		return append(bytes.Clone(raw), gap+text...), nil
	}
	if to == len(raw) && !bytes.HasSuffix(raw, []byte("\n")) {
		text = strings.TrimSuffix(text, newline)
	}
	return slices.Concat(raw[:from], []byte(text), raw[to:]), nil
}

// codexTable finds where the table of a server and those below it stand: from
// its first header to the end of the last line that says something in them. From
// is -1 where there is none.
func codexTable(raw []byte, name string) (from, to int, err error) {
	from, to = -1, -1
	var table []string
	inside := false
	var p unstable.Parser
	p.Reset(raw)
	for p.NextExpression() {
		e := p.Expression()
		key, at, end := keyOf(e)
		own := func(path []string) bool { return len(path) >= 2 && path[0] == codexTables && path[1] == name }
		if e.Kind == unstable.KeyValue {
			switch {
			case inside:
				to = lineEnd(raw, end)
			case own(append(slices.Clone(table), key...)) || len(table) == 0 && len(key) == 1 && key[0] == codexTables:
				return 0, 0, elsewhere(name)
			}
			continue
		}
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		table = key
		switch was := inside; {
		case !own(table):
			inside = false
		case e.Kind == unstable.ArrayTable || from >= 0 && !was:
			return 0, 0, elsewhere(name) // tables in two places
		default:
			inside = true
			if from < 0 {
				from = lineStart(raw, at)
			}
			to = lineEnd(raw, end)
		}
	}
	return from, to, nil
}

func elsewhere(name string) *fault.Fault {
	return fault.Newf(fault.Conflict, "the file has the server %s in another form than one table", name).
		With("fix", "take it out of the file by hand, then connect again")
}

// keyOf gives an expression's key with the places where it begins and where the
// expression, or the header's key, ends.
func keyOf(e *unstable.Node) (key []string, at, end int) {
	at = -1
	for it := e.Key(); it.Next(); {
		n := it.Node()
		key = append(key, string(n.Data))
		if at < 0 {
			at = int(n.Raw.Offset)
		}
		end = int(n.Raw.Offset + n.Raw.Length)
	}
	if e.Kind == unstable.KeyValue {
		end = int(e.Raw.Offset + e.Raw.Length)
	}
	return key, at, end
}

func lineStart(raw []byte, at int) int { return bytes.LastIndexByte(raw[:at], '\n') + 1 }

func lineEnd(raw []byte, at int) int {
	if n := bytes.IndexByte(raw[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(raw)
}

// codexText is the table of a server.
func codexText(name string, entry strictjson.Value) string {
	var b strings.Builder
	header := codexTables + "." + tomlKey(name)
	b.WriteString("[" + header + "]\n")
	for _, m := range entry.Members {
		if m.Value.Kind != strictjson.Object {
			b.WriteString(tomlKey(m.Name) + " = " + tomlValue(m.Value) + "\n")
		}
	}
	for _, m := range entry.Members {
		if m.Value.Kind == strictjson.Object {
			b.WriteString("\n[" + header + "." + tomlKey(m.Name) + "]\n")
			for _, in := range m.Value.Members {
				b.WriteString(tomlKey(in.Name) + " = " + tomlValue(in.Value) + "\n")
			}
		}
	}
	return b.String()
}

func tomlKey(name string) string {
	const bare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	if name != "" && strings.Trim(name, bare) == "" {
		return name
	}
	return tomlText(name)
}

// tomlValue writes a value on one line.
func tomlValue(v strictjson.Value) string {
	var parts []string
	switch v.Kind {
	case strictjson.Array:
		for _, item := range v.Items {
			parts = append(parts, tomlValue(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case strictjson.Object:
		for _, m := range v.Members {
			parts = append(parts, tomlKey(m.Name)+" = "+tomlValue(m.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case strictjson.Bool, strictjson.Number:
		return string(v.Append(nil))
	}
	return tomlText(v.Text)
}

// tomlText is a basic string: as JSON's, but for the one control character that
// JSON leaves as it is and TOML does not.
func tomlText(text string) string {
	quoted := string(strictjson.Value{Kind: strictjson.String, Text: text}.Append(nil))
	return strings.ReplaceAll(quoted, "\x7f", `\u007f`)
}
