package echo

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
)

// FarArg is the argument by which the tools are served over HTTP.
const FarArg = "far"

// Far serves the tools over HTTP, in sessions that nobody checks, on a free port of
// loopback. It prints its address and ends with its input.
func Far(in io.Reader, out io.Writer, tools int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/mcp\n", l.Addr())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { far(w, r, tools) })}
	go func() {
		_, _ = io.Copy(io.Discard, in) // until whoever started it is gone
		_ = server.Close()
	}()
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func far(w http.ResponseWriter, r *http.Request, tools int) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var q request
	if err != nil || r.Method != http.MethodPost || json.Unmarshal(raw, &q) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if q.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer(q, tools))
}
