package busdoor

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/stewardhost/steward/test/hosttest"
)

// natsServer runs a server of somebody else with the lines of `steward bus config`
// in a file of its own, as an operator does.
func natsServer(t *testing.T, config string, port string) *server.Server {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"steward.conf": config, "nats.conf": "listen: \"127.0.0.1:" + port + "\"\ninclude \"steward.conf\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	o.NoSigs, o.NoLog = true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(hosttest.Patience) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() { end(s) })
	return s
}

// typed is a command where no host runs.
func typed(t *testing.T, home string, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), hosttest.Program(t, ""), append(args, "--home", home)...)
	var out, bad strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), bad.String(), cmd.ProcessState.ExitCode()
}

func end(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// The bus of a host is on servers of somebody else: what it serves, what happens
// when they go away and come back, also before the host starts, and that a host
// does not start with servers that would not protect it.
func TestServersOfSomebodyElseCarryTheBus(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	config, complaint, exit := typed(t, home, "bus", "config")
	if exit != 0 || complaint != "" {
		t.Fatalf("bus config ends with %d: %s", exit, complaint)
	}
	srv := natsServer(t, config, "-1")
	at, err := url.Parse(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	h := hosttest.StartWith(t, hosttest.Options{Home: home, Args: append([]string{"--nats-url", srv.ClientURL()}, hosttest.Wide...)})
	reader := h.AddApp("reader")
	h.Do("capsule", "install", "files", folder(t, map[string]string{"a.md": "# Hello"}))
	h.Do("grants", "add", "reader", "files", "read")
	const uri = "files:///a.md"
	read := func(s *mcp.ClientSession) (string, error) {
		res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		return res.Contents[0].Text, nil
	}
	whole := func() {
		t.Helper()
		s := reader.Session(nil)
		wantListed(t, s, uri)
		if text, err := read(s); err != nil || text != "# Hello" {
			t.Errorf("read %q, %v", text, err)
		}
	}
	whole()
	if n := srv.NumClients(); n != 4 { // the doorkeeper, the hand, the broker and the capsule
		t.Errorf("%d clients of the server", n)
	}

	// They go away: nothing is empty, everything fails, the owner is told.
	s := reader.Session(nil)
	end(srv)
	hosttest.WaitFor(t, "the host to miss the server", func() error {
		if out, _ := h.CLI("status", "--json"); !strings.Contains(out, "bus_away") && !strings.Contains(out, "no server of the bus") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	if got, err := listed(s); code(err) != -32603 {
		t.Errorf("a list without a bus is %q, %v", got, err)
	}
	if _, err := read(s); code(err) != -32603 {
		t.Errorf("a read without a bus ends with %v", err)
	}
	pid := capsule(t, h, "files").PID
	srv = natsServer(t, config, at.Port())
	back := func() {
		t.Helper()
		hosttest.WaitFor(t, "the bus to be back", func() error {
			if got, err := listed(reader.Session(nil)); err != nil || got != uri {
				return fmt.Errorf("listed %q, %v", got, err)
			}
			return nil
		})
		whole()
	}
	began := time.Now()
	back()
	t.Logf("back after %v", time.Since(began))
	if now := capsule(t, h, "files"); now.PID != pid {
		t.Error("the capsule was started again for a server that was away")
	}

	// A host starts without them, and its capsules with them.
	end(srv)
	h.Restart()
	// BF3, BF4, BF6: a client is answered at once, and told when there is something.
	changed := make(chan struct{}, 8)
	early := reader.Session(&mcp.ClientOptions{ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { changed <- struct{}{} }})
	if got, err := listed(early); code(err) != -32603 {
		t.Errorf("the first list without a bus is %q, %v", got, err)
	}
	srv = natsServer(t, config, at.Port())
	back()
	wait(t, changed)
	wantListed(t, early, uri)
	h.Do("capsule", "remove", "files")
	if n := srv.NumClients(); n != 3 {
		t.Errorf("%d clients of the server after the capsule", n)
	}
	h.Stop()
	end(srv)
	natsServer(t, "max_payload: 4194304\n", at.Port())
	_, complaint, exit = typed(t, home, "up", "--listen", "127.0.0.1:0", "--nats-url", at.String())
	if exit != 3 || !strings.Contains(complaint, "bus config, whose lines") {
		t.Errorf("a host with servers that let everybody in ends with %d: %s", exit, complaint)
	}
}

// No backup has the keys of the bus. A host that is restored in its own folder has them
// still; one that is restored elsewhere says what its servers need, and once they
// have it, they know the host of before no more.
func TestAHostRestoredElsewhereIsAnotherToItsServers(t *testing.T) {
	home, elsewhere := filepath.Join(t.TempDir(), "home"), t.TempDir()
	config, complaint, exit := typed(t, home, "bus", "config")
	if exit != 0 {
		t.Fatal(complaint)
	}
	srv := natsServer(t, config, "-1")
	at, err := url.Parse(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	servers := []string{"--nats-url", at.String()}
	h := hosttest.StartWith(t, hosttest.Options{Home: home, Args: append(servers, hosttest.Wide...)})
	notes := folder(t, map[string]string{"a.md": "# Hello"})
	h.Do("capsule", "install", "files", notes)
	copied := filepath.Join(t.TempDir(), "copy")
	if out := h.Do("backup", copied, "--with-key"); !strings.Contains(out, "steward bus config") {
		t.Errorf("the backup does not say that it has no keys of the bus:\n%s", out)
	}
	h.Stop()

	for _, dir := range []string{home, elsewhere} {
		write(t, dir, "steward.toml", "nats_url = \""+at.String()+"\"\n")
	}
	out, told, exit := typed(t, home, "restore", copied, "--replace")
	if exit != 0 || strings.Contains(out+told, "steward bus config") {
		t.Errorf("in its own folder it ends with %d: %s%s", exit, out, told)
	}
	h.Restart() // which the servers know as before
	h.Do("capsule", "install", "files", notes)
	h.Stop()

	out, told, exit = typed(t, elsewhere, "restore", copied)
	if exit != 0 || !strings.Contains(told, at.String()+" know others") || !strings.Contains(told, "steward bus config") {
		t.Errorf("elsewhere it ends with %d: %s%s", exit, out, told)
	}
	if out, told, exit = typed(t, elsewhere, "doctor"); exit != 1 || !strings.Contains(out, "no keys for servers of the bus") {
		t.Errorf("doctor ends with %d: %s%s", exit, out, told)
	}
	strange := func(dir string) {
		t.Helper()
		if out, told, exit := typed(t, dir, "up", "--listen", "127.0.0.1:0"); exit != 3 || !strings.Contains(told, "bus config, whose lines") {
			t.Errorf("a host that its servers do not know ends with %d: %s%s", exit, out, told)
		}
	}
	strange(elsewhere)
	if config, complaint, exit = typed(t, elsewhere, "bus", "config"); exit != 0 {
		t.Fatal(complaint)
	}
	end(srv)
	natsServer(t, config, at.Port())
	strange(home)
	again := hosttest.StartWith(t, hosttest.Options{Home: elsewhere, Args: append(servers, hosttest.Wide...)})
	again.Do("capsule", "install", "files", notes)
	if c := capsule(t, again, "files"); c.State != "ready" && c.State != "starting" {
		t.Errorf("it is %s: %s", c.State, c.Reason)
	}
}
