package capsule

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/protocol/capsulewire"
)

// The topics of the requests that a capsule answers.
const (
	describeTopic = "resource.v1.request.describe"
	readTopic     = "resource.v1.request.read"
	toolsTopic    = "tool.v1.request.describe"
	executeTopic  = "tool.v1.execute." // and the tool's name

	// oneRequest is how a module is asked: its input ends behind the request, and so
	// the end of the input is not the end of the work.
	oneRequest = runtime.GOOS == "wasip1"
)

// Serve answers the host over the standard streams until ctx ends or the host
// closes them.
func Serve(ctx context.Context, c Capsule) error {
	return ServeOn(ctx, c, os.Stdin, os.Stdout)
}

// ServeOn is Serve over other streams, for tests.
func ServeOn(ctx context.Context, c Capsule, in io.Reader, out io.Writer) error {
	if c.Describe == nil && len(c.Tools) == 0 {
		return errors.New("capsule: Describe or Tools is required")
	}
	if err := checkTools(c.Tools); err != nil {
		return err
	}
	s := &server{capsule: c, out: out, open: map[string]context.CancelFunc{}, slots: make(chan struct{}, capsulewire.OpenRequests())}
	ctx, cancel := context.WithCancel(ctx)
	defer s.running.Wait()
	defer cancel()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4096), capsulewire.LineBytes())
	for lines.Scan() {
		f, err := capsulewire.DecodeHostFrame(lines.Bytes())
		if err != nil {
			return fmt.Errorf("capsule: the host sent something else: %w", err)
		}
		if err := s.take(ctx, f); err != nil {
			return err
		}
	}
	if oneRequest {
		s.running.Wait()
	}
	return lines.Err()
}

// server is one conversation with the host. One lock guards the open requests and
// one the output.
type server struct {
	capsule Capsule
	who     Caller // set by the hello, before any request
	running sync.WaitGroup
	slots   chan struct{}

	mu   sync.Mutex
	open map[string]context.CancelFunc

	writing sync.Mutex
	out     io.Writer
}

func (s *server) take(ctx context.Context, f capsulewire.HostFrame) error {
	switch {
	case f.Type == capsulewire.Hello:
		if s.who != (Caller{}) {
			return errors.New("capsule: the host greeted twice")
		}
		s.who = Caller{f.Principal, f.Capsule}
		return s.send(capsulewire.CapsuleFrame{Type: capsulewire.Ready})
	case s.who == (Caller{}):
		return errors.New("capsule: the host did not say for whom it asks")
	case f.Type == capsulewire.Cancel:
		s.mu.Lock()
		cancel := s.open[f.ID]
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(f.DeadlineMS)*time.Millisecond)
	s.mu.Lock()
	s.open[f.ID] = cancel
	s.mu.Unlock()
	s.slots <- struct{}{} // a full house makes the host wait
	s.running.Go(func() {
		defer func() {
			<-s.slots
			cancel()
			s.mu.Lock()
			delete(s.open, f.ID)
			s.mu.Unlock()
		}()
		s.answer(ctx, f)
	})
	return nil
}

// answer runs the handler. What cannot be answered is silent, so that the host
// need not wait.
func (s *server) answer(ctx context.Context, f capsulewire.HostFrame) {
	record, err := s.run(ctx, f)
	reply := capsulewire.CapsuleFrame{Type: capsulewire.Silent, ID: f.ID}
	if err == nil {
		reply.Type = capsulewire.Reply
		reply.Payload, err = capsulewire.Encode(record)
	}
	if err != nil {
		if !errors.Is(err, ErrNotMine) && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "capsule:", err)
		}
		reply = capsulewire.CapsuleFrame{Type: capsulewire.Silent, ID: f.ID}
	}
	_ = s.send(reply) // a host that is gone closes the input as well
}

func (s *server) run(ctx context.Context, f capsulewire.HostFrame) (any, error) {
	if tool, ok := strings.CutPrefix(f.Topic, executeTopic); ok {
		return s.execute(ctx, tool, f.Payload)
	}
	switch f.Topic {
	case toolsTopic:
		return s.tools(), nil
	case describeTopic:
		if s.capsule.Describe == nil {
			return capsulewire.DescribeResponse{}, nil
		}
		list, err := s.capsule.Describe(ctx, s.who)
		return capsulewire.DescribeResponse{Resources: list}, err
	case readTopic:
		q, err := capsulewire.DecodeReadRequest(f.Payload)
		if err != nil {
			return nil, err
		}
		if s.capsule.Read == nil {
			return nil, ErrNotMine
		}
		contents, err := s.capsule.Read(ctx, s.who, q.URI)
		if err == nil && len(contents) == 0 {
			err = errors.New("there is nothing to show")
		}
		if err != nil && !errors.Is(err, ErrNotMine) {
			text := err.Error()
			return capsulewire.ReadResponse{URI: q.URI, Error: &text}, nil
		}
		return capsulewire.ReadResponse{URI: q.URI, Contents: contents}, err
	}
	return nil, ErrNotMine
}

func (s *server) send(f capsulewire.CapsuleFrame) error {
	line, err := capsulewire.EncodeFrame(f)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.out.Write(line)
	return err
}
