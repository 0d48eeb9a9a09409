package frame

import (
	"net/http"
	"strconv"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The numbers of MCP and JSON-RPC that no row of the fault table has.
const (
	HeaderMismatch = -32020
	BadVersion     = -32022
	BadRequest     = -32600
	NoMethod       = -32601
	BadParams      = -32602
)

// Problem is a JSON-RPC error. Data is JSON or nil.
type Problem struct {
	Code    int
	Message string
	Data    []byte
	reason  fault.Code // of a fault, else empty
}

// Reason is the code that the trail and the log tell it by.
func (p *Problem) Reason() fault.Code {
	if p.reason == "" {
		return fault.InvalidRequest
	}
	return p.reason
}

// ProblemOf gives a fault the form that its row names.
func ProblemOf(f *fault.Fault) *Problem {
	return &Problem{Code: f.Row().RPC, Message: f.Text, Data: FaultData(f), reason: f.Code}
}

// Status is the HTTP status of the error: the older revisions answer nearly all
// of them with 200.
func (p *Problem) Status(e Era) int {
	switch {
	case p.Code == HeaderMismatch || p.Code == BadVersion:
		return http.StatusBadRequest
	case e == Legacy:
		return http.StatusOK
	case p.Code == NoMethod:
		return http.StatusNotFound
	case p.Code == BadParams:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// Encode gives the whole response to the request of this id, which is null for
// a nil one.
func (p *Problem) Encode(id strictjson.Raw) []byte {
	b := make([]byte, 0, 256)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		b = append(b, "null"...)
	}
	b = append(b, id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(p.Code), 10)
	b = append(b, `,"message":`...)
	b = append(b, Quoted(p.Message)...)
	if p.Data != nil {
		b = append(append(b, `,"data":`...), p.Data...)
	}
	return append(b, "}}"...)
}

// faultJSON is how a fault stands in data and _meta.
type faultJSON struct {
	Code    fault.Code     `json:"code"`
	Retry   fault.Retry    `json:"retry"`
	Details map[string]any `json:"details,omitempty"`
}

// FaultData gives code, retry class and details of a fault as JSON.
func FaultData(f *fault.Fault) []byte {
	row := f.Row()
	out := faultJSON{Code: row.Code, Retry: row.Retry}
	if row.Details {
		out.Details = f.Details
	}
	data, err := strictjson.Encode(out)
	if err != nil {
		// A detail that cannot be written is dropped, never the code.
		data, _ = strictjson.Encode(faultJSON{Code: row.Code, Retry: row.Retry})
	}
	return data
}

// Quoted writes text as a JSON string; text that is not UTF-8 is replaced whole.
func Quoted(s string) []byte {
	b, err := strictjson.Encode(s)
	if err != nil {
		return []byte(`"(text that cannot be shown)"`)
	}
	return b
}
