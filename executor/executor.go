// Package executor is the client side of steward's session daemon for
// applications: connect to its Unix socket, control a session, lend it tools and
// skills, and execute what the session's agent asks for.
//
//	memory, err := executor.InFile(filepath.Join(private, "executor.json"))
//	...
//	client, err := executor.Open(ctx, executor.Options{
//		Socket: socket, Name: "my-app", Version: "1.0", Memory: memory,
//		Tools:  map[string]executor.Handler{"add_note": addNote},
//	})
//
// It promises that a handler runs at most once for a call: a call is remembered
// before it runs and its outcome before it is told, so that after a lost
// connection or a crash the same outcome is told again and nothing is run again.
// What ran when the application died is reported as failed, with words that say
// that it may have happened. It does not promise that the daemon still wants an
// outcome; the daemon's evidence says what counts.
//
// A Client is one connection. When it is lost, Done is closed, control over
// sessions is gone, and Open with the same Memory attaches the executor again;
// Keep does that until its context ends. Records are bounded by 64 KiB and events
// that nobody reads by 256. Everything is safe for concurrent use.
package executor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/stewardhost/steward/protocol/sessionwire"
)

// Handler executes one call. The value is encoded as JSON and must fit the tool's
// output schema. An error is told to the agent in its own words, at most 512
// bytes of them; wrap ErrDenied where the user has not allowed it. The context
// ends when the daemon gives the call up, which undoes nothing.
type Handler func(ctx context.Context, c Call) (value any, err error)

// Call is one call to execute.
type Call struct {
	SessionID string
	TurnID    string
	CallID    string
	Name      string
	Arguments json.RawMessage // an object that fits the tool's input schema
	Timeout   time.Duration   // since the daemon sent it
}

// ErrDenied says that the user or the application does not allow the call.
var ErrDenied = errors.New("permission denied")

// Options say how to connect. Socket is required.
type Options struct {
	Socket        string // path of the daemon's socket
	Name, Version string // of the application; shown, never trusted
	// Memory keeps the executor's proof and its open calls. Nil attaches no
	// executor: a client that only controls sessions.
	Memory *Memory
	// Tools are the handlers, by the names under which tools are registered.
	Tools map[string]Handler
	// Dial connects to the socket; nil checks that only this user can have it, and
	// that the daemon is this user's.
	Dial func(ctx context.Context, path string) (net.Conn, error)
	// Plain leaves the profile out: an ordinary client, without resources.
	Plain bool
}

// Error is what the daemon answered in place of a result.
type Error struct{ Method, Code, Message string }

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s", e.Method, e.Code, e.Message) }

// IsCode reports whether err is an answer of the daemon with this code.
func IsCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// passing are the answers that another time may not give.
func passing(err error) bool {
	for _, code := range []string{"limit_exceeded", "configuration_busy", "persistence_failed", "internal_error", "shutting_down"} {
		if IsCode(err, code) {
			return true
		}
	}
	return false
}

// Client is one connection to the daemon.
type Client struct {
	options      Options
	capabilities sessionwire.CapabilityAnswer
	wire         *wire
	events       chan sessionwire.Event

	attaching chan struct{} // closed once the executor is attached or never will be

	mu       sync.Mutex // over executor
	executor sessionwire.ExecutorAt
}

// Open connects, and attaches the executor that Memory knows, or a new one. What
// Memory knows of open calls is settled before Open returns. A client that the
// Memory had before is closed.
func Open(ctx context.Context, o Options) (*Client, error) {
	dial := o.Dial
	if dial == nil {
		dial = dialOwn
	}
	conn, err := dial(ctx, o.Socket)
	if err != nil {
		return nil, err
	}
	c := &Client{options: o, events: make(chan sessionwire.Event, eventRoom), attaching: make(chan struct{})}
	c.wire = newWire(conn, c.event, func() { close(c.events) })
	if err := c.begin(ctx); err != nil {
		c.Close()
		close(c.attaching)
		return nil, err
	}
	close(c.attaching)
	return c, nil
}

func (c *Client) begin(ctx context.Context) error {
	hello := sessionwire.InitializePayload{Client: &sessionwire.Client{Name: c.options.Name, Version: c.options.Version}}
	if !c.options.Plain {
		hello.RequestedCapabilities = []string{sessionwire.Profile}
	}
	if err := c.wire.initialize(ctx, hello, &c.capabilities); err != nil {
		return err
	}
	if c.options.Memory == nil {
		return nil
	}
	return c.attach(ctx)
}

// Capabilities is what the daemon offers on this connection.
func (c *Client) Capabilities() sessionwire.CapabilityAnswer { return c.capabilities }

// Instance is the daemon's start: another one remembers nothing of this one.
func (c *Client) Instance() string { return c.wire.instance }

// Events gives the session events of this connection, in order. Whoever controls
// a session reads them; a connection whose events nobody reads is closed. The
// channel is closed with the connection.
func (c *Client) Events() <-chan sessionwire.Event { return c.events }

// Done is closed when the connection is lost or closed.
func (c *Client) Done() <-chan struct{} { return c.wire.done }

// Err says why, once Done is closed.
func (c *Client) Err() error { return c.wire.reason() }

// Close ends the connection. Handlers that run go on; their outcomes are told by
// the next client of the same Memory.
func (c *Client) Close() { c.wire.close() }

// Call asks for a method that this package has no name for. Session, control and
// operation are null where they are empty.
func (c *Client) Call(ctx context.Context, method, session string, control *sessionwire.Control, operation string, payload, answer any) error {
	return c.wire.ask(ctx, method, session, control, operation, payload, answer)
}

// NewOperation is a fresh operation ID.
func NewOperation() string { return rand.Text() }

// Pauses between two attempts of Keep.
const (
	firstPause  = 100 * time.Millisecond
	longestWait = 5 * time.Second
)

// Keep opens a client and calls with for it, again and again while the connection
// gets lost, until ctx ends or with returns nil. An error of with that is no lost
// connection ends Keep too, and so does a daemon that refuses Open for good: not
// one that is full, is stopping, or has given the executor to a later connection.
func Keep(ctx context.Context, o Options, with func(context.Context, *Client) error) error {
	pause := firstPause
	for {
		c, err := Open(ctx, o)
		if err == nil {
			pause = firstPause
			err = with(ctx, c)
			lost := c.lost()
			c.Close()
			if err == nil || !lost {
				return err
			}
		} else if refused(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
		pause = min(2*pause, longestWait)
	}
}

// refused reports whether Open can never succeed.
func refused(err error) bool {
	var e *Error
	return errors.Is(err, errShut) || errors.As(err, &e) && !passing(err) && e.Code != "stale_connection"
}

func (c *Client) lost() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}
