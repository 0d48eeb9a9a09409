package demo

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Keeper is the hidden verb whose body is Keep.
const Keeper = "demo-keeper"

const (
	homeFolder = "home"
	longParent = 24               // letters of a folder under which no socket has room
	stopWord   = "stop\n"         // on the lifeline: end the host in order
	wiping     = 10 * time.Second // for what the dying still write
)

// Keep is the body of the hidden verb: it makes the story's folder, runs a host and
// a session daemon in it, and removes all when its standard input ends, which it does however
// the story ends. It tells the folder's name on its standard output and returns
// the host's exit code. It needs a process of its own.
func Keep([]string) int {
	unheard := make(chan os.Signal, 1)
	signal.Notify(unheard, syscall.SIGPIPE) // a demo that is gone reads nothing
	defer signal.Stop(unheard)
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code, err := keep(self, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func keep(self string, lifeline io.Reader, folder io.Writer) (code int, err error) {
	parent := ""
	if len(os.TempDir()) > longParent {
		parent = "/tmp" // the daemon's socket lies below it, and has a short name or none
	}
	dir, err := os.MkdirTemp(parent, "steward-demo-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, wipe(dir)) }()
	if err := daemonFiles(dir); err != nil {
		return 0, err
	}
	ended := make(chan struct{}, 2)
	var wards []*ward
	for _, args := range [][]string{{"up", "--listen", anyPort}, {"daemon", "foreground", "--workspace", filepath.Join(dir, workFolder)}} {
		w, failed := watch(self, dir, args, ended)
		if failed != nil {
			err = failed
			break
		}
		wards = append(wards, w)
	}
	inOrder := false
	if err == nil {
		fmt.Fprintln(folder, dir) // whoever cannot read it has let go of the lifeline too
		inOrder = waitForEnd(lifeline, ended)
	}
	for _, w := range wards {
		code = max(code, w.end(inOrder))
	}
	return code, err
}

// ward is a process that the keeper has started.
type ward struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func watch(self, dir string, args []string, ended chan<- struct{}) (*ward, error) {
	w := &ward{exec.Command(self, args...), make(chan struct{})} //nolint:noctx // it is ended in order, by signal
	w.cmd.Env = append(append(os.Environ(), ours+"="+filepath.Join(dir, homeFolder)), daemonEnv(dir)...)
	w.cmd.Stdout, w.cmd.Stderr = os.Stderr, os.Stderr
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(w.done)
		_ = w.cmd.Wait() // how it ended is read from its state
		ended <- struct{}{}
	}()
	return w, nil
}

// end ends the process, in order if there is time, and gives its exit code.
func (w *ward) end(inOrder bool) int {
	if inOrder {
		_ = w.cmd.Process.Signal(syscall.SIGTERM) // one that has ended hears nothing
		select {
		case <-w.done:
		case <-time.After(patience):
		}
	}
	_ = w.cmd.Process.Kill() // unless it has ended
	<-w.done
	return w.cmd.ProcessState.ExitCode()
}

// waitForEnd waits until the lifeline or one of the processes ends, or a signal comes, and
// reports whether the host is to be stopped in order. Nothing of it is kept, so
// that otherwise no time needs to be lost.
func waitForEnd(lifeline io.Reader, ended <-chan struct{}) bool {
	said := make(chan string, 1)
	go func() {
		word, _ := io.ReadAll(io.LimitReader(lifeline, int64(len(stopWord))))
		said <- string(word)
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	select {
	case word := <-said:
		return word == stopWord
	case <-ended:
	case <-signals:
	}
	return false
}

// wipe removes a folder in which servers that are going may still write.
func wipe(dir string) error {
	for until := time.Now().Add(wiping); ; time.Sleep(glance) {
		if err := os.RemoveAll(dir); err == nil || time.Now().After(until) {
			return err
		}
	}
}

// host is the running `steward up` with its keeper.
type host struct {
	keeper   *exec.Cmd
	lifeline io.WriteCloser
	dir      string
	done     chan struct{} // closed when the keeper has ended
	log      bytes.Buffer  // may be read when done is closed
	base     string
}

// newHost starts a keeper in a process group of its own, which a terminal's
// signals do not reach.
func newHost(self string) (*host, error) {
	h := &host{keeper: exec.Command(self, Keeper), done: make(chan struct{})} //nolint:noctx // it outlives the story, to clean up
	h.keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	h.keeper.Stderr = &h.log
	lifeline, err := h.keeper.StdinPipe()
	if err != nil {
		return nil, err
	}
	folder, err := h.keeper.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.keeper.Start(); err != nil {
		return nil, err
	}
	h.lifeline = lifeline
	dir, err := bufio.NewReader(folder).ReadString('\n')
	go func() {
		defer close(h.done)
		h.keeper.Wait() // how it ended is read from its state
	}()
	if err != nil {
		h.end()
		return nil, fmt.Errorf("the host's keeper ended at once: %s", h.log.String())
	}
	h.dir = strings.TrimSuffix(dir, "\n")
	return h, nil
}

// stop ends the host in order and gives its exit code.
func (h *host) stop() (int, error) {
	if _, err := io.WriteString(h.lifeline, stopWord); err != nil {
		return 0, err
	}
	h.end()
	return h.keeper.ProcessState.ExitCode(), nil
}

// end lets go of the lifeline and waits until nothing is left.
func (h *host) end() {
	h.lifeline.Close()
	<-h.done
}
