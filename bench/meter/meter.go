// Package meter takes the figures: times of operations, the processor time and
// memory of a process, medians. Its functions keep nothing and are safe for
// concurrent use.
package meter

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Times are what a number of operations took.
type Times struct {
	Each []time.Duration
	Wall time.Duration // of all of them together
	CPU  time.Duration // of the process that asked
}

// Rate is operations per second.
func (t Times) Rate() float64 { return float64(len(t.Each)) / t.Wall.Seconds() }

// Quantile gives the time that the part q of all operations stayed under.
func (t Times) Quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(t.Each))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// Spread runs op for the numbers 0 to n-1 in as many goroutines as there are
// callers; op gets the caller's number too. The first error ends it.
func Spread(callers, n int, op func(caller, i int) error) (Times, error) {
	t := Times{Each: make([]time.Duration, n)}
	var next atomic.Int64
	var wait sync.WaitGroup
	var once sync.Once
	var failed error
	cpu := OwnCPU()
	began := time.Now()
	for caller := range callers {
		wait.Go(func() {
			for i := int(next.Add(1) - 1); i < n; i = int(next.Add(1) - 1) {
				from := time.Now()
				if err := op(caller, i); err != nil {
					once.Do(func() { failed = err })
					next.Store(int64(n))
					return
				}
				t.Each[i] = time.Since(from)
			}
		})
	}
	wait.Wait()
	t.Wall, t.CPU = time.Since(began), OwnCPU()-cpu
	return t, failed
}

// Median is the middle one, zero of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// OwnCPU is what this process has used of the processors so far.
func OwnCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tick is the unit of the times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// CPU is what a process has used, without its children. It needs /proc.
func CPU(pid int) (time.Duration, error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick, err
}

// stat reads what follows a process's name.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil, err
	}
	var fields []string
	for _, f := range bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) {
		fields = append(fields, string(f))
	}
	if len(fields) < 13 {
		return nil, errors.New("meter: a process without times")
	}
	return fields, nil
}

// Children counts the processes below a process. It needs /proc.
func Children(pid int) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	parents := map[int]int{}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields, err := stat(child); err == nil {
			parents[child], _ = strconv.Atoi(fields[1])
		}
	}
	found := 0
	for child := range parents {
		for up, steps := parents[child], 0; up > 1 && steps < len(parents); up, steps = parents[up], steps+1 {
			if up == pid {
				found++
				break
			}
		}
	}
	return found, nil
}

// Resident is the memory that a process holds, in bytes. It needs /proc.
func Resident(pid int) (int64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("meter: a process without a resident size")
}

// Load is the machine's load over the last minute, or an empty text.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return string(bytes.Fields(text)[0])
}
