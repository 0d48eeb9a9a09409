// Package childprocess runs commands that the operator installed, such as local
// MCP servers, as supervised children.
//
// Between the host and the command stands a supervisor: this program again,
// under its hidden verb, which only waits.
//
//	host ──lifeline──> supervisor ──starts, reaps──> command ──> its children
//	  └──stdin, stdout, stderr: inherited through, never copied──┘
//
// Promised: when the host dies, however it dies, or Stop is called, the command
// and everything that it started has ended within bound.StopGrace, also what
// left its process group (Linux; on darwin a process that was orphaned outside
// the group is not found). A command never sees the host's environment. Exit
// tells how the command ended, also when a shell of a supervisor lay between.
// Standard error is kept up to bound.StderrBytes. A write to a command that does
// not read can be given a deadline.
//
// Not promised: a restart, an answer of any kind, a limit on the command's CPU
// or memory, or confinement; the command has the host's user and files.
//
// A Process may be used from several goroutines.
package childprocess

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Spec says what to run.
type Spec struct {
	Command string   // a path, or a name that is looked up in Env's PATH
	Args    []string // without the command itself
	Env     []string // complete, as NAME=value; the host's own environment is not added
	Dir     string   // working directory; the host's own if empty

	// Mask lists secrets that the command was given and may print; what is kept of its
	// standard error has a mark in their place. Those under maskedFrom bytes are
	// left, since they may be part of any word.
	Mask []string
}

// Options are for programs that carry the supervisor under another verb.
type Options struct {
	Self []string // supervisor command line; by default this program with its verb
}

// Process is one running or ended command. Stop must be called once it is not
// needed any more, also when it ended by itself: that frees the pipes.
type Process struct {
	stdin    *os.File
	stdout   *os.File
	lifeline *os.File
	command  *exec.Cmd // the supervisor
	pid      int       // the command, which leads its own process group
	words    tail
	stopping sync.Once
	done     chan struct{}
	exit     string // written before done is closed
}

// handles are the ends of pipes that the supervisor inherits.
type handles struct{ stdin, stdout, stderr, lifeline, report *os.File }

// Start runs the command under a supervisor and returns once the command is
// running. A command that cannot be run is Unavailable with the system's reason.
func Start(spec Spec, opt Options) (*Process, error) {
	if spec.Dir != "" {
		// A failed start would name the supervisor's file as what is missing.
		if _, err := os.Stat(spec.Dir + "/."); err != nil {
			return nil, fault.New(fault.Unavailable, "the command's folder cannot be used: "+err.Error()).Because(err)
		}
	}
	theirs, p, report, stderr, err := openPipes()
	if err != nil {
		return nil, fault.New(fault.Unavailable, "no pipe for a child process: "+err.Error()).Because(err)
	}
	p.command = supervisorCommand(spec, opt, theirs)
	err = p.command.Start()
	theirs.close()
	if err != nil {
		p.closePipes(report, stderr)
		return nil, fault.New(fault.Unavailable, "the supervisor cannot be started: "+err.Error()).Because(err)
	}
	reports := bufio.NewReader(report)
	report.SetReadDeadline(time.Now().Add(bound.StartDeadline.Duration()))
	first, err := reports.ReadString('\n')
	report.SetReadDeadline(time.Time{})
	p.pid, _ = strconv.Atoi(strings.TrimPrefix(strings.TrimSuffix(first, "\n"), startedWord))

	p.words.hide(spec.Mask)
	go p.keep(reports, report, stderr)
	if p.pid > 0 {
		return p, nil
	}
	p.Stop()
	if reason, ok := strings.CutPrefix(first, failedWord); ok {
		return nil, fault.New(fault.Unavailable, "the command cannot be started: "+strings.TrimSpace(reason))
	}
	return nil, fault.New(fault.Unavailable, "the supervisor did not start the command: "+p.Exit()).Because(errors.Join(err, errors.New(p.StderrTail())))
}

// Stdin is the command's standard input. SetWriteDeadline on it bounds a write
// to a command that has stopped reading. Only Stop closes it.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout is the command's standard output. It ends when the command and all its
// children have closed it.
func (p *Process) Stdout() *os.File { return p.stdout }

