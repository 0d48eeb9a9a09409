package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d verbs) up() *cobra.Command {
	var o UpOptions
	cmd := &cobra.Command{
		Use: "up", Short: "start the host and serve until it is interrupted", Args: desk.Words(0, 0),
		Long: `Starts the host of a data folder, which is made if it is not there, and serves
until an interrupt or SIGTERM. The HTTP doors are on loopback only.`,
		Example: "  steward up\n  steward up --listen 127.0.0.1:8080 --data ./pool",
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.runUp(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.Listen, "listen", trouble.UsualListen, "address and port of the HTTP doors; port 0 is any free one")
	cmd.Flags().StringVar(&o.Data, "data", "", "the data folder; the same as --home")
	cmd.Flags().StringVar(&o.Metrics, "metrics", "", "serve metrics and profiles on a loopback address and port, or on a socket in the data folder: "+trouble.MetricsSocket)
	cmd.Flags().BoolVar(&o.Debug, "debug", false, "log more")
	cmd.Flags().BoolVar(&o.JSON, "log-json", false, "log lines of JSON")
	cmd.Flags().Int64Var(&o.Ceiling.PerMinute, "resource-per-minute", bound.ResourcePerMinute.Max, "how many calls a minute a connection takes from all apps together")
	cmd.Flags().Int64Var(&o.Ceiling.AtOnce, "resource-at-once", bound.ResourceAtOnce.Max, "how many calls at once a connection takes, of which one is kept for you")
	cmd.Flags().BoolVarP(&o.Quiet, "quiet", "q", false, "print nothing but problems")
	return cmd
}

func (d verbs) runUp(ctx context.Context, o UpOptions) error {
	if err := trouble.CheckListen(o.Listen); err != nil {
		return err
	}
	if err := trouble.CheckMetrics(o.Metrics); err != nil {
		return err
	}
	if err := o.Ceiling.Check(); err != nil {
		return trouble.UsageOf("steward up --help", "%s", fault.From(err).Text)
	}
	if o.Data != "" {
		d.HomeFlag = o.Data
	}
	home, err := d.Home()
	if err != nil {
		return err
	}
	if d.HomeFlag != "" {
		d.HomeFlag = home // so that the commands that are told work from any folder
	}
	o.Data = home
	o.Ready = func(at Doors) {
		if !o.Quiet {
			d.standing(ctx, at, home)
		}
	}
	err = trouble.OfUp(d.host.Up(ctx, o), o.Listen, home)
	d.Out = io.Discard // a host that nobody hears has not failed
	return err
}

// standing tells what is up, and what waits for the owner.
func (d verbs) standing(ctx context.Context, at Doors, home string) {
	sheet.Up(d.Out, at.Listen, home)
	status, err := desk.Ask(ctx, d.Desk, adminwire.HostStatus, adminwire.Empty{})
	if err != nil || !sheet.Owed(d.Out, status.Count, d.Here) {
		d.Next("steward import mcp.json")
	}
}

func (d verbs) demo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "do the main job offline, and tell what was done", Args: desk.Words(0, 0),
		Long: `Starts a host of its own in a temporary folder, imports the server that comes
with steward, calls it as an app does, and removes everything. It needs no network.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.host.Demo(cmd.Context(), d.Out)
		},
	}
}
