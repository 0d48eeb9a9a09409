package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/sandbox"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Modules are written by hand here, from the bytes of their sections, since what
// they do is what no compiler would make. A module is its header and then sections:
// a number, a length, and a body. Numbers are in LEB128.

func num(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func section(id byte, body ...[]byte) []byte {
	whole := bytes.Join(body, nil)
	return bytes.Join([][]byte{{id}, num(uint64(len(whole))), whole}, nil)
}

func text(s string) []byte { return append(num(uint64(len(s))), s...) }

func list(items ...[]byte) []byte { return append(num(uint64(len(items))), bytes.Join(items, nil)...) }

const (
	i32, i64  = 0x7f, 0x7e
	wasi      = "wasi_snapshot_preview1"
	trap      = "\x00"             // unreachable
	fallsFlat = "\x04\x40\x00\x0b" // if not zero, trap
)

// konst pushes a number, as a signed one.
func konst(n int32) string {
	out := []byte{0x41}
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return string(append(out, b))
		}
		out = append(out, b|0x80)
	}
}

func long(n int32) string { return "\x42" + konst(n)[1:] }

const drop = "\x1a"

// host is a function of WASI with the types of its arguments.
type host struct {
	name string
	args []byte
}

// program is a module whose _start has a body and may call one function of WASI,
// which is number 0; _start is number 1.
func program(h host, body string, more ...[]byte) []byte {
	parts := [][]byte{[]byte("\x00asm\x01\x00\x00\x00"),
		section(1, list([]byte{0x60, 0, 0}, append([]byte{0x60}, append(list(each(h.args)...), 1, i32)...))),
		section(2, list(bytes.Join([][]byte{text(wasi), text(h.name), {0, 1}}, nil))),
		section(3, list([]byte{0})),
	}
	var late []byte
	for _, s := range more {
		if s[0] > 7 {
			late = s
			continue
		}
		parts = append(parts, s)
	}
	function := append([]byte{0}, body+"\x0b"...)
	return bytes.Join(append(parts,
		section(7, list(append(text("_start"), 0, 1), append(text("memory"), 2, 0))), late,
		section(10, list(append(num(uint64(len(function))), function...)))), nil)
}

func each(b []byte) (out [][]byte) {
	for i := range b {
		out = append(out, b[i:i+1])
	}
	return out
}

var onePage = section(5, list([]byte{0, 1}))

var (
	writes = host{"fd_write", []byte{i32, i32, i32, i32}}
)

func simple(body string) []byte { return program(host{"sched_yield", nil}, body, onePage) }

// load compiles a module, or gives why it is refused.
func load(t *testing.T, raw []byte) (*sandbox.Module, error) {
	t.Helper()
	e, err := sandbox.NewEngine("")
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), raw)
	if err == nil {
		t.Cleanup(m.Close)
	}
	return m, err
}

// say writes the four bytes at 0 of a memory that holds them: an iovec at 8.
func say(fd int32) string {
	return konst(8) + konst(0) + "\x36\x02\x00" + konst(12) + konst(4) + "\x36\x02\x00" + konst(0) + konst(0x0a6b6f21) + "\x36\x02\x00" +
		konst(fd) + konst(8) + konst(1) + konst(16) + "\x10\x00"
}

