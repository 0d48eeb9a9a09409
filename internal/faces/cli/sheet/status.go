package sheet

import (
	"fmt"
	"io"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Status tells of a host at a glance, and what waits for the owner. Here makes a
// command work for the host's folder.
func Status(w io.Writer, s adminwire.Status, here func(command string) string) {
	t := paper.NewTable()
	t.Row("host", "steward "+s.Version+", up since "+paper.Stamp(s.StartedAt))
	doors(t, s.Listen)
	if s.Metrics != "" {
		t.Row("metrics", s.Metrics)
	}
	t.Row("folder", s.Data)
	t.Row("store", s.Store)
	if !s.Restored.IsZero() {
		t.Row("restored", paper.Stamp(s.Restored))
	}
	if s.Ceiling.Raised {
		t.Row("ceiling", Ceiling(s.Ceiling))
	}
	for _, e := range s.Exceptions {
		t.Row("exception", e+", which is not public: not conforming")
	}
	t.Row("owner", s.Owner)
	t.Row("node", fmt.Sprintf("%s, epoch %d", s.Node, s.Epoch))
	t.Row("has", fmt.Sprintf("%s, %s, %s", paper.Count(s.Count.Apps, "app"), paper.Count(s.Count.Resources, "resource"),
		paper.Count(s.Count.Grants, "grant")))
	t.Write(w, "")
	alarms(w, s.Alarms, here)
	if !Owed(w, s.Count, here) && len(s.Alarms) == 0 {
		fmt.Fprintln(w, "Nothing waits for you.")
	}
}

func alarms(w io.Writer, list []adminwire.Alarm, here func(command string) string) {
	if len(list) == 0 {
		return
	}
	t := paper.NewTable("alarm", "mend it with")
	for _, a := range list {
		t.Row(paper.Line(a.Text), here(a.Fix))
	}
	t.Write(w, "")
}

// Ceiling tells how much each connection may be called.
func Ceiling(c adminwire.Ceiling) string {
	text := fmt.Sprintf("%d calls a minute, %d at once", c.PerMinute, c.AtOnce)
	if c.Raised {
		text += "; raised by the operator of this host"
	}
	return text
}

// Up tells where a host that has just started can be found.
func Up(w io.Writer, bases []string, folder string) {
	fmt.Fprintln(w, "steward is up. An interrupt stops it.")
	t := paper.NewTable()
	doors(t, bases)
	t.Row("folder", folder)
	t.Write(w, "  ")
}

func doors(t *paper.Table, bases []string) {
	for _, base := range bases {
		t.Row("MCP", base+"/mcp")
		t.Row("RPC", base+"/rpc/v1")
	}
}

// Owed tells what waits for the owner, with the commands that settle it, and
// reports whether anything does.
func Owed(w io.Writer, c adminwire.Count, here func(command string) string) bool {
	t := paper.NewTable("waits for you", "settle it with")
	add := func(n int, one, state, command string) {
		if n > 0 {
			t.Row(paper.Count(n, one)+" "+state, here(command))
		}
	}
	doubt := "in doubt"
	if c.More {
		doubt += ", and more"
	}
	add(c.Confirmations, "call", "to confirm", "steward confirm list")
	add(c.Indeterminate, "call", doubt, "steward journal list --indeterminate")
	add(c.Review, "method", "to review", "steward review")
	add(c.Down, "upstream", "down", "steward resources list")
	if t.Len() == 0 {
		return false
	}
	t.Write(w, "")
	return true
}

// Versions tells which steward this is, and which one runs, if any.
func Versions(w io.Writer, version, language string, host *adminwire.Version) {
	t := paper.NewTable()
	t.Row("command", "steward "+version+", "+language)
	if host == nil {
		t.Row("host", "none is running")
	} else {
		t.Row("host", "steward "+host.Version+", "+host.Go)
	}
	t.Write(w, "")
}