// PID is the command's process id, for views.
func (p *Process) PID() int { return p.pid }

// Done is closed when the command, all that it started and its supervisor have
// ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the command ended, such as "exit code 3" or "signal killed". It
// is empty until Done is closed.
func (p *Process) Exit() string {
	select {
	case <-p.done:
		return p.exit
	default:
		return ""
	}
}

// StderrTail is the end of what the command wrote to its standard error, at most
// bound.StderrBytes. Bytes that are not printable text are escaped, so that it
// can be shown on a terminal; line ends stay.
func (p *Process) StderrTail() string { return p.words.text() }

// Stop ends the command and all that it started: it closes standard input, asks
// with SIGTERM a little later, and kills what is left, all within
// bound.StopGrace. It returns when everything has ended and may be called any
// number of times.
func (p *Process) Stop() {
	p.stopping.Do(func() {
		p.stdin.Close()
		p.lifeline.Close()
	})
	// The supervisor keeps the times; these two only guard against one that was
	// itself stopped from outside.
	if !p.endedWithin(bound.StopGrace.Duration() + stopTerm) {
		p.command.Process.Kill()
		p.endedWithin(stopTerm)
	}
	p.stdout.Close()
}

func (p *Process) endedWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// keep follows the process to its end and is the only writer of its outcome.
func (p *Process) keep(reports *bufio.Reader, report, stderr *os.File) {
	var collecting sync.WaitGroup
	collecting.Go(func() { p.words.collect(stderr) })

	last, _ := reports.ReadString('\n')
	p.command.Wait() // its error is the exit state, read below
	exit, told := strings.CutPrefix(strings.TrimSuffix(last, "\n"), endedWord)
	if !told {
		exit = "supervisor lost: " + exitText(p.command.ProcessState.Sys().(syscall.WaitStatus))
		if p.pid > 0 {
			killGroup(p.pid)
		}
	}
	// What the command wrote is in the pipe already; only a process that escaped
	// could still hold the other end.
	stderr.SetReadDeadline(time.Now().Add(stderrDrain))
	collecting.Wait()
	p.words.rest(stderr)
	stderr.Close()
	report.Close()
	p.exit = exit
	close(p.done)
}

// stderrDrain is how long the rest of standard error is read after the end.
const stderrDrain = 100 * time.Millisecond

func supervisorCommand(spec Spec, opt Options, theirs *handles) *exec.Cmd {
	path, args := selfPath(), []string{os.Args[0], Verb}
	if len(opt.Self) > 0 {
		path, args = opt.Self[0], opt.Self
	}
	args = append(append([]string(nil), args...), spec.Command)
	return &exec.Cmd{
		Path:        path,
		Args:        append(args, spec.Args...),
		Env:         append([]string{}, spec.Env...), // nil would mean the host's own
		Dir:         spec.Dir,
		Stdin:       theirs.stdin,
		Stdout:      theirs.stdout,
		Stderr:      theirs.stderr,
		ExtraFiles:  []*os.File{theirs.lifeline, theirs.report}, // lifelineFD, reportFD
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
}

func openPipes() (theirs *handles, p *Process, report, stderr *os.File, err error) {
	theirs, p = &handles{}, &Process{done: make(chan struct{})}
	for _, pipe := range []struct{ r, w **os.File }{
		{&theirs.stdin, &p.stdin},
		{&p.stdout, &theirs.stdout},
		{&stderr, &theirs.stderr},
		{&theirs.lifeline, &p.lifeline},
		{&report, &theirs.report},
	} {
		if *pipe.r, *pipe.w, err = os.Pipe(); err != nil {
			theirs.close()
			p.closePipes(report, stderr)
			return nil, nil, nil, nil, err
		}
	}
	return theirs, p, report, stderr, nil
}

// close and closePipes may meet a nil file, whose Close does nothing.
func (h *handles) close() {
	for _, f := range []*os.File{h.stdin, h.stdout, h.stderr, h.lifeline, h.report} {
		f.Close()
	}
}

func (p *Process) closePipes(more ...*os.File) {
	for _, f := range append(more, p.stdin, p.stdout, p.lifeline) {
		f.Close()
	}
}