// A module ends when its run does, and costs no more than the bounds say, whatever
// it does (bus reference, 5.10).
func TestHostileModulesEnd(t *testing.T) {
	const loop = "\x03\x40\x0c\x00\x0b" // loop: branch to it
	for name, c := range map[string]struct {
		raw  []byte
		want fault.Code // of the run; empty for an end without a complaint
	}{
		"nothing":                  {simple(""), ""},
		"an endless loop":          {simple(loop), fault.TimedOut},
		"an endless loop at birth": {program(host{"sched_yield", nil}, loop, onePage, section(8, num(1))), fault.TimedOut},
		"a trap":                   {simple(trap), fault.UpstreamFailed},
		"a division by zero":       {simple(konst(1) + konst(0) + "\x6d" + drop), fault.UpstreamFailed},
		"a read beyond its memory": {simple(konst(65533) + "\x28\x02\x00" + drop), fault.UpstreamFailed},
		"a write far beyond":       {simple(konst(-1) + konst(1) + "\x36\x02\x00"), fault.UpstreamFailed},
		"endless recursion":        {simple("\x10\x01"), fault.UpstreamFailed},
		"memory until there is no more, and then a look at the bound": {simple( // loop: grow; again unless it is -1; trap if larger than the bound
			"\x03\x40" + konst(64) + "\x40\x00" + konst(-1) + "\x47\x0d\x00\x0b" + "\x3f\x00" + konst(1024) + "\x4b" + fallsFlat), ""},
		"a table that grows":              {program(host{"sched_yield", nil}, "\xd0\x70"+konst(1<<26)+"\xfc\x0f\x00"+konst(-1)+"\x47"+fallsFlat, section(4, list([]byte{0x70, 0, 1})), onePage), ""},
		"a table that says that it grows": {program(host{"sched_yield", nil}, "\xd0\x70"+konst(1<<20)+"\xfc\x0f\x00"+konst(-1)+"\x47"+fallsFlat, section(4, list(append([]byte{0x70, 1, 1}, num(1<<26)...))), onePage), ""},
		"a null call":                     {program(host{"sched_yield", nil}, konst(0)+"\x11\x00\x00", section(4, list([]byte{0x70, 0, 1})), onePage), fault.UpstreamFailed},
		"sleep for an hour": {program(host{"poll_oneoff", []byte{i32, i32, i32, i32}}, // a subscription at 0: the clock 1, so many nanoseconds at 24
			konst(16)+konst(1)+"\x36\x02\x00"+konst(24)+long(0x7fffffff)+long(2000)+"\x7e"+"\x37\x03\x00"+konst(0)+konst(128)+konst(1)+konst(256)+"\x10\x00"+drop, onePage), fault.TimedOut},
		"a flood":              {program(writes, "\x03\x40"+say(1)+drop+"\x0c\x00\x0b", onePage), fault.TooLarge},
		"a flood of the log":   {program(writes, "\x03\x40"+say(2)+drop+"\x0c\x00\x0b", onePage), fault.TimedOut},
		"an iovec in nowhere":  {program(writes, konst(1)+konst(-16)+konst(1)+konst(16)+"\x10\x00\x45"+fallsFlat, onePage), ""},
		"a count in nowhere":   {program(writes, konst(1)+konst(8)+konst(-1)+konst(-8)+"\x10\x00\x45"+fallsFlat, onePage), ""},
		"random into nowhere":  {program(host{"random_get", []byte{i32, i32}}, konst(-64)+konst(1<<30)+"\x10\x00\x45"+fallsFlat, onePage), ""},
		"read into nowhere":    {program(host{"fd_read", []byte{i32, i32, i32, i32}}, konst(0)+konst(8)+konst(1)+konst(-4)+"\x10\x00\x45"+fallsFlat, onePage), ""},
		"a file":               {program(host{"path_open", []byte{i32, i32, i32, i32, i32, i64, i64, i32, i32}}, konst(3)+konst(0)+konst(0)+konst(1)+konst(0)+long(-1)+long(-1)+konst(0)+konst(16)+"\x10\x00\x45"+fallsFlat, onePage), ""},
		"an open folder":       {program(host{"fd_prestat_get", []byte{i32, i32}}, konst(3)+konst(0)+"\x10\x00\x45"+fallsFlat, onePage), ""},
		"a connection":         {program(host{"sock_accept", []byte{i32, i32, i32}}, konst(3)+konst(0)+konst(16)+"\x10\x00\x45"+fallsFlat, onePage), ""},
		"arguments":            {program(host{"args_sizes_get", []byte{i32, i32}}, konst(0)+konst(4)+"\x10\x00"+drop+konst(0)+"\x28\x02\x00"+fallsFlat, onePage), ""},
		"variables":            {program(host{"environ_sizes_get", []byte{i32, i32}}, konst(0)+konst(4)+"\x10\x00"+drop+konst(0)+"\x28\x02\x00"+fallsFlat, onePage), ""},
		"another standard one": {program(writes, say(7)+"\x45"+fallsFlat, onePage), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := load(t, c.raw)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if c.want != fault.TimedOut {
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
			}
			defer cancel()
			got, err := m.Run(ctx, []byte("input"))
			if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
				t.Errorf("it ended with %v, want %q", err, c.want)
			}
			if len(got.Log) > bound.StderrBytes.Int() || len(got.Output) > bound.ModuleOutput.Int() {
				t.Errorf("it left %d bytes and a log of %d", len(got.Output), len(got.Log))
			}
		})
	}
}

