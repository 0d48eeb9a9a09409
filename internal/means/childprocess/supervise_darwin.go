package childprocess

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfPath names the running program.
func selfPath() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// adoptOrphans does nothing: this system gives orphans to its first process.
func adoptOrphans() {}

// commandAttributes gives the command a process group of its own.
func commandAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// parents reads the parent of every process that can be seen.
func parents() map[int]int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	table := make(map[int]int, len(all))
	for i := range all {
		table[int(all[i].Proc.P_pid)] = int(all[i].Eproc.Ppid)
	}
	return table
}
