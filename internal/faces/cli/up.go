package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/bus"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/settings"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d verbs) up() *cobra.Command {
	var o UpOptions
	cmd := &cobra.Command{
		Use: "up", Short: "start the host and serve until it is interrupted", Args: desk.Words(0, 0),
		Long: `Starts the host of a data folder, which is made if it is not there, and serves
until an interrupt or SIGTERM. The HTTP doors are on loopback only.

Each flag but --data can also be a line of steward.toml in the data folder, such
as listen = "127.0.0.1:8080", or a variable, such as STEWARD_LISTEN. A flag is
stronger than a variable, and that than the file; steward doctor --config tells
which is in force.`,
		Example: "  steward up\n  steward up --listen 127.0.0.1:8080 --data ./pool",
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := map[string]string{}
			for _, r := range settings.Rows() {
				if f := cmd.Flags().Lookup(r.Flag()); f.Changed {
					given[r.Flag()] = f.Value.String()
				}
			}
			return d.runUp(cmd.Context(), o, given)
		},
	}
	for _, r := range settings.Rows() {
		switch r.Kind {
		case settings.Switch:
			cmd.Flags().BoolP(r.Flag(), r.Short, false, r.Help)
		case settings.Number:
			cmd.Flags().Int64(r.Flag(), r.Int(), r.Help)
		default:
			cmd.Flags().String(r.Flag(), r.Usual, r.Help)
		}
	}
	cmd.Flags().StringVar(&o.Data, "data", "", "the data folder; the same as --home")
	return cmd
}

func (d verbs) runUp(ctx context.Context, o UpOptions, given map[string]string) error {
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
	values, err := settings.Load(home, given, os.LookupEnv)
	if err != nil {
		return err
	}
	o.Listen, o.Metrics = values.Text(settings.Listen), values.Text(settings.Metrics)
	o.Exceptions, o.Document = strings.Fields(values.Text(settings.Exceptions)), values.Text(settings.Document)
	o.Quiet, o.Debug, o.JSON = values.Bool(settings.Quiet), values.Bool(settings.Debug), values.Bool(settings.LogJSON)
	o.Ceiling.PerMinute, o.Ceiling.AtOnce = values.Int(settings.PerMinute), values.Int(settings.AtOnce)
	o.Servers = bus.Servers{URL: values.Text(settings.NATSURL), CA: values.Text(settings.NATSCA)}
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
