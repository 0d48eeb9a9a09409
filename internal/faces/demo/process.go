package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

const (
	patience = 20 * time.Second      // for anything that the story waits for
	glance   = 20 * time.Millisecond // between two looks
	outLines = 48                    // of a command's output that are worth telling
	ours     = "STEWARD_HOME"        // the variable that names the data folder
	anyPort  = "127.0.0.1:0"         // loopback, a free port
)

func (s *story) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.ctx, s.self, args...)
	cmd.Env = append(append(os.Environ(), ours+"="+s.home()), daemonEnv(s.dir)...)
	return cmd
}

func (s *story) startHost() error {
	h, err := newHost(s.self)
	if err != nil {
		return err
	}
	s.host, s.dir = h, h.dir
	var status adminwire.Status
	err = s.waitFor(func() error {
		select {
		case <-h.done:
			return stop{fmt.Errorf("the host ended at once: %s", h.log.String())}
		default:
		}
		return s.ask(&status, "status", "--json")
	})
	if err != nil {
		return err
	}
	if err := must(len(status.Listen) > 0, "the host listens nowhere"); err != nil {
		return err
	}
	h.base = strings.TrimSuffix(status.Listen[0], "/")
	s.say("$ steward up")
	s.say("The host is at %s, on loopback only, with SQLite in a folder of its own.", h.base)
	return nil
}

func (s *story) stopHost() error {
	code, err := s.host.stop()
	if err != nil {
		return err
	}
	if err := must(code == 0, "the host ended with exit code %d: %s", code, s.host.log.String()); err != nil {
		return err
	}
	_, err = os.Lstat(s.dir)
	return must(errors.Is(err, fs.ErrNotExist), "the folder %s is still there", s.dir)
}

// tell runs a command as a person would and shows what it prints.
func (s *story) tell(args ...string) (string, error) {
	s.say("$ steward %s", strings.Join(args, " "))
	out, err := s.run(args...)
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	for i, line := range lines {
		if i == outLines && len(lines) > outLines+1 {
			s.say("  … %d more lines", len(lines)-outLines)
			break
		}
		s.say("  %s", line)
	}
	return out, err
}

// ask runs a command that prints JSON and reads it, quietly.
func (s *story) ask(into any, args ...string) error {
	out, err := s.run(args...)
	if err != nil {
		return err
	}
	return strictjson.Decode([]byte(out), strictjson.Limits{}, into)
}

func (s *story) run(args ...string) (string, error) {
	cmd := s.command(args...)
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("steward %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(bad.String()))
	}
	return out.String(), nil
}

// stop is an error that more patience does not mend.
type stop struct{ error }

// waitFor looks again until look is content or patience ends.
func (s *story) waitFor(look func() error) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for {
		err := look()
		var final stop
		if err == nil || errors.As(err, &final) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(glance):
		}
	}
}

// killServer ends the notes server, whose own pid file names it.
func (s *story) killServer() error {
	raw, err := os.ReadFile(s.pidFile())
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}
