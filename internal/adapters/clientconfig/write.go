package clientconfig

import (
	"maps"
	"slices"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Export writes servers as an mcpServers file, in the order given. It says every
// value as it is: see Server.Redacted.
func Export(servers []Server) []byte {
	all := strictjson.Value{Kind: strictjson.Object}
	for _, s := range servers {
		all.Members = append(all.Members, strictjson.Member{Name: s.Name, Value: s.value()})
	}
	doc := strictjson.Raw(object("mcpServers", all).Append(nil))
	if err := doc.Indent(); err != nil {
		panic("clientconfig: cannot lay out a document of our own: " + err.Error())
	}
	return append(doc, '\n')
}

func object(name string, v strictjson.Value) strictjson.Value {
	return strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{{Name: name, Value: v}}}
}

// value is the entry as most clients have it.
func (s Server) value() strictjson.Value {
	v := strictjson.Value{Kind: strictjson.Object}
	add := func(name string, value strictjson.Value) {
		v.Members = append(v.Members, strictjson.Member{Name: name, Value: value})
	}
	if s.URL != "" {
		add("type", str("http"))
		add("url", str(s.URL))
		if len(s.Headers) > 0 {
			add("headers", strMap(s.Headers))
		}
		return v
	}
	add("command", str(s.Command))
	args := strictjson.Value{Kind: strictjson.Array}
	for _, a := range s.Args {
		args.Items = append(args.Items, str(a))
	}
	add("args", args)
	if len(s.Env) > 0 {
		add("env", strMap(s.Env))
	}
	if s.Cwd != "" {
		add("cwd", str(s.Cwd))
	}
	return v
}

func str(text string) strictjson.Value { return strictjson.Value{Kind: strictjson.String, Text: text} }

func strMap(m map[string]string) strictjson.Value {
	v := strictjson.Value{Kind: strictjson.Object}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v.Members = append(v.Members, strictjson.Member{Name: name, Value: str(m[name])})
	}
	return v
}
