package frame

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// ReadBody takes at most bound.RequestBytes.
func ReadBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, bad *fault.Fault) {
	room := min(max(r.ContentLength, 0), bound.RequestBytes.Max)
	buf := bytes.NewBuffer(make([]byte, 0, room+bytes.MinRead))
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, bound.RequestBytes.Max))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		tooLarge := bound.RequestBytes.Exceeded()
		return nil, tooLarge.Row().HTTP, tooLarge
	case err != nil:
		return nil, http.StatusBadRequest, fault.New(fault.InvalidRequest, "the body could not be read")
	}
	return buf.Bytes(), 0, nil
}
