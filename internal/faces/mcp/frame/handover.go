package frame

import (
	"bytes"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// exactInteger is the largest that is the same number in every reader.
const exactInteger = 1<<53 - 1

// client is all that is kept of who a client says it is.
type client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// nothing is an object without members.
type nothing struct{}

type initializing struct {
	Version      string  `json:"protocolVersion"`
	Capabilities nothing `json:"capabilities"`
	Client       client  `json:"clientInfo"`
}

type listening struct {
	Meta          map[string]any `json:"_meta"`
	Notifications wishes         `json:"notifications"`
}

type wishes struct {
	Tools     bool `json:"toolsListChanged,omitzero"`
	Resources bool `json:"resourcesListChanged,omitzero"`
}

type request struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      strictjson.Raw `json:"id"`
	Method  string         `json:"method"`
	Params  any            `json:"params"`
}

// Handover gives a request the form in which the SDK gets it. What opens a
// session or a stream is written anew with what the host has a use for, each part
// held to its type and bound, since the SDK keeps it for as long as that lasts;
// nothing of the result shares memory with the body. An id that the SDK would
// give back as another one is refused.
func Handover(m Message, p Params) (Message, *Problem) {
	if !exact(m.Key) {
		return m, &Problem{Code: BadRequest, Message: "an id is a string, or an integer within ±(2^53-1)"}
	}
	var params any
	var bad *Problem
	switch m.Method {
	case Initialize:
		params, bad = initializeParams(p)
	case Listen:
		params, bad = listenParams(p)
	default:
		return m, nil
	}
	if bad == nil && bound.LabelBytes.Check(len(m.ID)) != nil {
		bad = &Problem{Code: BadRequest, Message: "the id is too long for what it opens"}
	}
	if bad != nil {
		return m, bad
	}
	id := bytes.Clone(m.ID)
	body, err := strictjson.Encode(request{"2.0", id, m.Method, params})
	if err != nil {
		return m, ProblemOf(fault.From(err))
	}
	return Message{Body: body, ID: id, Key: m.Key, Method: m.Method}, nil
}

// exact reports whether every reader takes the id for the same one.
func exact(id ID) bool {
	if id.kind != strictjson.Number {
		return true
	}
	n, err := strconv.ParseInt(id.text, 10, 64)
	return err == nil && -exactInteger <= n && n <= exactInteger && strconv.FormatInt(n, 10) == id.text
}

func initializeParams(p Params) (out initializing, bad *Problem) {
	if raw, given := p.Members["capabilities"]; given && raw.Kind() != '{' {
		return out, illTyped("capabilities")
	}
	if out.Version, bad = shortText(p.Members, "protocolVersion"); bad != nil {
		return out, bad
	}
	out.Client, bad = clientOf(p.Members["clientInfo"])
	return out, bad
}

func listenParams(p Params) (out listening, bad *Problem) {
	version, bad := shortText(p.Meta, sdk.MetaKeyProtocolVersion)
	if bad != nil {
		return out, bad
	}
	who, bad := clientOf(p.Meta[sdk.MetaKeyClientInfo])
	if bad != nil {
		return out, bad
	}
	out.Meta = map[string]any{sdk.MetaKeyProtocolVersion: version, sdk.MetaKeyClientInfo: who, sdk.MetaKeyClientCapabilities: nothing{}}
	if raw, given := p.Members["notifications"]; given {
		members, err := strictjson.Members(raw, Limits)
		if err != nil {
			return out, illTyped("notifications")
		}
		for name, into := range map[string]*bool{"toolsListChanged": &out.Notifications.Tools, "resourcesListChanged": &out.Notifications.Resources} {
			wish := string(members[name])
			if *into = wish == "true"; !*into && wish != "" && wish != "false" {
				return out, illTyped(name)
			}
		}
	}
	return out, nil
}

func clientOf(raw strictjson.Raw) (out client, bad *Problem) {
	if raw == nil {
		return out, nil
	}
	members, err := strictjson.Members(raw, Limits)
	if err != nil {
		return out, illTyped("clientInfo")
	}
	if out.Name, bad = shortText(members, "name"); bad == nil {
		out.Version, bad = shortText(members, "version")
	}
	return out, bad
}

// shortText gives a member that is a text, empty for none.
func shortText(members map[string]strictjson.Raw, name string) (string, *Problem) {
	raw, given := members[name]
	if !given {
		return "", nil
	}
	text, ok := Text(raw)
	if !ok {
		return "", illTyped(name)
	}
	if err := bound.TitleBytes.Check(len(text)); err != nil {
		return "", &Problem{Code: BadParams, Message: name + " is too long"}
	}
	return text, nil
}

func illTyped(name string) *Problem {
	return &Problem{Code: BadParams, Message: name + " has a value of the wrong type"}
}

// Bare gives the bytes of a notification that the SDK gets: of one that it keeps,
// the method alone.
func Bare(m Message) []byte {
	if m.Method != Initialized {
		return m.Body
	}
	return []byte(`{"jsonrpc":"2.0","method":"` + Initialized + `"}`)
}
