package feed

import (
	"bytes"
	"net/http"
)

// Held keeps a small answer back.
type Held struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Hold returns an empty answer.
func Hold() *Held { return &Held{header: http.Header{}} }

// Header is what will be sent first.
func (h *Held) Header() http.Header { return h.header }

// WriteHeader sets the status.
func (h *Held) WriteHeader(status int) { h.status = status }

// Write adds to the body.
func (h *Held) Write(b []byte) (int, error) { return h.body.Write(b) }

// Release sends the answer.
func (h *Held) Release(w http.ResponseWriter) {
	for name, values := range h.header {
		w.Header()[name] = values
	}
	Private(w.Header())
	w.WriteHeader(max(h.status, http.StatusOK))
	_, _ = w.Write(h.body.Bytes()) // a client that is gone leaves its session to idle
}

// ToolsChanged is what the SDK sends to a session whose list changed.
func ToolsChanged() []byte {
	return []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{}}\n\n")
}
