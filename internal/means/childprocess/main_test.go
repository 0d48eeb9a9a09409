package childprocess

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is the supervisor, the commands and, in one test, the host.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if os.Args[1] == Verb {
			os.Exit(Supervise(os.Args[2:]))
		}
		if run, ok := programs[os.Args[1]]; ok {
			os.Exit(run(os.Args[2:]))
		}
	}
	// These tests wait for processes rather than compute.
	flag.Parse()
	flag.Set("test.parallel", "16")
	goleak.VerifyTestMain(m)
}

// programs are the commands under test. Each says "up" with its process id once
// it is what its name says.
var programs = map[string]func(args []string) int{
	"exit": func(args []string) int {
		code, _ := strconv.Atoi(args[0])
		return code
	},
	"kill-self": func([]string) int {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		<-time.After(time.Minute)
		return 0
	},
	"echo": func([]string) int {
		io.Copy(os.Stdout, os.Stdin)
		return 0
	},
	"scream": func([]string) int {
		for piece := []byte(strings.Repeat("aah\n", 4<<10)); ; {
			if _, err := os.Stderr.Write(piece); err != nil {
				return 0
			}
		}
	},
	"env": func([]string) int {
		fmt.Println(strings.Join(os.Environ(), "\n"))
		return 0
	},
	"where": func([]string) int {
		dir, _ := os.Getwd()
		fmt.Println(dir)
		return 0
	},
	"say": func(args []string) int {
		fmt.Fprint(os.Stderr, args[0])
		return 0
	},
	"shout": func(args []string) int {
		for i := range 100_000 {
			fmt.Fprintf(os.Stderr, "line %d\n", i)
		}
		return 0
	},
	"blocking": func([]string) int {
		for fd := range 3 {
			flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
			fmt.Println(fd, errno == 0 && flags&syscall.O_NONBLOCK == 0)
		}
		for fd := 3; fd < 16; fd++ {
			if isPipe(fd) {
				fmt.Println(fd, "leaked")
			}
		}
		return 0
	},
	"stubborn":   func([]string) int { return stubborn() },
	"descendant": func([]string) int { return stubborn() },
	// family leaves a grandchild in a session of its own whose parent has ended,
	// and another one below a living child, then does what args say.
	"family": func(args []string) int {
		startDetached("descendant")
		startDetached("orphaner")
		if args[0] == "leave" {
			os.Stdin.Read(make([]byte, 1)) // when told that all are up
			return 0
		}
		return stubborn()
	},
	"orphaner": func([]string) int {
		startDetached("descendant")
		return 0
	},
	// host starts the rest of its command line as a supervised child and waits.
	"host": func(args []string) int {
		p, err := Start(Spec{Command: os.Args[0], Args: args, Env: BaseEnv()}, Options{})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("up", p.command.Process.Pid)
		io.Copy(os.Stdout, p.Stdout())
		return 0
	},
}

func stubborn() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	fmt.Println("up", os.Getpid())
	<-time.After(time.Minute) // far longer than any test, but not for ever
	return 0
}

func startDetached(program string) {
	cmd := exec.Command(os.Args[0], program)
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Println("cannot start", program, err)
	}
	if program == "orphaner" {
		cmd.Wait()
	}
}

func start(t *testing.T, program string, args ...string) *Process {
	t.Helper()
	// A program with the race detector in it waits a second before it exits, which
	// is as long as a command is given to end by itself.
	env := append(BaseEnv(), "GORACE=atexit_sleep_ms=0")
	p, err := Start(Spec{Command: os.Args[0], Args: append([]string{program}, args...), Env: env}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// readUp reads the process ids of n programs that have come up.
func readUp(t *testing.T, from io.Reader, n int) []int {
	t.Helper()
	var pids []int
	lines := bufio.NewReader(from)
	for len(pids) < n {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("after %v: %q, %v", pids, line, err)
		}
		var pid int
		if _, err := fmt.Sscanf(line, "up %d", &pid); err != nil {
			t.Fatalf("unexpected line %q", line)
		}
		pids = append(pids, pid)
	}
	return pids
}

// waitFor waits until the condition holds, but not longer than the limit.
func waitFor(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(limit); !condition(); <-ticker.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// gone reports whether a process has ended; a dead one that nobody has waited
// for yet counts.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == syscall.ESRCH
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

func openFiles() []string {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return names
}
