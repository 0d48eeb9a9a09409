package answer

import (
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// RawTool is one definition, strict JSON, byte for byte as it was sent.
type RawTool struct {
	Name string
	Raw  []byte
}

// Page reads the result of one tools/list; the cursor, a JSON text as it was
// written, is nil on the last page. Faults: too_large for a definition over
// bound.ToolBytes, with details.tool; upstream_failed for what is no page.
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
		var tool RawTool
		if tool, err = readTool(raw); err == nil {
			tools = append(tools, tool)
		}
		return err == nil
	})
	switch next := page["nextCursor"]; {
	case err != nil:
		return nil, nil, err
	case absent(next) || string(next) == `""`:
		return tools, nil, nil
	case next[0] != '"':
		return nil, nil, failed("tools/list: the cursor is not a text")
	default:
		return tools, next, nil
	}
}

func readTool(raw []byte) (RawTool, error) {
	v, err := strictjson.Parse(raw, strictjson.Limits{Bytes: bound.ToolBytes})
	name := text(v, "name")
	switch {
	case err != nil && fault.Is(err, bound.ToolBytes.Code):
		return RawTool{}, fault.From(err).With("tool", nameOf(raw))
	case err != nil || name == "":
		return RawTool{}, failed("tools/list: a tool without a name").Because(err)
	}
	return RawTool{Name: name, Raw: clone(raw)}, nil
}

// nameOf finds the name of a definition that is too large to be parsed.
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
