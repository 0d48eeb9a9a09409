package admin

import (
	"log/slog"
	"net/http"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/means/localsocket"
)

const socketBase = "admin"

// SocketName is the socket's name in its folder.
const SocketName = socketBase + localsocket.SocketEnd

// What Listen refuses.
var (
	ErrUnsafe = localsocket.ErrUnsafe
	ErrBusy   = localsocket.ErrBusy
)

// Listener is the owner's socket.
type Listener = localsocket.Listener

// Listen listens in a folder that only this user can enter, for the life of the
// process.
func Listen(folder string, log *slog.Logger) (*Listener, error) {
	return localsocket.Listen(folder, socketBase, log)
}

// NewServer returns a server for a listener, of a Door and of what else is for this
// user alone. An answer may take as long as an import does.
func NewServer(d http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: d, ReadHeaderTimeout: bound.HTTPHeader.Duration(), ReadTimeout: bound.HTTPRequest.Duration(),
		IdleTimeout: bound.HTTPIdle.Duration(), MaxHeaderBytes: bound.HTTPHeaderBytes.Int(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
