package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/bench/whole"
)

const patience = time.Minute // for anything that a host does

// host is a running `steward up`.
type host struct {
	cmd   *exec.Cmd
	addr  string
	home  string
	ready time.Duration // from the start of the process to the first answer of its door
	log   string        // file with what it writes beside its output, such as a line for each request
	ended chan struct{}
}

var doorLine = regexp.MustCompile(`http://(127\.0\.0\.1:[0-9]+)/mcp`)

// up starts a host on a folder and waits until it says that it is ready and its
// door says so too.
func (b *bench) up(home string) (*host, error) {
	h := &host{cmd: exec.Command(b.steward, "up", "--listen", "127.0.0.1:0", "--data", home,
		"--resource-per-minute", strconv.FormatInt(whole.Ceiling.PerMinute, 10), "--resource-at-once", strconv.FormatInt(whole.Ceiling.AtOnce, 10)), home: home, log: home + ".log", ended: make(chan struct{})}
	log, err := os.Create(h.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	h.cmd.Stderr = log
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	told := make(chan string, 1)
	go func() {
		defer close(h.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := doorLine.FindStringSubmatch(lines.Text()); m != nil {
				told <- m[1]
				break
			}
		}
		io.Copy(io.Discard, out)
		h.cmd.Wait() // how it ended is read from its state
	}()
	select {
	case h.addr = <-told:
	case <-h.ended:
		return nil, fmt.Errorf("the host ended at once: %s", h.words())
	case <-time.After(patience):
		h.kill()
		return nil, errors.New("the host does not come up")
	}
	if err := h.answers(b.ctx); err != nil {
		h.kill()
		return nil, err
	}
	h.ready = time.Since(began)
	return h, nil
}

func (h *host) answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.addr+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the host is not ready: %s", resp.Status)
	}
	return nil
}

func (h *host) pid() int { return h.cmd.Process.Pid }

// down stops the host in order.
func (h *host) down() error {
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-h.ended:
	case <-time.After(patience):
		h.kill()
		return errors.New("the host does not stop")
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the host ended with exit code %d: %s", code, h.words())
	}
	return nil
}

// words is the end of what the host has logged.
func (h *host) words() string {
	text, err := os.ReadFile(h.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// kill ends the host as a power cut does.
func (h *host) kill() {
	h.cmd.Process.Kill()
	<-h.ended
}

// command runs a command of the command line against the host.
func (b *bench) command(h *host, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(b.ctx, b.steward, args...)
	cmd.Env = append(os.Environ(), "STEWARD_HOME="+h.home)
	var bad bytes.Buffer
	cmd.Stderr = &bad
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("steward %s: %w: %s", strings.Join(args, " "), err, bad.String())
	}
	return out, err
}

// idle lets a host come to rest and gives the memory that it holds then, in MiB.
func idle(h *host) (float64, error) {
	<-time.After(2 * time.Second)
	bytes, err := meter.Resident(h.pid())
	return float64(bytes) / (1 << 20), err
}
