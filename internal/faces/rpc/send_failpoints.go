//go:build failpoints

package rpc

import (
	"net/http"

	"github.com/stewardhost/steward/internal/ground/failpoint"
)

// send writes the body in two halves, the first of which has left the process
// when the failpoint is hit. An error cuts the answer short.
func send(w http.ResponseWriter, body []byte) {
	half := len(body) / 2
	_, _ = w.Write(body[:half])
	_ = http.NewResponseController(w).Flush()
	if err := failpoint.Hit(failpoint.HalfReplied); err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body[half:])
}