// What a run took is given back: a few that take all that they may leave no more
// than one of them does.
func TestRunsGiveTheirMemoryBack(t *testing.T) {
	m, err := load(t, simple("\x03\x40"+konst(64)+"\x40\x00"+konst(-1)+"\x47\x0d\x00\x0b"))
	if err != nil {
		t.Fatal(err)
	}
	before := memoryInUse()
	for range 5 {
		if _, err := m.Run(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if after := memoryInUse(); after > before+2*uint64(bound.ModuleMemory.Max) {
		t.Errorf("%d MiB stayed in use", (after-before)>>20)
	}
}

func memoryInUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// What a module may not ask for is refused before anything of it is compiled, and
// so is what is no capsule.
func TestModulesThatAreNotTaken(t *testing.T) {
	magic := []byte("\x00asm\x01\x00\x00\x00")
	with := func(sections ...[]byte) []byte {
		return append(bytes.Clone(magic), bytes.Join(sections, nil)...)
	}
	imports := func(module, name string, kind ...byte) []byte {
		return section(2, list(bytes.Join([][]byte{text(module), text(name), kind}, nil)))
	}
	locals := func(n uint64) []byte {
		body := append(append([]byte{1}, num(n)...), i32, 0x0b)
		return section(10, list(append(num(uint64(len(body))), body...)))
	}
	component := "\x00asm\x0d\x00\x01\x00"
	for name, c := range map[string]struct {
		raw  []byte
		want fault.Code
		says string
	}{
		"nothing": {nil, fault.InvalidRequest, "no WebAssembly module"}, "a program": {[]byte("\x7fELF\x02\x01\x01\x00\x00\x00"), fault.InvalidRequest, "no WebAssembly module"},
		"a component":       {[]byte(component), fault.InvalidRequest, "no WebAssembly module"},
		"too long":          {make([]byte, bound.ModuleBytes.Max+1), fault.TooLarge, ""},
		"no entry":          {with(section(5, list([]byte{0, 1}))), fault.Unsupported, "no _start"},
		"a host function":   {with(section(1, list([]byte{0x60, 0, 0})), imports("env", "system", 0, 0)), fault.Unsupported, `imports "system" of "env"`},
		"the host's memory": {with(imports(wasi, "memory", 2, 0, 1)), fault.Unsupported, "imports"},
		"a table of 2^27":   {with(section(4, list(append([]byte{0x70, 0}, num(1<<27)...)))), fault.TooLarge, ""},
		"many tables":       {with(section(4, list(slices.Repeat([][]byte{append([]byte{0x70, 0}, num(1<<10)...)}, 300)...))), fault.TooLarge, ""},
		"a memory of 4 GiB": {with(section(5, list(append([]byte{0}, num(65536)...)))), fault.Unsupported, "memory"},
		"2^32 locals":       {with(section(1, list([]byte{0x60, 0, 0})), section(3, list([]byte{0})), locals(1<<32-1)), fault.TooLarge, ""},
		"a signature":       {with(section(1, list(append(append([]byte{0x60}, append(num(1001), bytes.Repeat([]byte{i32}, 1001)...)...), 0)))), fault.TooLarge, ""},
		"a function of no type": {with(section(1, list([]byte{0x60, 0, 0})), section(3, list([]byte{7})),
			section(10, list([]byte{2, 0, 0x0b}))), fault.Unsupported, "cannot be compiled"},
	} {
		if _, err := load(t, c.raw); !fault.Is(err, c.want) || !strings.Contains(fault.From(err).Text, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := program(writes, say(1)+drop, section(4, list([]byte{0x70, 1, 1, 2})), onePage)
	for n := range whole { // cut anywhere it is no module, and never a panic
		if m, err := load(t, whole[:n]); err == nil {
			t.Errorf("the first %d bytes of %d are taken: %v", n, len(whole), m)
		}
	}
	if _, err := load(t, whole); err != nil {
		t.Error(err)
	}
}

// No run sees anything of another, and each gets its own input.
func TestRunsAreApart(t *testing.T) {
	// It traps if the byte at 64 is not zero, sets it, and copies its input to its output.
	body := konst(64) + "\x28\x02\x00" + fallsFlat + konst(64) + konst(1) + "\x36\x02\x00" + say(1) + drop
	m, err := load(t, program(writes, body, onePage))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := m.Run(t.Context(), nil); err != nil || string(got.Output) != "!ok\n" {
			t.Errorf("%q, %v", got.Output, err)
		}
	}
}

// Of what a module writes, one answer to the one question counts.
func TestAnAnswerIsReadyAndThenOneFrame(t *testing.T) {
	const ready, reply = `{"type":"ready"}` + "\n", `{"type":"reply","id":"1","payload":{"a":1}}` + "\n"
	for name, c := range map[string]struct {
		says, want string
		ok         bool
	}{
		"an answer": {ready + reply, `{"a":1}`, true}, "silence": {ready + `{"type":"silent","id":"1"}`, "", true}, "and more": {ready + reply + "x", `{"a":1}`, true},
		"nothing": {"", "", false}, "only ready": {ready, "", false}, "not ready": {reply, "", false}, "ready twice": {ready + ready + reply, "", false},
		"another's": {ready + `{"type":"reply","id":"2","payload":{}}`, "", false}, "no frame": {"hello\n", "", false}, "half a frame": {ready + reply[:20], "", false},
	} {
		data := section(11, list(bytes.Join([][]byte{{0}, []byte(konst(64)), {0x0b}, text(c.says)}, nil)))
		body := konst(8) + konst(64) + "\x36\x02\x00" + konst(12) + konst(int32(len(c.says))) + "\x36\x02\x00" + konst(1) + konst(8) + konst(1) + konst(16) + "\x10\x00" + drop
		m, err := load(t, append(program(writes, body, onePage), data...))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := m.Ask(t.Context(), sandbox.Question{Principal: "p", Capsule: "c", Topic: "resource.v1.request.describe", Payload: []byte("{}")})
		if (err == nil) != c.ok || string(got) != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// Those who wait for a place end with their patience, and a module that is unloaded
// waits for who runs.
func TestPlacesAreBounded(t *testing.T) {
	m, err := load(t, simple("\x03\x40\x0c\x00\x0b"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 100)
	for range bound.CapsuleInstances.Max {
		go func() {
			_, err := m.Run(ctx, nil)
			ended <- err
		}()
	}
	impatient, enough := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer enough()
	if _, err := m.Run(impatient, nil); !fault.Is(err, fault.TimedOut) {
		t.Errorf("one over the bound: %v", err)
	}
	cancel()
	for range bound.CapsuleInstances.Max {
		if err := <-ended; !fault.Is(err, fault.TimedOut) {
			t.Error(err)
		}
	}
	m.Close()
	if _, err := m.Run(t.Context(), nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the end: %v", err)
	}
}

// A check costs what its input is long, and what it takes it takes again.
func FuzzCheck(f *testing.F) {
	f.Add(program(writes, say(1)+drop, section(4, list([]byte{0x70, 1, 1, 2})), onePage))
	f.Add(simple(trap))
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := sandbox.Check(raw)
		if err == nil && !bytes.HasPrefix(raw, []byte("\x00asm")) || err != nil && fault.From(err).Code == fault.Internal {
			t.Fatalf("%q: %v", raw, err)
		}
		if again := sandbox.Check(append(bytes.Clone(raw), 0, 1, 0)); err == nil && again != nil { // with a section of one's own
			t.Fatalf("%q: %v", raw, again)
		}
	})
}
