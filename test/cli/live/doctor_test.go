package live_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/test/hosttest"
)

// finding is what a doctor of the machine form says.
type finding struct{ Check, State, What, Fix string }

// examined types doctor and gives what is not well.
func examined(t *testing.T, h *hosttest.Host, code int) (bad []finding) {
	t.Helper()
	var report struct {
		Healthy  bool
		Findings []finding
	}
	got := typed(t, h, code, "doctor", "--json")
	if err := json.Unmarshal([]byte(got.out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Healthy != (code == 0) || len(report.Findings) < 4 {
		t.Errorf("%+v", report)
	}
	for _, f := range report.Findings {
		if f.State == "bad" || f.State == "unsafe" {
			bad = append(bad, f)
		}
	}
	return bad
}

// mended does what a finding says, as a person would type it.
func mended(t *testing.T, h *hosttest.Host, fix string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(h.Program, filepath.Join(bin, "steward")); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitFor(t, fix, func() error { // exit code 10 asks for patience
		cmd := exec.Command("sh", "-c", "PATH="+bin+":$PATH; "+fix)
		cmd.Env = append(os.Environ(), "STEWARD_HOME="+h.Home)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState.ExitCode() != 10 {
			t.Fatalf("%s: %v\n%s", fix, err, out)
		}
		return err
	})
}

// Each thing is broken, found with a command, and mended by it (field faults, FF78).
func TestWhatTheDoctorSaysHelps(t *testing.T) {
	h, config, _ := notes(t)
	h.Import(config)
	h.AddApp("app")
	if bad := examined(t, h, 0); len(bad) > 0 {
		t.Fatalf("a healthy host: %+v", bad)
	}
	tokens := filepath.Join(h.Home, "tokens")
	if err := os.Mkdir(tokens, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec "+h.Program+" notes-server --dir "+t.TempDir()+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.Import(h.Config(map[string]hosttest.Server{"my server": {Command: program}}))
	mended(t, h, "chmod 700 "+tokens)
	for name, c := range map[string]struct {
		harm  func() error
		code  int
		check string
	}{
		"a store that others read": {func() error { return os.Chmod(filepath.Join(h.Home, "steward.db"), 0o644) }, 3, "folder"},
		"a key that others read":   {func() error { return os.Chmod(filepath.Join(h.Home, "keys", "root"), 0o640) }, 3, "folder"},
		"tokens that others read":  {func() error { return os.Chmod(tokens, 0o755) }, 3, "folder"},
		"a folder of all":          {func() error { return os.Chmod(h.Home, 0o777) }, 3, "folder"},
		"a wrong setting": {func() error {
			return os.WriteFile(filepath.Join(h.Home, "steward.toml"), []byte("# x\nquieet = false\n"), 0o600)
		}, 3, "settings"},
		"an unsafe setting": {func() error {
			return os.WriteFile(filepath.Join(h.Home, "steward.toml"), []byte("listen = \"0.0.0.0:1\"\n"), 0o600)
		}, 3, "settings"},
	} {
		if err := c.harm(); err != nil {
			t.Fatal(err)
		}
		bad := examined(t, h, c.code)
		if len(bad) != 1 || bad[0].Check != c.check {
			t.Errorf("%s: found %+v", name, bad)
			continue
		}
		mended(t, h, bad[0].Fix)
		if bad := examined(t, h, 0); len(bad) > 0 {
			t.Errorf("%s: after it was mended: %+v", name, bad)
		}
	}
	brokenUpstream(t, h, program)
	takenPort(t, h)
}

// brokenUpstream takes an upstream's program away; once it is back, the doctor's
// command brings the upstream back.
func brokenUpstream(t *testing.T, h *hosttest.Host, program string) {
	t.Helper()
	if err := os.Rename(program, program+".away"); err != nil {
		t.Fatal(err)
	}
	h.Restart()
	h.Run("", "import", "--refresh", "my server") // fails, and the connection with it
	bad := examined(t, h, 1)
	if len(bad) != 1 || bad[0].Check != "upstreams" || !strings.Contains(bad[0].What, "my server does not run") {
		t.Fatalf("found %+v", bad)
	}
	if err := os.Rename(program+".away", program); err != nil {
		t.Fatal(err)
	}
	mended(t, h, bad[0].Fix)
	if bad := examined(t, h, 0); len(bad) > 0 {
		t.Errorf("after it was mended: %+v", bad)
	}
}

// takenPort has somebody else listen where the host is told to.
func takenPort(t *testing.T, h *hosttest.Host) {
	t.Helper()
	h.Stop()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	setting := filepath.Join(h.Home, "steward.toml")
	if err := os.WriteFile(setting, []byte("listen = \""+other.Addr().String()+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := examined(t, h, 1)
	if len(bad) != 1 || bad[0].Check != "port" || bad[0].Fix != "steward up --listen 127.0.0.1:0" {
		t.Fatalf("found %+v", bad)
	}
	h.Restart() // which is that command
	if bad := examined(t, h, 0); len(bad) > 0 {
		t.Errorf("after it was mended: %+v", bad)
	}
	if got := typed(t, h, 0, "doctor", "--config"); !strings.Contains(got.out, other.Addr().String()+"  "+setting+", line 1") {
		t.Errorf("%s", got.out)
	}
}
