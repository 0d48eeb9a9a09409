package httpguard

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Header names the request in the answer and in the log.
const Header = "X-Request-Id"

// NewServer returns a server with the bounds of a connection, whatever it is reached
// by. What a request may hold is the door's affair, and so is the time for an answer,
// which may be a stream or take as long as an import does.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: bound.HTTPHeader.Duration(), ReadTimeout: bound.HTTPRequest.Duration(),
		IdleTimeout: bound.HTTPIdle.Duration(), MaxHeaderBytes: bound.HTTPHeaderBytes.Int(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// ServeHTTP checks a request, passes it on, and logs it.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w, request: newID(), start: time.Now()}
	rec.Header().Set(Header, rec.request)
	rec.Header().Set("X-Content-Type-Options", "nosniff")
	defer g.finish(rec, r)
	if status, f := g.check(r); f != nil {
		g.refuse(rec, status, f)
		return
	}
	g.next.ServeHTTP(rec, r)
}

func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// finish logs the request. After a panic it answers with a fixed text if nothing
// was written, and else ends the connection, so that half an answer never looks
// like a whole one.
func (g *Guard) finish(rec *recorder, r *http.Request) {
	cause := recover()
	err, _ := cause.(error)
	broken := cause != nil && !errors.Is(err, http.ErrAbortHandler)
	if broken {
		g.log.Error("a request broke the host's code", "request", rec.request, "path", shortened(r.URL.Path), "panic", cause, "stack", string(debug.Stack()))
	}
	written := rec.status != 0
	if broken && !written {
		g.refuse(rec, http.StatusInternalServerError, fault.New(fault.Internal, "the host failed; its log has the reason"))
	}
	cut := cause != nil && (written || !broken)
	if !cut && rec.Header().Get("Content-Length") != "" {
		rec.Flush() // a whole answer does not wait for the log
	}
	g.access(rec, r, cut)
	if cut {
		panic(http.ErrAbortHandler)
	}
}

func (g *Guard) access(rec *recorder, r *http.Request, cut bool) {
	attrs := make([]slog.Attr, 0, 8+len(rec.notes))
	attrs = append(attrs,
		slog.String("request", rec.request), slog.String("method", shortened(r.Method)), slog.String("path", shortened(r.URL.Path)),
		slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes),
		slog.Float64("ms", float64(time.Since(rec.start).Microseconds())/1000), slog.String("from", r.RemoteAddr))
	if cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	g.log.LogAttrs(r.Context(), slog.LevelInfo, "request", append(attrs, rec.notes...)...)
}

// shortened bounds what a client can put into one line of the log, and keeps out
// a token that stands where none belongs (threats, A44).
func shortened(text string) string {
	text = secret.Mask(text)
	return text[:min(len(text), 128)]
}

// recorder sees what a door writes.
type recorder struct {
	http.ResponseWriter
	request string
	start   time.Time
	status  int
	bytes   int64
	notes   []slog.Attr
}

// Note adds a field to the request's line in the log. The door's goroutine calls
// it, with ids and codes only.
func (rec *recorder) Note(key, value string) { rec.notes = append(rec.notes, slog.String(key, value)) }

func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 && status >= http.StatusOK {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *recorder) Write(b []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(b)
	rec.bytes += int64(n)
	return n, err
}

// Flush serves those who ask the writer itself; the rest goes through Unwrap.
func (rec *recorder) Flush() { _ = http.NewResponseController(rec.ResponseWriter).Flush() }

// Unwrap gives http.ResponseController the writer below.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }
