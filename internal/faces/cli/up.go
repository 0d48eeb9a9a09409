package cli

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

const usualListen = "127.0.0.1:7777"

func (d *desk) up() *cobra.Command {
	var o UpOptions
	cmd := &cobra.Command{
		Use: "up", Short: "start the host and serve until it is interrupted", Args: words(0, 0),
		Long: `Starts the host of a data folder, which is made if it is not there, and serves
until an interrupt or SIGTERM. The HTTP doors are on loopback only.`,
		Example: "  steward up\n  steward up --listen 127.0.0.1:8080 --data ./pool",
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.runUp(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.Listen, "listen", usualListen, "address and port of the HTTP doors; port 0 is any free one")
	cmd.Flags().StringVar(&o.Data, "data", "", "the data folder; the same as --home")
	cmd.Flags().BoolVarP(&o.Quiet, "quiet", "q", false, "print nothing but problems")
	return cmd
}

func (d *desk) runUp(ctx context.Context, o UpOptions) error {
	if err := checkListen(o.Listen); err != nil {
		return err
	}
	if o.Data != "" {
		d.homeFlag = o.Data
	}
	home, err := d.home()
	if err != nil {
		return err
	}
	if d.homeFlag != "" {
		d.homeFlag = home // so that the commands that are told work from any folder
	}
	o.Data = home
	o.Ready = func(at Doors) {
		if !o.Quiet {
			d.standing(ctx, at, home)
		}
	}
	return upTrouble(d.host.Up(ctx, o), o)
}

// standing tells what is up, and what waits for the owner.
func (d *desk) standing(ctx context.Context, at Doors, home string) {
	d.say("steward is up. An interrupt stops it.")
	t := paper.NewTable()
	addDoors(t, at.Listen)
	t.Row("folder", home)
	t.Write(d.out, "  ")
	status, err := ask(ctx, d, adminwire.HostStatus, adminwire.Empty{})
	if err != nil || !d.waiting(status.Count) {
		d.next("steward import mcp.json")
	}
}

func addDoors(t *paper.Table, bases []string) {
	for _, base := range bases {
		t.Row("MCP", base+"/mcp")
		t.Row("RPC", base+"/rpc/v1")
	}
}

// checkListen refuses what would let others in: there is no TLS yet.
func checkListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n > 65535 {
		return usage("steward up --listen "+usualListen, "%s is not an address and a port", paper.Word(address))
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return &Trouble{Unsafe, "the address " + paper.Word(address) + " reaches beyond this machine, and the doors have no TLS", "steward up --listen " + usualListen}
}

// upTrouble says what keeps a host from starting.
func upTrouble(err error, o UpOptions) error {
	var f *fault.Fault
	switch {
	case errors.Is(err, lockedfile.ErrHeld):
		return &Trouble{Later, "another host runs on the folder " + o.Data, nextStatus}
	case errors.Is(err, syscall.EADDRINUSE):
		return &Trouble{Later, "something else listens on " + o.Listen, "steward up --listen 127.0.0.1:0"}
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		return &Trouble{Unsafe, err.Error(), "steward up --data " + paper.Word(filepath.Join(filepath.Dir(o.Data), "another-folder"))}
	case err != nil && !errors.As(err, &f):
		return &Trouble{Failed, err.Error(), "mend that, then steward up"}
	}
	return err
}

func (d *desk) demo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "do the main job offline, and tell what was done", Args: words(0, 0),
		Long: `Starts a host of its own in a temporary folder, imports the server that comes
with steward, calls it as an app does, and removes everything. It needs no network.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := d.host.Demo(cmd.Context(), d.out)
			var f *fault.Fault
			var t *Trouble
			if err == nil || errors.As(err, &f) || errors.As(err, &t) {
				return err
			}
			return &Trouble{Failed, err.Error(), "steward demo"}
		},
	}
}
