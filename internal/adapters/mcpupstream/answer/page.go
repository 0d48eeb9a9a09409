package answer

import (
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
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
