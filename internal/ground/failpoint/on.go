//go:build failpoints

package failpoint

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Variable names the environment variable that arms points, such as
// "FP3=kill,FP6=error". Actions: kill, error, hang, panic. A point with an
// action is armed once: it fires at its first hit after the file named by
// STEWARD_FAILPOINT_ARM exists, or at once where that is not set.
const (
	Variable    = "STEWARD_FAILPOINTS"
	armVariable = "STEWARD_FAILPOINT_ARM"
)

// Hit does what the environment says for this point.
func Hit(p Point) error {
	for _, rule := range strings.Split(os.Getenv(Variable), ",") {
		name, action, ok := strings.Cut(rule, "=")
		if ok && Point(name) == p && armed() {
			return act(p, action)
		}
	}
	return nil
}

func armed() bool {
	file := os.Getenv(armVariable)
	if file == "" {
		return true
	}
	return os.Remove(file) == nil
}

func act(p Point, action string) error {
	fmt.Fprintf(os.Stderr, "failpoint %s: %s\n", p, action)
	switch action {
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hang":
		select {}
	case "panic":
		panic("failpoint " + string(p))
	}
	return errors.New("failpoint " + string(p))
}
