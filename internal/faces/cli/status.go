package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d verbs) status() *cobra.Command {
	return d.WithJSON(&cobra.Command{
		Use: "status", Short: "say whether a host runs, and what waits for you", Args: desk.Words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := desk.Ask(cmd.Context(), d.Desk, adminwire.HostStatus, adminwire.Empty{})
			if err != nil {
				return err
			}
			if err := desk.Show(d.Desk, status, func(s adminwire.Status) { sheet.Status(d.Out, s, d.Here) }); err != nil {
				return err
			}
			if status.Store != "ok" {
				return trouble.New(trouble.Failed, "the host accepts nothing any more: "+status.Store, "stop it, read its log, then steward up")
			}
			return nil
		},
	})
}

// versions is the machine form of version: this program's, and the host's where
// one runs.
type versions struct {
	Version string             `json:"version"`
	Go      string             `json:"go"`
	Host    *adminwire.Version `json:"host,omitzero"`
}

func (d verbs) version() *cobra.Command {
	return d.WithJSON(&cobra.Command{
		Use: "version", Short: "say which steward this is, and which one runs", Args: desk.Words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{Version: d.host.Version, Go: runtime.Version()}
			host, err := desk.Ask(cmd.Context(), d.Desk, adminwire.HostVersion, adminwire.Empty{})
			switch {
			case err == nil:
				v.Host = &host
			case !fault.Is(err, fault.Unavailable):
				return err
			}
			return desk.Show(d.Desk, v, func(v versions) { sheet.Versions(d.Out, v.Version, v.Go, v.Host) })
		},
	})
}
