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
	stopWord   = "stop\n"         // on the lifeline: end the host in order
	wiping     = 10 * time.Second // for what the dying still write
)

// Keep is the body of the hidden verb: it makes the story's folder, runs a host
// in it, and removes both when its standard input ends, which it does however
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
	dir, err := os.MkdirTemp("", "steward-demo-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, wipe(dir)) }()
	cmd := exec.Command(self, "up", "--listen", anyPort) //nolint:noctx // it is ended in order, by signal
	cmd.Env = append(os.Environ(), ours+"="+filepath.Join(dir, homeFolder))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait() // how it ended is read from its state
	}()
	fmt.Fprintln(folder, dir) // whoever cannot read it has let go of the lifeline too
	inOrder := waitForEnd(lifeline, ended)
	if inOrder {
		cmd.Process.Signal(syscall.SIGTERM) // one that has ended hears nothing
		select {
		case <-ended:
		case <-time.After(patience):
		}
	}
	cmd.Process.Kill()
	<-ended
	return cmd.ProcessState.ExitCode(), nil
}

// waitForEnd waits until the lifeline or the host ends, or a signal comes, and
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
