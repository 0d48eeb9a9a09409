package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *desk) status() *cobra.Command {
	return d.withJSON(&cobra.Command{
		Use: "status", Short: "say whether a host runs, and what waits for you", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := ask(cmd.Context(), d, adminwire.HostStatus, adminwire.Empty{})
			if err != nil {
				return err
			}
			if err := show(d, status, d.printStatus); err != nil {
				return err
			}
			if status.Store != "ok" {
				return &Trouble{Failed, "the host accepts nothing any more: " + status.Store, "stop it, read its log, then steward up"}
			}
			return nil
		},
	})
}

func (d *desk) printStatus(s adminwire.Status) {
	t := paper.NewTable()
	t.Row("host", "steward "+s.Version+", up since "+paper.Stamp(s.StartedAt))
	addDoors(t, s.Listen)
	t.Row("folder", s.Data)
	t.Row("store", s.Store)
	t.Row("owner", s.Owner)
	t.Row("node", fmt.Sprintf("%s, epoch %d", s.Node, s.Epoch))
	t.Row("has", fmt.Sprintf("%s, %s, %s", paper.Count(s.Count.Apps, "app"), paper.Count(s.Count.Resources, "resource"),
		paper.Count(s.Count.Grants, "grant")))
	t.Write(d.out, "")
	if !d.waiting(s.Count) {
		d.say("Nothing waits for you.")
	}
}

// waiting tells what waits for the owner, with the commands that settle it, and
// reports whether anything does.
func (d *desk) waiting(c adminwire.Count) bool {
	t := paper.NewTable("waits for you", "settle it with")
	add := func(n int, one, state, command string) {
		if n > 0 {
			t.Row(paper.Count(n, one)+" "+state, d.here(command))
		}
	}
	doubt := "in doubt"
	if c.More {
		doubt += ", and more"
	}
	add(c.Confirmations, "call", "to confirm", "steward confirm list")
	add(c.Indeterminate, "call", doubt, "steward journal list --indeterminate")
	add(c.Review, "method", "to review", "steward review")
	if t.Len() == 0 {
		return false
	}
	t.Write(d.out, "")
	return true
}

// versions is the machine form of version: this program's, and the host's where
// one runs.
type versions struct {
	Version string             `json:"version"`
	Go      string             `json:"go"`
	Host    *adminwire.Version `json:"host,omitzero"`
}

func (d *desk) version() *cobra.Command {
	return d.withJSON(&cobra.Command{
		Use: "version", Short: "say which steward this is, and which one runs", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{Version: d.host.Version, Go: runtime.Version()}
			host, err := ask(cmd.Context(), d, adminwire.HostVersion, adminwire.Empty{})
			switch {
			case err == nil:
				v.Host = &host
			case !fault.Is(err, fault.Unavailable):
				return err
			}
			return show(d, v, d.printVersions)
		},
	})
}

func (d *desk) printVersions(v versions) {
	t := paper.NewTable()
	t.Row("command", "steward "+v.Version+", "+v.Go)
	if v.Host == nil {
		t.Row("host", "none is running")
	} else {
		t.Row("host", "steward "+v.Host.Version+", "+v.Host.Go)
	}
	t.Write(d.out, "")
}
