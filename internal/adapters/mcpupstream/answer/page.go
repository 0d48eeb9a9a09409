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
}

// Catalog is what a greeted upstream offers.
func (g Greeting) Catalog(tools []RawTool) Catalog {
	return Catalog{g.Server, g.Version, g.Protocol, g.Instructions, tools}
}

// Page reads the result of one tools/list, whose bytes the tools share; the
// cursor, a JSON text as it was written, is nil on the last page. The fault of what is no page is
// upstream_failed.
func Page(result []byte) (tools []RawTool, cursor []byte, err error) {
	page, err := strictjson.Members(result, limits[Listing])
	if err != nil {
		return nil, nil, failed("tools/list: the answer is not an object").Because(err)
	}
	if !complete(page["resultType"]) {
		return nil, nil, failed("tools/list: result type " + shown(string(page["resultType"])))
	}
	if len(page["tools"]) == 0 || page["tools"][0] != '[' {
		return nil, nil, failed("tools/list: the answer has no list of tools")
	}
	envelope.Items(page["tools"], func(raw []byte) bool {
		tools = append(tools, readTool(raw))
		return true
	})
	switch next := page["nextCursor"]; {
	case absent(next) || string(next) == `""`:
		return tools, nil, nil
	case next[0] != '"':
		return nil, nil, failed("tools/list: the cursor is not a text")
	default:
		return tools, next, nil
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
	var cursor []byte
	names, size := map[string][]byte{}, 0
	for page := 1; ; page++ {
		if err := bound.ListingPages.Check(page); err != nil {
			return nil, err
		}
		a := ask(cursor)
		if a.Event.Kind != invocation.Answered {
			return nil, a.Fault("tools/list")
		}
		size += len(a.Event.Result)
		if err := bound.ListingBytes.Check(size); err != nil {
			return nil, err
		}
		found, next, err := Page(a.Event.Result)
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
		if err := bound.ListingTools.Check(len(tools)); err != nil {
			return nil, err
		}
		if next == nil {
			return tools, nil
		}
		cursor = next
	}
}
