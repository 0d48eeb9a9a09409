// Package load calls things over and over, from a process of its own, so that
// what a client costs is not counted with what it calls.
//
// The process reads one Job a line and answers each with one Result, until its
// input ends. Its connections, sessions and servers stay open from one job to
// the next. Every answer is looked at; one that is not as it should be fails the
// job. Loopback only.
package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"

	"github.com/stewardhost/steward/bench/meter"
)

// Kind is what a caller does.
type Kind string

// The kinds. Direct speaks to a server of its own over pipes, without steward.
const (
	Direct Kind = "direct"
	Legacy Kind = "legacy" // tools/call in a session of 2025-11-25
	Modern Kind = "modern" // tools/call of 2026-07-28
	Far    Kind = "far"    // the same, of a tool behind HTTP
	List   Kind = "list"   // tools/list of 2026-07-28
	Put    Kind = "put"    // a new item over /rpc/v1
	Get    Kind = "get"    // an item over /rpc/v1

	Listening Kind = "listening" // subscriptions/listen of 2026-07-28; see Listen
)

// Target is what is called.
type Target struct {
	Kind    Kind
	Addr    string   // host:port
	Token   string   //
	Tool    string   // of a call
	Command []string // of Direct
}

// Text is what the tools are given, Value what the items hold, and Key the item
// that Get reads.
const (
	Text  = "hello, and what else a person would say in one line"
	Value = "a text of an ordinary length, such as a preference or the state of a small program, in two or three lines of words"
	Key   = "item-00000000000"
)

// KeyOf is the key of the nth item that Put makes; all have one length.
func KeyOf(n int64) string { return fmt.Sprintf("item-%011d", n) }

// Job asks for calls.
type Job struct {
	Target  Target
	Callers int // at the same time
	Calls   int // together
	Tools   int // that a list has to have
}

// Result is what came of a job.
type Result struct {
	Times  meter.Times
	Bytes  int    // of the last answer
	Failed string // why the job was given up, else empty
}

// caller makes one call of a job and returns how long the answer was.
type caller interface {
	call(job Job) (int, error)
	close()
}

const warmUp = 5 // calls of a fresh caller that nobody times

// Serve is the body of the process.
func Serve(in io.Reader, out io.Writer) error {
	decoder, encoder := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	known := map[string][]caller{}
	defer func() {
		for _, callers := range known {
			for _, c := range callers {
				c.close()
			}
		}
	}()
	for {
		var job Job
		if err := decoder.Decode(&job); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var result Result
		if err := serve(known, job, &result); err != nil {
			result.Failed = err.Error()
		}
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
}

func serve(known map[string][]caller, job Job, result *Result) error {
	key := fmt.Sprint(job.Target)
	for len(known[key]) < job.Callers {
		c, err := open(job.Target)
		if err != nil {
			return err
		}
		known[key] = append(known[key], c)
		for range warmUp {
			if _, err := c.call(job); err != nil {
				return err
			}
		}
	}
	callers, bytes := known[key], make([]int, job.Callers)
	times, err := meter.Spread(job.Callers, job.Calls, func(caller, _ int) (err error) {
		bytes[caller], err = callers[caller].call(job)
		return err
	})
	result.Times, result.Bytes = times, bytes[0]
	return err
}

func open(t Target) (caller, error) {
	switch t.Kind {
	case Direct:
		return startDirect(t)
	case Put, Get:
		return openRPC(t)
	}
	return openMCP(t)
}

// Process is the other end: the process that does the jobs.
type Process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	encoder *json.Encoder
	decoder *json.Decoder
}

// Start runs the program with its verb.
func Start(program string, verb ...string) (*Process, error) {
	cmd := exec.Command(program, verb...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{cmd, in, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}, nil
}

// Run does one job; jobs must not overlap.
func (p *Process) Run(job Job) (Result, error) {
	if host, _, err := net.SplitHostPort(job.Target.Addr); job.Target.Kind != Direct && (err != nil || !net.ParseIP(host).IsLoopback()) {
		return Result{}, fmt.Errorf("load: %q is not on loopback", job.Target.Addr)
	}
	if err := p.encoder.Encode(job); err != nil {
		return Result{}, err
	}
	var r Result
	if err := p.decoder.Decode(&r); err != nil {
		return Result{}, err
	}
	if r.Failed != "" {
		return Result{}, fmt.Errorf("load: %s: %s", job.Target.Kind, r.Failed)
	}
	return r, nil
}

// Close ends the process and waits for it.
func (p *Process) Close() error {
	p.in.Close()
	return p.cmd.Wait()
}
