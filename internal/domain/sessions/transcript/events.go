package transcript

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Event is a record, or a part of one, as a session is replayed. Arguments,
// results, contracts and bindings are not in it: a replay needs no control over
// the session, and what executors were asked is theirs.
type Event struct {
	ID   string         `json:"event_id"` // seq, or seq.part from part 1 on
	At   int64          `json:"at"`
	Kind Kind           `json:"kind"`
	Data strictjson.Raw `json:"data"`
}

type (
	spokenData struct {
		Turn        string         `json:"turn_id"`
		OperationID string         `json:"operation_id,omitzero"`
		Text        string         `json:"text"`
		More        bool           `json:"more"` // the text goes on in the next event
		Manifest    strictjson.Raw `json:"application_manifest,omitzero"`
	}
	callData struct {
		Turn           string `json:"turn_id"`
		CallID         string `json:"call_id"`
		ProviderCallID string `json:"provider_call_id"`
		Name           string `json:"name"`
		Source         string `json:"source"`
	}
	resultData struct {
		Turn    string `json:"turn_id"`
		CallID  string `json:"call_id"`
		Status  string `json:"status"`
		Effects string `json:"effects"`
		Code    string `json:"code"`
	}
	statusData struct {
		Turn   string `json:"turn_id"`
		Status string `json:"status"`
		Code   string `json:"code"`
	}
)

// Events gives what is replayed of a record: texts in parts of at most
// bound.TurnDeltaBytes encoded, the manifest with the first part and only where
// it is asked for.
func Events(r Record, manifest bool) ([]Event, error) {
	switch r.Kind {
	case UserInput:
		d, err := Read[Input](r)
		if err != nil {
			return nil, err
		}
		first := spokenData{OperationID: d.OperationID}
		if manifest {
			first.Manifest = d.Manifest
		}
		return spoken(r, d.Prompt, first)
	case AssistantChunk:
		d, err := Read[Chunk](r)
		if err != nil {
			return nil, err
		}
		return spoken(r, d.Text, spokenData{})
	case ToolCall:
		d, err := Read[Call](r)
		return one(r, callData{r.Turn, d.CallID, d.ProviderCallID, d.Name, d.Source}, err)
	case ToolResult:
		d, err := Read[Result](r)
		return one(r, resultData{r.Turn, d.CallID, d.Status, d.Effects, d.Code}, err)
	case TurnStatus:
		d, err := Read[Status](r)
		return one(r, statusData{r.Turn, d.Status, d.Code}, err)
	}
	d, err := Read[Title](r)
	return one(r, d, err)
}

func one(r Record, data any, err error) ([]Event, error) {
	if err != nil {
		return nil, err
	}
	raw, err := strictjson.Encode(data)
	return []Event{{ID: strconv.FormatInt(r.Seq, 10), At: r.At, Kind: r.Kind, Data: raw}}, err
}

func spoken(r Record, text string, first spokenData) ([]Event, error) {
	var out []Event
	for part := 0; part == 0 || text != ""; part++ {
		var d spokenData
		if part == 0 {
			d = first
		}
		d.Turn = r.Turn
		// What carries the manifest is shorter, so that it fits a page.
		room := bound.ReplayBytes.Int() - 2*eventEnvelope - len(d.Manifest)
		d.Text, text = Cut(text, min(bound.TurnDeltaBytes.Int(), room))
		d.More = text != ""
		e, err := one(r, d, nil)
		if err != nil {
			return nil, err
		}
		if part > 0 {
			e[0].ID = fmt.Sprintf("%d.%d", r.Seq, part)
		}
		out = append(out, e...)
	}
	return out, nil
}

// Place is where an event stands in a stream.
type Place struct{ Seq, Part int64 }

// ParsePlace reads an event id; the empty text is the place before the first. The
// fault is invalid_request.
func ParsePlace(id string) (Place, error) {
	if id == "" {
		return Place{}, nil
	}
	head, tail, parted := strings.Cut(id, ".")
	seq, err := strconv.ParseInt(head, 10, 64)
	var part int64
	if err == nil && parted {
		part, err = strconv.ParseInt(tail, 10, 64)
	}
	p := Place{seq, part}
	if err != nil || seq < 1 || part < 0 || p.String() != id {
		return Place{}, fault.New(fault.InvalidRequest, "this is no event id")
	}
	return p, nil
}

// String is the event id.
func (p Place) String() string {
	if p.Part == 0 {
		return strconv.FormatInt(p.Seq, 10)
	}
	return fmt.Sprintf("%d.%d", p.Seq, p.Part)
}

// Before reports whether p stands before q.
func (p Place) Before(q Place) bool {
	return p.Seq < q.Seq || p.Seq == q.Seq && p.Part < q.Part
}
