package answer

import (
	"bytes"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// RawTool is one definition, strict JSON, byte for byte as it was sent. One that
// cannot be taken has no bytes and says why in Trouble; it spoils no other.
type RawTool struct {
	Name    string
	Raw     []byte
	Trouble *fault.Fault
}

// Catalog is everything that an upstream offered at one time. It was given to a
// client that declared no capability, which can matter to what is offered.
type Catalog struct {
	Server, Version string // what the upstream calls itself, unverified
	Protocol        string // the revision that the session speaks
	Instructions    string
	Tools           []RawTool // in the upstream's order, names distinct; what was listed twice stands once
	Readable        bool      // it says that it has resources
}

// Collect reads what a greeted upstream offers, as the func Collect does. One that
// says it has resources, and nothing of tools, need not know of tools at all.
func (g Greeting) Collect(ask func(cursor []byte) Answer) (Catalog, error) {
	tools, err := Collect(func(cursor []byte) Answer {
		a := ask(cursor)
		if a.Event.Kind == invocation.Rejected && a.Code == noSuchMethod && cursor == nil && g.Readable && !g.Callable {
			return Answer{Event: invocation.Event{Kind: invocation.Answered, Result: []byte(`{"tools":[]}`)}}
		}
		return a
	})
	if err != nil {
		return Catalog{}, err
	}
	return Catalog{g.Server, g.Version, g.Protocol, g.Instructions, tools, g.Readable}, nil
}

// Page reads the result of one tools/list, whose bytes the tools share; the
// cursor, a JSON text as it was written, is nil on the last page. The fault of what is no page is
// upstream_failed.
func Page(result []byte) (tools []RawTool, cursor []byte, err error) {
	page, list, err := listed(result, Listing, "tools/list", "tools")
	if err != nil {
		return nil, nil, err
	}
	if cursor, err = nextOf(page, "tools/list"); err != nil {
		return nil, nil, err
	}
	envelope.Items(list, func(raw []byte) bool {
		tools = append(tools, readTool(raw))
		return true
	})
	return tools, cursor, nil
}

// listed gives the members of a result that must be whole, and its array of a name.
func listed(result []byte, k Kind, what, name string) (members map[string]strictjson.Raw, list []byte, err error) {
	members, err = strictjson.Members(result, limits[k])
	switch list = members[name]; {
	case err != nil:
		return nil, nil, failed(what + ": the answer is not an object").Because(err)
	case !complete(members["resultType"]):
		return nil, nil, failed(what + ": result type " + shown(string(members["resultType"])))
	case len(list) == 0 || list[0] != '[':
		return nil, nil, failed(what + ": the answer has no list of " + name)
	}
	return members, list, nil
}

// nextOf gives the cursor of the next page, nil on the last.
func nextOf(page map[string]strictjson.Raw, what string) ([]byte, error) {
	switch next := page["nextCursor"]; {
	case absent(next) || string(next) == `""`:
		return nil, nil
	case next[0] != '"':
		return nil, failed(what + ": the cursor is not a text")
	default:
		return next, nil
	}
}

func readTool(raw []byte) RawTool {
	v, err := strictjson.Parse(raw, strictjson.Limits{Bytes: bound.ToolBytes})
	if err != nil {
		return RawTool{Name: nameOf(raw), Trouble: fault.From(err)}
	}
	name := text(v, "name")
	if name == "" {
		return RawTool{Trouble: failed("the tool has no name")}
	}
	return RawTool{Name: name, Raw: raw}
}

// nameOf finds the name of a definition that cannot be parsed.
func nameOf(raw []byte) string {
	scan := envelope.NewScan([]string{"name"})
	scan.Feed(raw)
	at, _ := scan.Member(0)
	return shown(string(raw[at.From:at.To]))
}

// SameName is the fault of a listing in which a name has two definitions: a call
// could not say which is meant.
func SameName(name string) *fault.Fault {
	return fault.Newf(fault.UpstreamFailed, "tools/list: %q has two definitions", shown(name))
}

func failed(text string) *fault.Fault { return fault.New(fault.UpstreamFailed, text) }

// Collect reads every page of a listing: all of it or a fault, never a part (field
// faults, FF41, FF43). ask gets the cursor of a page as JSON text, nil for the
// first. A tool that is listed twice alike stands once. Faults: those of a bound
// of the listing, of Page, and of an answer that is none.
func Collect(ask func(cursor []byte) Answer) ([]RawTool, error) {
	var tools []RawTool
	names := map[string][]byte{}
	err := walk("tools/list", ask, func(result []byte) ([]byte, error) {
		found, next, err := Page(result)
		if err != nil {
			return nil, err
		}
		for _, tool := range found {
			known, twice := names[tool.Name]
			if twice && !bytes.Equal(known, tool.Raw) {
				return nil, SameName(tool.Name)
			}
			if !twice {
				names[tool.Name] = tool.Raw
				tools = append(tools, tool)
			}
		}
		return next, bound.ListingTools.Check(len(tools))
	})
	if err != nil {
		return nil, err
	}
	return tools, nil
}

// walk asks for page after page. take gets the result of one and gives the cursor
// of the next, nil after the last.
func walk(what string, ask func(cursor []byte) Answer, take func(result []byte) (next []byte, err error)) error {
	var cursor []byte
	size := 0
	for page := 1; ; page++ {
		if err := bound.ListingPages.Check(page); err != nil {
			return err
		}
		a := ask(cursor)
		if a.Event.Kind != invocation.Answered {
			return a.Fault(what)
		}
		size += len(a.Event.Result)
		if err := bound.ListingBytes.Check(size); err != nil {
			return err
		}
		next, err := take(a.Event.Result)
		if err != nil || next == nil {
			return err
		}
		cursor = next
	}
}
