package turns

import (
	"context"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Resource is something that a server has to be read.
type Resource struct{ URI, Name, MimeType string }

// Content is one part of a resource: a text, or what is known of bytes that are
// none.
type Content struct {
	URI, MimeType string
	Text          string
	Blob          bool // there is no Text
	Bytes         int
}

// reading is the tool that reads the resources of servers, which are one or more.
// Of several the agent says which: to ask them all would tell each of them the
// URIs of the others.
func reading(servers []Server) tool {
	text := "Read an MCP resource of the server " + servers[0].Name + ". Without a uri, what there is to read is listed. What is long comes in parts: give next_offset back as offset."
	input := `{"type":"object","properties":{"uri":{"type":"string","maxLength":2048},"offset":{"type":"integer","minimum":0,"maximum":1048576}},"additionalProperties":false}`
	if len(servers) > 1 {
		var names []string
		for _, s := range servers {
			names = append(names, s.Name)
		}
		text = strings.Replace(text, "the server "+servers[0].Name, "one of the servers "+strings.Join(names, ", "), 1)
		input = strings.Replace(input, `"properties":{`, `"required":["server"],"properties":{"server":{"type":"string","maxLength":128},`, 1)
	}
	return reader("read_resource", text, input, "uri", func(ctx context.Context, arguments string) (string, error) {
		return readResource(ctx, servers, arguments)
	})
}

func readResource(ctx context.Context, servers []Server, arguments string) (string, error) {
	var in struct {
		URI    string `json:"uri"`
		Server string `json:"server"`
		Offset int    `json:"offset"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", err
	}
	at := slices.IndexFunc(servers, func(s Server) bool { return s.Name == in.Server })
	switch {
	case in.Server == "" && len(servers) == 1:
		at = 0
	case in.Server == "":
		return "", fault.New(fault.InvalidArgs, "several servers have resources: say which server")
	case at < 0:
		return "", fault.New(fault.InvalidArgs, "no server of this name has resources")
	}
	if in.URI == "" {
		return listed(ctx, servers[at], in.Offset)
	}
	contents, err := servers[at].Read(ctx, in.URI)
	if err != nil {
		return "", err
	}
	return shown(contents, in.Offset)
}

// blob is what is told of a part that is no text.
type blob struct {
	URI      string `json:"uri"`
	MimeType string `json:"mime_type,omitzero"`
	Bytes    int    `json:"bytes"`
}

// shown is what an agent reads of a resource: a part of its text, and what else
// there is.
func shown(contents []Content, offset int) (string, error) {
	var texts []string
	var blobs []blob
	for _, c := range contents {
		if c.Blob {
			blobs = append(blobs, blob{c.URI, c.MimeType, c.Bytes})
		} else {
			texts = append(texts, c.Text)
		}
	}
	text, next, err := part(strings.Join(texts, "\n"), offset)
	if err != nil {
		return "", err
	}
	return encoded(struct {
		Text  string `json:"text"`
		Next  *int   `json:"next_offset"`
		Blobs []blob `json:"blobs,omitzero"`
	}{text, next, blobs})
}

// entry is one resource in a list.
type entry struct {
	URI      string `json:"uri"`
	Name     string `json:"name"`
	MimeType string `json:"mime_type,omitzero"`
}

// nameBytes is how much of a name or type stands in a list.
const nameBytes = 256

// listed is what an agent reads of a list, from the entry at offset on.
func listed(ctx context.Context, s Server, offset int) (string, error) {
	all, err := s.Resources(ctx)
	if err != nil {
		return "", err
	}
	if offset < 0 || offset > len(all) {
		return "", fault.New(fault.InvalidArgs, "the offset lies beyond the end")
	}
	var out struct {
		Resources []entry `json:"resources"`
		Next      *int    `json:"next_offset"`
	}
	out.Resources = []entry{}
	size := 0
	for i, r := range all[offset:] {
		name, _ := transcript.Cut(r.Name, nameBytes)
		kind, _ := transcript.Cut(r.MimeType, nameBytes)
		e := entry{r.URI, name, kind}
		raw, err := encoded(e)
		if err != nil {
			return "", err
		}
		if size += len(raw) + 1; size > pageBytes && i > 0 {
			next := offset + i
			out.Next = &next
			break
		}
		out.Resources = append(out.Resources, e)
	}
	return encoded(out)
}
