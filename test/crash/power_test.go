//go:build machine

package crash_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// powered is a pool on a file system that forgets what was not flushed.
type powered struct {
	*stage
	program string // of lossyfs
	plate   string // the folder that it serves and writes back
	server  *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// buildLossy builds the file system, which is a module of its own.
func buildLossy(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lossyfs")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = filepath.Join(hosttest.Root(t), "test", "lossyfs")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build test/lossyfs: %v\n%s", err, out)
	}
	return path
}

// on mounts the pool's folder.
func (p *powered) on() {
	p.t.Helper()
	p.server = exec.Command(p.program, p.plate, p.home)
	p.server.Stderr = os.Stderr
	in, err := p.server.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := p.server.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.server.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewScanner(out)
	if !p.out.Scan() || p.out.Text() != "mounted" {
		p.t.Fatalf("this suite needs /dev/fuse, and root: lossyfs says %q and ends with %v", p.out.Text(), p.server.Wait())
	}
}

// off loses power: nobody may use the files any more.
func (p *powered) off(seed uint64) (lost int) {
	p.t.Helper()
	fmt.Fprintf(p.in, "lose %d\n", seed)
	said := ""
	for p.out.Scan() {
		said = p.out.Text()
	}
	if err := p.server.Wait(); err != nil {
		p.t.Fatal(err)
	}
	p.server = nil
	if _, err := fmt.Sscanf(said, "lost %d of", &lost); err != nil {
		p.t.Fatalf("lossyfs says %q", said)
	}
	return lost
}

// cutsOfOneStore is how often one store loses power before the next is made.
const cutsOfOneStore = 25

// R4. The power goes while clients work: what was not flushed is gone, or torn, or
// there in any order. Whatever anybody was told is true afterwards, and stays so.
func TestPowerLossLosesNothingThatWasTold(t *testing.T) {
	needRoot(t)
	cuts := figure.Of(t, 4, 100, 2_000)
	seed := figure.Seed(t)
	program := buildLossy(t)
	original := newStage(t, 4)
	for round := 0; cuts > 0 && !t.Failed(); round++ {
		n := min(cuts, cutsOfOneStore)
		cuts -= n
		t.Run(fmt.Sprint("store ", round), func(t *testing.T) { cutOff(original.copied(t), program, seed+uint64(round), n) })
	}
}

func cutOff(s *stage, program string, seed uint64, cuts int) {
	t := s.t
	t.Helper()
	p := &powered{stage: s, program: program, plate: s.home}
	s.home = filepath.Join(s.dir, "mounted")
	if err := os.Mkdir(s.home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.end()
		if p.server != nil {
			p.in.Close() // it unmounts
			p.server.Wait()
		}
	})
	chance := figure.Rand(seed, 1000)
	p.on()
	s.opens()
	c := begin(s, seed)
	defer c.stop()
	lost := 0
	for range cuts {
		moment(context.Background(), time.Duration(20+chance.IntN(300))*time.Millisecond)
		s.kill()
		s.childless()
		lost += p.off(chance.Uint64())
		p.on()
		s.opens()
		s.classified()
	}
	c.end(s)
	count := s.judge()
	s.stop()
	p.off(0)
	figure.Tell(t, "R4", "seed=%d cuts=%d writes lost=%d %s", seed, cuts, lost, count)
}

// childless waits until no process of a killed host has the files open.
func (s *stage) childless() {
	s.t.Helper()
	hosttest.WaitFor(s.t, "the upstream of a dead host to end", func() error {
		links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, s.home+"/") {
				return fmt.Errorf("%s is %s", link, to)
			}
		}
		return nil
	})
}
