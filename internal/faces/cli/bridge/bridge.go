// Package bridge joins a client that speaks MCP on its standard streams to the
// running host: each line that comes in is one message to the host, each message
// of the host is one line out (pool page, section 9). It passes on what the client
// speaks, in both protocol eras, and adds only what HTTP wants in headers.
//
// It promises that a tools/call goes out at most once. Where its answer does not
// come back, the client is told that the call may have happened; where no byte
// went out, that nothing was sent. What only reads is asked again. When the host
// comes back under it, an old session is opened anew with the client's own first
// messages. Nothing but messages is written to out. It ends with its input, after
// bound.BridgeDrain at most, and with its parent. It keeps no order between requests, as MCP has none.
//
// Lines are bounded by bound.BridgeLineBytes, requests under way by
// bound.BridgeRequests; one more waits, and with it the reading. State is under
// one lock; each line out is written whole under another.
package bridge

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Options are the way to the host. All are required.
type Options struct {
	// Dial reaches the host's socket. Its error means that no host is there.
	Dial  func(ctx context.Context) (net.Conn, error)
	Token secret.Secret // the app's token for /mcp
	// Parent is the process that started this one, as it is now.
	Parent func() int
}

// parentEvery is how often the parent is looked at. Whoever dies without closing our
// input leaves it open where somebody else has it too; what tells is that the parent
// is another one, not which (a container's may be the first process).
const parentEvery = time.Second

// unreachedError is the error of a request of which no byte went out.
type unreachedError struct{ cause error }

func (e *unreachedError) Error() string { return "no host is reached: " + e.cause.Error() }
func (e *unreachedError) Unwrap() error { return e.cause }

type bridge struct {
	http  *http.Client
	token secret.Secret
	out   io.Writer
	stop  context.CancelCauseFunc

	writing  sync.Mutex // guards out
	renewing sync.Mutex // one session is opened anew at a time
	work     sync.WaitGroup
	streams  sync.WaitGroup // what ends with the bridge only
	gate     chan struct{}

	mu      sync.Mutex
	session session
	running map[string]context.CancelFunc // requests of the era without sessions, by their id
}

// Run serves one client until its input ends or ctx does. The error is of
// writing to the client, who then hears nothing any more.
func Run(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// Each request has a connection of its own, so that nothing below sends one again.
	b := &bridge{token: o.Token, out: out, stop: stop, gate: make(chan struct{}, bound.BridgeRequests.Int()), running: map[string]context.CancelFunc{},
		http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := o.Dial(ctx)
				if err != nil {
					return nil, &unreachedError{err}
				}
				return conn, nil
			}}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	parent := o.Parent()
	b.streams.Go(func() {
		again := time.NewTicker(parentEvery)
		defer again.Stop()
		for ctx.Err() == nil && o.Parent() == parent {
			select {
			case <-again.C:
			case <-ctx.Done():
			}
		}
		stop(nil)
	})
	lines := make(chan line)
	go read(ctx, in, lines) // a read that is left behind ends with the process
	for more := true; more; {
		select {
		case l, ok := <-lines:
			if more = ok; ok {
				b.take(ctx, l)
			}
		case <-ctx.Done():
			more = false
		}
	}
	b.drain(ctx)
	stop(nil)
	b.work.Wait()
	b.streams.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// drain waits a moment for what is under way, for a client that has written all
// and still reads, and takes leave of the host.
func (b *bridge) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() { defer close(done); b.work.Wait() }()
	patience := time.NewTimer(bound.BridgeDrain.Duration())
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	case <-ctx.Done():
	}
	b.leave(context.WithoutCancel(ctx))
}

// line is one line of input, or one that was too long.
type line struct {
	text []byte
	long bool
}

// read hands lines on until the input or ctx ends.
func read(ctx context.Context, in io.Reader, lines chan<- line) {
	defer close(lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l, err := readLine(r)
		if len(l.text) > 0 || l.long {
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func readLine(r *bufio.Reader) (l line, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !l.long {
			l.text = append(l.text, part...)
		}
		if bound.BridgeLineBytes.Check(len(l.text)) != nil {
			l.text, l.long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.text = trim(l.text)
			return l, err
		}
	}
}

// take answers one line, or starts what will. What a client says in order is
// passed on in order: only requests that may take long are left to themselves.
func (b *bridge) take(ctx context.Context, l line) {
	m, problem := parse(l)
	switch {
	case problem != "":
		b.write(failure(m.id, codeParse, problem))
	case m.method == methodInitialize:
		b.open(ctx, m)
	case m.id == nil || m.method == "":
		b.notify(ctx, m)
	default:
		b.start(ctx, m)
	}
}

// start sends a request without waiting for its answer.
func (b *bridge) start(ctx context.Context, m message) {
	select {
	case b.gate <- struct{}{}:
	case <-ctx.Done():
		return
	}
	group := &b.work
	if m.method == methodListen {
		group = &b.streams
	}
	ctx, cancel := context.WithCancel(ctx)
	if m.modern() {
		b.mu.Lock()
		b.running[string(m.id)] = cancel
		b.mu.Unlock()
	}
	group.Go(func() {
		defer cancel()
		b.request(ctx, m)
		b.mu.Lock()
		delete(b.running, string(m.id))
		b.mu.Unlock()
		<-b.gate
	})
}

// notify passes on what needs no answer. A request of the era without sessions is
// given up by ending it.
func (b *bridge) notify(ctx context.Context, m message) {
	b.mu.Lock()
	cancel := b.running[m.cancels]
	b.mu.Unlock()
	if m.cancels != "" && cancel != nil {
		cancel()
		return
	}
	if m.method == methodInitialized {
		b.begin(ctx, m)
		return
	}
	resp, err := b.post(ctx, m)
	if err != nil {
		return // nobody waits for it
	}
	resp.Body.Close()
}

// write puts one message on a line of its own.
func (b *bridge) write(message []byte) {
	b.writing.Lock()
	defer b.writing.Unlock()
	if _, err := b.out.Write(append(flat(message), '\n')); err != nil {
		b.stop(err)
	}
}
