package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/cli/bus"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// What only a person can mend is found too.
func TestClockAndDisk(t *testing.T) {
	home := filepath.Join(t.TempDir(), "h*me") // no pattern
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, "steward.db"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	states := func(free int64, err error, written time.Time) (out []State) {
		if err := os.Chtimes(filepath.Join(home, "steward.db"), written, written); err != nil {
			t.Fatal(err)
		}
		e := examination{home: home, free: func(string) (int64, error) { return free, err }}
		e.clock()
		e.disk()
		for _, f := range e.findings {
			if (f.State == Bad || f.State == Note) != (f.Fix != "") {
				t.Errorf("%+v", f)
			}
			out = append(out, f.State)
		}
		return out
	}
	now := time.Now()
	for _, c := range []struct {
		free    int64
		err     error
		written time.Time
		want    []State
	}{
		{easyBytes, nil, now, []State{Well, Well}},
		{easyBytes - 1, nil, now, []State{Well, Note}},
		{leastBytes - 1, nil, now.Add(time.Hour), []State{Bad, Bad}},
		{0, errors.New("gone"), now, []State{Well}},
	} {
		if diff := cmp.Diff(c.want, states(c.free, c.err, c.written)); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

// What does not conform is named, and a capsule that does not run is found (threats,
// A39).
func TestCapsulesAndExceptionsAreNamed(t *testing.T) {
	const exempt = "http://10.0.0.1:80=10.0.0.1/32"
	e := examination{home: "/d"}
	e.host(adminwire.Status{Store: "ok", Data: "/d", Exceptions: []string{exempt}, Restored: time.Unix(0, 0)})
	e.upstreams([]adminwire.Resource{{Label: "off", Upstream: &adminwire.Upstream{Name: "off", State: "disabled", Connection: "idle"}, Methods: map[string]int{"needs_consent": 2}},
		{Label: "my server", Upstream: &adminwire.Upstream{Connection: "ready", Exception: exempt}},
		{Label: "shop", Upstream: &adminwire.Upstream{Name: "@capsule-shop", State: "disabled"}, Methods: map[string]int{"needs_consent": 1}},
		{Label: "kept", Upstream: &adminwire.Upstream{Name: "@capsule-kept", State: "enabled", Connection: "failed", Trouble: "exit code 1"}},
		{Label: "far", Upstream: &adminwire.Upstream{Name: "far", Connection: "ready", Wants: []string{"a:read", "b"}}}})
	e.capsules([]adminwire.Capsule{{Name: "a", State: "ready"}, {Name: "b", State: "waiting", Reason: "exit code 1"},
		{Name: "c", State: "changed", Reason: "another digest", Folder: "/f f"}, {Name: "d", State: "starting"},
		{Name: "files", State: "off", Reason: "the store was restored", Args: []string{"/my notes"}}})
	e.apps([]adminwire.App{{Name: "cli", Kind: "owner", Connected: true}, {Name: "gone", Kind: "app"}, {Name: "well", Kind: "app", Connected: true, Tokens: 1},
		{Name: "my app", Kind: "app", Connected: true}})
	var got []Finding
	for _, f := range e.findings {
		if f.State != Well {
			got = append(got, f)
		}
	}
	want := []Finding{
		{"host", Note, exempt + " may be reached, which is not public: not conforming", "steward doctor --config"},
		{"host", Note, "the store was restored from a copy at 1970-01-01 00:00:00Z", "steward status"},
		{"upstreams", Note, "off is switched off: nothing of it is started or contacted", "steward import --refresh off"},
		{"upstreams", Note, "2 methods of off wait for your yes and are off: they changed, or the store was restored", "steward review off"},
		{"upstreams", Note, exempt + " may be reached, which is not public: not conforming", "steward resources show 'my server'"},
		{"upstreams", Bad, "the tools of kept cannot be used: exit code 1", "steward capsule logs kept"},
		{"upstreams", Bad, "far refuses some calls, for which it wants a:read b", "steward resources authorize far"},
		{"capsules", Bad, "b is waiting: exit code 1", "steward capsule logs b"},
		{"capsules", Bad, "c is changed: another digest", "steward capsule install '/f f'"},
		{"capsules", Note, "files is off: the store was restored", "steward capsule install files '/my notes'"},
		{"apps", Note, "my app cannot call: none of its tokens is good any more",
			"steward apps rotate 'my app', or where steward connect keeps its tokens, steward connect CLIENT --write --rotate"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFolderWithoutItsKeyIsFound(t *testing.T) {
	home := t.TempDir()
	if err := errors.Join(os.Chmod(home, 0o700), os.WriteFile(filepath.Join(home, "steward.db"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	e := examination{home: home}
	e.folder()
	if len(e.findings) != 1 || e.findings[0].State != Bad || e.findings[0].Fix == "" {
		t.Errorf("%+v", e.findings)
	}
}

// Servers of the bus know a host by keys that no backup has.
func TestAHostWithoutKeysForItsServersIsFound(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct {
		servers string
		keys    bool
		want    int
	}{{"", false, 0}, {"tls://a.example:4222", false, 1}, {"tls://a.example:4222", true, 0}} {
		if c.keys {
			if err := os.Mkdir(filepath.Join(home, "keys"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, bus.KeysFile), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e := examination{home: home}
		e.bus(c.servers)
		if len(e.findings) != c.want {
			t.Errorf("servers %q, keys %v: %+v", c.servers, c.keys, e.findings)
		}
		for _, f := range e.findings {
			if f.State != Bad || !strings.Contains(f.Fix, "steward bus config") {
				t.Errorf("%+v", f)
			}
		}
	}
}
