package answer

import (
	"strconv"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// progressParts are the members of a notifications/progress that mean something.
var progressParts = []string{"progressToken", "progress", "total", "message"}

// numberBytes is longer than any number that says how far something is.
const numberBytes = 32

// Progress reads the params of notifications/progress, which were held to strict
// JSON before. The request is the one whose number was its token; false where it
// names none or tells no number. What else does not fit is left out.
func Progress(params []byte) (request int64, p invocation.Progress, ok bool) {
	scan := envelope.NewScan(progressParts)
	scan.Feed(params)
	var token []byte
	for i, part := range []*[]byte{&token, &p.Done, &p.Total, &p.Message} {
		if at, found := scan.Member(i); found {
			*part = params[at.From:at.To]
		}
	}
	request, ok = envelope.Number(token)
	if !ok || !isNumber(p.Done) {
		return 0, invocation.Progress{}, false
	}
	if !isNumber(p.Total) {
		p.Total = nil
	}
	if len(p.Message) == 0 || p.Message[0] != '"' || bound.ProgressText.Check(len(p.Message)) != nil {
		p.Message = nil
	}
	// The line that these alias is gone when somebody reads them.
	return request, invocation.Progress{Done: clone(p.Done), Total: clone(p.Total), Message: clone(p.Message)}, true
}

func isNumber(value []byte) bool {
	if len(value) == 0 || len(value) > numberBytes {
		return false
	}
	_, err := strconv.ParseFloat(string(value), 64)
	return err == nil && strictjson.Check(value, limits[Question]) == nil
}
