// Package sandbox runs capsules that are WebAssembly modules: commands of WASI
// preview 1, which read the frames of one request from standard input and write
// the frames of the answer to standard output.
//
// It promises: each run has an instance of its own, with a memory of its own, so
// that no request sees anything of another; a module gets the two streams, a log,
// the time and random bytes, and nothing else of the machine: no file, no
// variable, no argument, no address; a run ends with its context, whatever the
// module does; a module that traps, loops, recurses, grows or floods costs what
// the bounds say. It does not promise that compiling can be stopped, nor that two
// runs cannot tell each other something through the time that they take.
//
// What was compiled is kept between two starts of the host, in a folder of the
// host's own, and is code that runs: whoever writes there writes the host.
//
// Bounds: the module rows. A run needs bound.ModuleMemory, and where it recurses up
// to 150 MiB of stack beside that. Engine and Module are safe for concurrent use; a
// lock guards what is open, and Close waits for every run.
package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

const (
	entry    = "_start"
	memory   = "memory"
	pageSize = 64 << 10
)

// Engine is what the modules of a host share: the folder of what was compiled, and
// how many may run at once.
type Engine struct {
	kept  *kept
	slots chan struct{}
}

// NewEngine keeps what it compiles in a folder, which only the host's user can
// enter; with none it compiles each time.
func NewEngine(folder string) (*Engine, error) {
	kept, err := openKept(folder)
	return &Engine{kept: kept, slots: make(chan struct{}, bound.HostInstances.Int())}, err
}

// Module is a compiled module.
type Module struct {
	engine  *Engine
	cache   wazero.CompilationCache // nil without a folder
	runtime wazero.Runtime
	code    wazero.CompiledModule
	slots   chan struct{}

	mu     sync.Mutex
	closed bool
	runs   sync.WaitGroup
}

// Load checks and compiles a module. It may take seconds for one that is new.
// What is kept of it is used where it is as it was left, and made again where not.
// Faults: those of Check, or unsupported for one that uses what is not offered.
func (e *Engine) Load(ctx context.Context, raw []byte) (*Module, error) {
	checked, err := tame(raw)
	if err != nil {
		return nil, err
	}
	folder, sealed := e.kept.of(raw)
	m, err := e.compile(ctx, checked, folder)
	if err != nil && folder != "" { // the folder's fault, or the module's
		e.kept.drop(folder)
		return e.compile(ctx, checked, "")
	}
	if err == nil && folder != "" && !sealed {
		e.kept.seal(folder)
	}
	return m, err
}

func (e *Engine) compile(ctx context.Context, checked []byte, folder string) (*Module, error) {
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).
		WithMemoryLimitPages(uint32(bound.ModuleMemory.Max / pageSize)).WithDebugInfoEnabled(false)
	m := &Module{engine: e, slots: make(chan struct{}, bound.CapsuleInstances.Int())}
	if folder != "" {
		var err error
		if m.cache, err = wazero.NewCompilationCacheWithDir(folder); err != nil {
			return nil, fault.New(fault.Unavailable, "the folder of compiled capsules cannot be used").Because(err)
		}
		config = config.WithCompilationCache(m.cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := m.prepare(ctx, checked); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Module) prepare(ctx context.Context, checked []byte) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return fault.New(fault.Internal, "WASI cannot be offered").Because(err)
	}
	var err error
	if m.code, err = m.runtime.CompileModule(ctx, checked); err != nil {
		return fault.New(fault.Unsupported, "the module cannot be compiled: "+short(err)).Because(err)
	}
	if _, ok := m.code.ExportedFunctions()[entry]; !ok {
		return fault.New(fault.Unsupported, "the module has no "+entry+": it is to be a command of WASI preview 1")
	}
	if _, ok := m.code.ExportedMemories()[memory]; !ok {
		return fault.New(fault.Unsupported, "the module exports no "+memory+": it is to be a command of WASI preview 1")
	}
	return nil
}

const shownBytes = 200

// short is the first line of a foreign error.
func short(err error) string {
	line, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
	return string(bytes.ToValidUTF8(line[:min(len(line), shownBytes)], nil))
}

// Close waits for every run and forgets the module.
func (m *Module) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.runs.Wait()
	_ = m.runtime.Close(context.Background()) // of memory
	if m.cache != nil {
		_ = m.cache.Close(context.Background()) // of memory
	}
}

// Result is what one run left.
type Result struct {
	Output []byte
	Log    []byte // the last of standard error
}

// Run gives a fresh instance its input and waits for its end. Faults: timed_out or
// what ended ctx, too_large for an output over bound.ModuleOutput, upstream_failed
// for a trap or an exit code, unavailable after Close. The log is there in any case.
func (m *Module) Run(ctx context.Context, input []byte) (Result, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return Result{}, fault.New(fault.Unavailable, "the capsule was unloaded")
	}
	m.runs.Add(1)
	m.mu.Unlock()
	defer m.runs.Done()
	for _, slots := range []chan struct{}{m.slots, m.engine.slots} {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			return Result{}, ended(ctx)
		}
	}
	return m.run(ctx, input)
}

func (m *Module) run(ctx context.Context, input []byte) (Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out, log := &output{full: func() { stop(bound.ModuleOutput.Exceeded()) }}, &tail{}
	config := wazero.NewModuleConfig().WithName("").WithStdin(bytes.NewReader(input)).WithStdout(out).WithStderr(log).
		WithSysWalltime().WithSysNanotime().WithNanosleep(sleeper(ctx)).WithRandSource(rand.Reader)
	instance, err := m.runtime.InstantiateModule(ctx, m.code, config)
	if instance != nil {
		_ = instance.Close(context.WithoutCancel(ctx)) // of memory
	}
	result := Result{Output: out.kept, Log: log.kept}
	var exit *sys.ExitError
	switch {
	case ctx.Err() != nil:
		return Result{Log: log.kept}, ended(ctx)
	case errors.As(err, &exit) && exit.ExitCode() == 0:
	case errors.As(err, &exit):
		return result, fault.Newf(fault.UpstreamFailed, "the capsule ended with code %d", exit.ExitCode()).Because(err)
	case err != nil:
		return result, fault.New(fault.UpstreamFailed, "the capsule failed: "+short(err)).Because(err)
	}
	return result, nil
}

func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if f := (*fault.Fault)(nil); errors.As(cause, &f) {
		return f
	}
	return fault.New(fault.TimedOut, "the capsule did not end in time").Because(cause)
}

// sleeper lets a module rest, but not beyond the end of its run.
func sleeper(ctx context.Context) sys.Nanosleep {
	return func(ns int64) {
		rest := time.NewTimer(time.Duration(ns))
		defer rest.Stop()
		select {
		case <-rest.C:
		case <-ctx.Done():
		}
	}
}

// output keeps what a module writes and ends the run of one that writes too much.
type output struct {
	kept []byte
	full func()
}

func (o *output) Write(p []byte) (int, error) {
	if int64(len(o.kept)+len(p)) > bound.ModuleOutput.Max {
		o.full()
		return 0, errors.New("too much")
	}
	o.kept = append(o.kept, p...)
	return len(p), nil
}

// tail keeps the last bytes of a log.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-bound.StderrBytes.Int()):]
	t.kept = append(t.kept[max(0, min(len(t.kept), len(t.kept)+len(p)-bound.StderrBytes.Int())):], p...)
	return n, nil
}
