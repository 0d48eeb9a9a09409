package mcp

import (
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The numbers of MCP and JSON-RPC that no row of the fault table has.
const (
	codeHeaderMismatch = -32020
	codeVersion        = -32022
	codeRequest        = -32600
	codeNoMethod       = -32601
	codeParams         = -32602
)

// problem is a JSON-RPC error before it is written.
type problem struct {
	code    int
	message string
	data    []byte // JSON or nil
}

// problemOf gives a fault the form that its row names.
func problemOf(f *fault.Fault) *problem {
	return &problem{code: f.Row().RPC, message: f.Text, data: faultData(f)}
}

// absent is the one answer for a tool that does not exist, is not granted, is
// another app's or is an upstream's own name. It tells nothing that the caller
// did not send (threats, A55; field faults, FF81).
var absent = problemOf(fault.New(fault.NotFound, "there is no such tool here"))

// faultJSON is how a fault stands in data and _meta.
type faultJSON struct {
	Code    fault.Code     `json:"code"`
	Retry   fault.Retry    `json:"retry"`
	Details map[string]any `json:"details,omitempty"`
}

func faultData(f *fault.Fault) []byte {
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
