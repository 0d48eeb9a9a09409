package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/stewardhost/steward/protocol/sessionwire"
)

const (
	recordRoom = 64 << 10 // bytes of a record without its LF (sessions page, section 2)
	eventRoom  = 256
)

var (
	errClosed   = errors.New("the connection is closed")
	errForeign  = errors.New("the daemon sent something that is no record of the protocol")
	errTooLarge = errors.New("the record is over 64 KiB")
)

// wire sends requests and finds the answer of each.
type wire struct {
	conn  net.Conn
	event func(sessionwire.Event)
	ended func() // after the last event
	done  chan struct{}

	instance, connection string // set by initialize, before anything else is asked

	writing sync.Mutex // over writes
	mu      sync.Mutex // over what follows
	next    int64
	waiting map[string]chan sessionwire.Response
	err     error
}

func newWire(conn net.Conn, event func(sessionwire.Event), ended func()) *wire {
	w := &wire{conn: conn, event: event, ended: ended, done: make(chan struct{}), waiting: map[string]chan sessionwire.Response{}}
	go w.read()
	return w
}

func (w *wire) close() {
	w.fail(errClosed)
	<-w.done
}

func (w *wire) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// fail ends the connection; the first reason counts.
func (w *wire) fail(err error) {
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	_ = w.conn.Close() // the reason is what is told
}

// read takes records until the connection ends.
func (w *wire) read() {
	defer close(w.done)
	defer w.ended()
	in := bufio.NewReaderSize(w.conn, recordRoom+1)
	for {
		line, err := in.ReadSlice('\n')
		if err == nil {
			err = w.take(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errClosed
			}
			w.fail(err)
			return
		}
	}
}

func (w *wire) take(line []byte) error {
	var head struct {
		Version int    `json:"protocol_version"`
		Kind    string `json:"kind"`
	}
	if json.Unmarshal(line, &head) != nil || head.Version != sessionwire.Version {
		return errForeign
	}
	switch head.Kind {
	case sessionwire.KindEvent:
		var e sessionwire.Event
		if err := strict(line, &e); err != nil {
			return err
		}
		w.event(e)
		return nil
	case sessionwire.KindResponse:
		var r sessionwire.Response
		if err := strict(line, &r); err != nil {
			return err
		}
		return w.answer(r)
	}
	return errForeign
}

func (w *wire) answer(r sessionwire.Response) error {
	if r.RequestID == nil {
		if r.Error != nil {
			return &Error{"", r.Error.Code, r.Error.Message}
		}
		return errForeign
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if who, ok := w.waiting[*r.RequestID]; ok {
		delete(w.waiting, *r.RequestID)
		who <- r // it has room for the one answer
	}
	return nil
}

// encode is json.Marshal without the escapes that only HTML needs: each would count
// six bytes against the bound of a value.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// strict decodes a value that must have no member beside those of into.
func strict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	return nil
}

func (w *wire) initialize(ctx context.Context, hello sessionwire.InitializePayload, answer *sessionwire.CapabilityAnswer) error {
	r, err := w.exchange(ctx, sessionwire.Request{Method: sessionwire.Initialize}, hello)
	if err != nil {
		return err
	}
	w.instance, w.connection = r.InstanceID, r.ConnectionID
	return strict(r.Payload, answer)
}

func (w *wire) ask(ctx context.Context, method, session string, control *sessionwire.Control, operation string, payload, answer any) error {
	r, err := w.exchange(ctx, sessionwire.Request{
		InstanceID: &w.instance, ConnectionID: &w.connection, Method: method,
		SessionID: orNull(session), Control: control, OperationID: orNull(operation),
	}, payload)
	if err != nil || answer == nil {
		return err
	}
	return strict(r.Payload, answer)
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (w *wire) exchange(ctx context.Context, r sessionwire.Request, payload any) (sessionwire.Response, error) {
	body, err := encode(payload)
	if err != nil {
		return sessionwire.Response{}, err
	}
	r.ProtocolVersion, r.Kind, r.Payload = sessionwire.Version, sessionwire.KindRequest, body
	reply, err := w.send(&r)
	if err != nil {
		return sessionwire.Response{}, err
	}
	select {
	case got := <-reply:
		if got.Error != nil {
			return got, &Error{r.Method, got.Error.Code, got.Error.Message}
		}
		return got, nil
	case <-ctx.Done():
		return sessionwire.Response{}, ctx.Err()
	case <-w.done:
		return sessionwire.Response{}, w.reason()
	}
}

// send writes a request under a fresh ID and says where its answer will be.
func (w *wire) send(r *sessionwire.Request) (<-chan sessionwire.Response, error) {
	reply := make(chan sessionwire.Response, 1)
	w.mu.Lock()
	if w.err != nil {
		w.mu.Unlock()
		return nil, w.err
	}
	w.next++
	r.RequestID = strconv.FormatInt(w.next, 10)
	w.waiting[r.RequestID] = reply
	w.mu.Unlock()
	line, err := encode(r)
	if err == nil && len(line) > recordRoom {
		err = errTooLarge
	}
	if err != nil {
		w.mu.Lock()
		delete(w.waiting, r.RequestID)
		w.mu.Unlock()
		return nil, err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := w.conn.Write(append(line, '\n')); err != nil {
		w.fail(err)
		return nil, err
	}
	return reply, nil
}
