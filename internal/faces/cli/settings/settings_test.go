package settings

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

func folder(t *testing.T, text string) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "my home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, File), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return home
}

func nothing(string) (string, bool) { return "", false }

func TestFlagsAreStrongerThanTheEnvironmentAndThatThanTheFile(t *testing.T) {
	home := folder(t, "# mine\nlisten = \"127.0.0.1:1\"\nquiet = true\nmetrics = 'socket'\nresource_at_once = 9\negress_exceptions = 'http://127.0.0.1:3000=127.0.0.1/32'\nclient_document = 'https://a.example/client.json'\n")
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"STEWARD_LISTEN": "127.0.0.1:2", "STEWARD_METRICS": "127.0.0.1:3"}[name]
		return v, ok
	}
	got, err := Load(home, map[string]string{"listen": "127.0.0.1:4", "log-json": "true"}, env)
	want := Values{
		{"listen", "127.0.0.1:4", "flag --listen"}, {"metrics", "127.0.0.1:3", "environment STEWARD_METRICS"},
		{"quiet", "true", filepath.Join(home, File) + ", line 3"}, {"debug", "false", "default"}, {"log_json", "true", "flag --log-json"},
		{"resource_per_minute", "60", "default"}, {"resource_at_once", "9", filepath.Join(home, File) + ", line 5"},
		{"egress_exceptions", "http://127.0.0.1:3000=127.0.0.1/32", filepath.Join(home, File) + ", line 6"},
		{"client_document", "https://a.example/client.json", filepath.Join(home, File) + ", line 7"},
		{"nats_url", "", "default"}, {"nats_ca", "", "default"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := Load(t.TempDir(), nil, nothing); err != nil || got.Text(Listen) != trouble.UsualListen || got.Bool(Quiet) {
		t.Errorf("%v, %v", got, err)
	}
}

// What is wrong is refused with a command, and that command mends it.
func TestWhatIsWrongIsRefusedAndMended(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"an unknown key":    {"listen = '127.0.0.1:0'\nlisen = 'x'\n", 0o600},
		"an unknown table":  {"[door]\n", 0o600},
		"another type":      {"\nquiet = 'yes'\n", 0o600},
		"no TOML":           {"listen = \n", 0o600},
		"beyond loopback":   {"listen = '0.0.0.0:7777'\n", 0o600},
		"metrics for all":   {"metrics = '10.0.0.1:9'\n", 0o600},
		"no ceiling":        {"resource_at_once = 0\n", 0o600},
		"a bus without TLS": {"nats_url = 'nats://10.0.0.1:4222'\n", 0o600},
		"a bus half in TLS": {"nats_url = 'tls://10.0.0.1:4222,nats://127.0.0.1:4222'\n", 0o600},
		"a user of the bus": {"nats_url = 'tls://me:secret@10.0.0.1:4222'\n", 0o600},
		"no bus":            {"nats_url = 'http://10.0.0.1:4222'\n", 0o600},
		"too many servers":  {"nats_url = '" + strings.Repeat("tls://10.0.0.1:4222,", 16) + "tls://10.0.0.1:4222'\n", 0o600},
		"all let out":       {"egress_exceptions = 'http://127.0.0.1=0.0.0.0/0'\n", 0o600},
		"no document":       {"client_document = 'http://a.example/client.json'\n", 0o600},
		"a bare document":   {"client_document = 'https://a.example/'\n", 0o600},
		"a key twice":       {"debug = true\ndebug = false\n", 0o600},
		"of others":         {"debug = true\n", 0o622},
		"longer than a row": {strings.Repeat("#", 1<<20), 0o600},
	} {
		home := folder(t, c.text)
		if err := os.Chmod(filepath.Join(home, File), c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Load(home, nil, nothing)
		var bad *trouble.Trouble
		if !errors.As(err, &bad) || bad.Exit != trouble.Unsafe {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out, err := exec.Command("sh", "-c", bad.Next).CombinedOutput(); err != nil {
			t.Errorf("%s: %s: %v %s", name, bad.Next, err, out)
		}
		if _, err := Load(home, nil, nothing); err != nil {
			t.Errorf("%s: still wrong after %s: %v", name, bad.Next, err)
		}
	}
	if _, err := Load(t.TempDir(), nil, func(name string) (string, bool) { return "maybe", name == "STEWARD_DEBUG" }); err == nil || !strings.Contains(err.Error(), "environment STEWARD_DEBUG") {
		t.Error(err)
	}
}

// A mistyped setting is mended, not lost.
func TestAMistypedSettingIsNamed(t *testing.T) {
	home := folder(t, "# mine\nlistne = '127.0.0.1:1'\n")
	path := filepath.Join(home, File)
	_, err := Load(home, nil, nothing)
	want := trouble.New(trouble.Unsafe, path+", line 2: there is no setting listne; listen is near", "sed -i.old 2s/listne/listen/ '"+path+"'")
	if diff := cmp.Diff(want, err); diff != "" {
		t.Fatal(diff)
	}
	if out, err := exec.Command("sh", "-c", trouble.Of(err, trouble.Hints{}).Next).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if got, err := Load(home, nil, nothing); err != nil || got.Text(Listen) != "127.0.0.1:1" {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"listen = \"127.0.0.1:0\"\n", "quiet=true", "[a]\nb=1", "debug = ", "\"quiet\" = false # x", "log_json = true\nmetrics = \"\"\"\nx\"\"\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strings.Count(string(raw), "[")+strings.Count(string(raw), "{") > 1000 {
			return
		}
		got, err := parse("x", raw)
		var bad *trouble.Trouble
		if err != nil && (!errors.As(err, &bad) || bad.Next == "" || len(got) > 0) {
			t.Fatalf("%v", err)
		}
		lines := strings.Count(string(raw), "\n") + 1
		for key, v := range got {
			if v.line < 1 || v.line > lines {
				t.Fatalf("%s is on line %d of %d", key, v.line, lines)
			}
		}
	})
}
