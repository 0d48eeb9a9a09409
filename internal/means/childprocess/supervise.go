package childprocess

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// Verb is the hidden verb whose body is Supervise.
const Verb = "supervise"

// The supervisor inherits two pipes beside the command's own three. The
// lifeline carries nothing: its end means that the host has died or wants a
// stop. The report carries one line each when the command has started, could
// not be started, or has ended.
const (
	lifelineFD = 3
	reportFD   = 4
)

const (
	startedWord = "started "
	failedWord  = "failed "
	endedWord   = "ended "
)

// The steps of a stop, counted from its beginning. The last fifth of the grace
// is left for the dying.
var (
	stopTerm = bound.StopGrace.Duration() / 5     // until then, end of input is the only hint
	stopKill = bound.StopGrace.Duration() * 4 / 5 // from then on nothing is asked
	leftover = bound.StopGrace.Duration() / 10    // what the command left behind has that long after SIGTERM
)

// Exit codes of the supervisor where the command has none.
const (
	exitMisuse   = 2
	exitNotFound = 127
	exitSignal   = 128 // plus the signal's number
)

// ended is one child that the supervisor has reaped.
type ended struct {
	pid    int
	status syscall.WaitStatus
}

// Supervise is the body of the hidden verb: it runs the command args, waits, and
// leaves nothing of it behind. It returns the command's exit code, or 128 plus
// the number of the signal that ended it. It must be called from the program's
// main goroutine, whose process then does nothing else.
func Supervise(args []string) int {
	if len(args) == 0 || !isPipe(lifelineFD) || !isPipe(reportFD) {
		fmt.Fprintln(os.Stderr, Verb+" is run by the host itself; there is nothing to use it for by hand")
		return exitMisuse
	}
	syscall.CloseOnExec(lifelineFD)
	syscall.CloseOnExec(reportFD)
	// The command's parent-death signal is bound to the thread that starts it.
	runtime.LockOSThread()
	adoptOrphans()
	stop := stopRequests(os.NewFile(lifelineFD, "lifeline"))
	report := os.NewFile(reportFD, "report")

	pid, err := startCommand(args)
	if err != nil {
		fmt.Fprintln(report, failedWord+strings.ReplaceAll(err.Error(), "\n", " "))
		return exitNotFound
	}
	fmt.Fprintf(report, "%s%d\n", startedWord, pid)
	// Only the command may hold these, or its end would not be seen.
	syscall.Close(syscall.Stdin)
	syscall.Close(syscall.Stdout)

	children := reap()
	status := awaitEnd(pid, children, stop)
	endRest(pid, children)
	fmt.Fprintln(report, endedWord+exitText(status))
	if status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return status.ExitStatus()
}

func isPipe(fd int) bool {
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO
}

// stopRequests gives a channel that is closed when the host has died or asks for
// a stop. A signal from a terminal or an operator means the same.
func stopRequests(lifeline *os.File) <-chan struct{} {
	stop := make(chan struct{})
	var once sync.Once
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		<-signals
		once.Do(func() { close(stop) })
	}()
	go func() {
		_, _ = io.Copy(io.Discard, lifeline) // its end is the news, however it comes
		once.Do(func() { close(stop) })
	}()
	return stop
}

func startCommand(args []string) (pid int, err error) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return 0, err
	}
	pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env:   os.Environ(), // the host gave the supervisor the command's environment
		Files: []uintptr{uintptr(syscall.Stdin), uintptr(syscall.Stdout), uintptr(syscall.Stderr)},
		Sys:   commandAttributes(),
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return pid, nil
}

// reap waits for every child, the command and the orphans that came to the
// supervisor. The channel is closed when there is none left.
func reap() <-chan ended {
	children := make(chan ended)
	go func() {
		defer close(children)
		for {
			var e ended
			var err error
			e.pid, err = syscall.Wait4(-1, &e.status, 0, nil)
			switch err {
			case nil:
				children <- e
			case syscall.EINTR:
			default:
				return
			}
		}
	}()
	return children
}

// awaitEnd waits for the command itself and, once a stop is wanted, hurries it.
func awaitEnd(pid int, children <-chan ended, stop <-chan struct{}) syscall.WaitStatus {
	var term, kill <-chan time.Time
	for {
		select {
		case e := <-children:
			if e.pid == pid {
				return e.status
			}
		case <-stop:
			stop, term, kill = nil, time.After(stopTerm), time.After(stopKill)
		case <-term:
			syscall.Kill(-pid, syscall.SIGTERM)
		case <-kill:
			killGroup(pid)
		}
	}
}

// endRest ends what the command has left behind and returns when all of it has
// been reaped. Processes may start others while they are looked for, hence the
// repetition: each round can only miss children of what it kills.
func endRest(pid int, children <-chan ended) {
	sig := syscall.SIGTERM
	kill, again := time.After(leftover), time.NewTicker(leftover/20)
	defer again.Stop()
	signalTree(pid, sig)
	for {
		select {
		case _, ok := <-children:
			if !ok {
				return
			}
		case <-kill:
			sig = syscall.SIGKILL
		case <-again.C:
			if sig == syscall.SIGKILL {
				signalTree(pid, sig)
			}
		}
	}
}

func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// signalTree reaches the command's process group and everything below the
// supervisor, whichever group or session it went to.
func signalTree(group int, sig syscall.Signal) {
	syscall.Kill(-group, sig)
	for _, pid := range below(os.Getpid(), parents()) {
		syscall.Kill(pid, sig)
	}
}

// below lists the descendants of root, given the parent of each process.
func below(root int, parent map[int]int) []int {
	var found []int
	for pid := range parent {
		// A chain cannot be longer than there are processes; a table that was
		// read while it changed may hold a circle.
		for up, steps := parent[pid], 0; up > 1 && steps < len(parent); up, steps = parent[up], steps+1 {
			if up == root {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

func exitText(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal " + status.Signal().String()
	}
	return fmt.Sprintf("exit code %d", status.ExitStatus())
}
