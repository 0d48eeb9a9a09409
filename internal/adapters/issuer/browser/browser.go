// Package browser waits for an owner's browser to come back from an authorization
// server, on a listener of its own on loopback (RFC 8252, section 7.3).
//
// It takes one answer: the one to the question with the state that nobody can guess,
// from a request that names this very address; whatever else comes is not found.
// Nothing of the answer is shown again. The path is always Path, so that a client that
// was registered by hand or by a document can name it; the port is any (RFC 8252). A Listener belongs to whoever opened it and must be closed.
package browser

import (
	"context"
	"crypto/subtle"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Listener waits for one answer.
type Listener struct {
	redirect string
	server   *http.Server
	answer   chan credential.Callback // room for one
	ended    sync.WaitGroup
}

const slow = 10 * time.Second

// Path is where the browser comes back to, at any port of Host.
const (
	Host = "127.0.0.1"
	Path = "/callback"
)

// Open listens on a free port of loopback for the answer to a state.
func Open(ctx context.Context, state string) (*Listener, error) {
	at, err := new(net.ListenConfig).Listen(ctx, "tcp", Host+":0")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "nothing can listen for the browser").Because(err)
	}
	l := &Listener{redirect: "http://" + at.Addr().String() + Path, answer: make(chan credential.Callback, 1)}
	l.server = &http.Server{Handler: l.handler(at.Addr().String(), state), ReadTimeout: slow, WriteTimeout: slow, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	l.ended.Go(func() { _ = l.server.Serve(at) }) // ends with Close
	return l, nil
}

// Redirect is where the browser must come back to.
func (l *Listener) Redirect() string { return l.redirect }

// Answer is what it came back with, once.
func (l *Listener) Answer() <-chan credential.Callback { return l.answer }

// Close ends the listener and waits for what it serves.
func (l *Listener) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close() // a browser that does not read has had its time
	}
	l.ended.Wait()
}

const page = `<!doctype html><meta charset="utf-8"><title>steward</title><p>steward has its answer. You can close this page.</p>`

func (l *Listener) handler(host, state string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		q := r.URL.Query()
		its := subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) == 1
		if r.Method != http.MethodGet || r.URL.Path != Path || r.Host != host || !its {
			http.NotFound(w, r)
			return
		}
		select {
		case l.answer <- credential.Callback{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}:
		default: // it has come before
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	})
}
