package admin

import (
	"log/slog"

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
