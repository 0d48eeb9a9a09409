// Command steward is the host, its command line, and the small programs that it
// starts for itself. This package wires the parts together and decides nothing.
package main

import (
	"context"
	"io"
	"os"

	"github.com/stewardhost/steward/cmd/steward/buswing"
	"github.com/stewardhost/steward/internal/faces/cli"
	"github.com/stewardhost/steward/internal/faces/cli/bus"
	"github.com/stewardhost/steward/internal/faces/cli/copies"
	"github.com/stewardhost/steward/internal/faces/cli/daemon"
	"github.com/stewardhost/steward/internal/faces/demo"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// version is set by the build.
var version = "dev"

func main() {
	host := cli.Host{
		Version: version,
		Up:      upOrWhyNot,
		Demo: func(ctx context.Context, out io.Writer) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			return demo.Run(ctx, demo.Options{Self: self, Out: out})
		},
		Keeper: copies.Keeper{Backup: backup, Restore: restore},
		Bus:    bus.Keeper{Config: buswing.Config},
		Daemon: daemon.Keeper{Version: version, Locate: locate, Serve: serveSessions, Launch: launchSessions},
		Hidden: map[string]func([]string) int{
			childprocess.Verb: childprocess.Supervise,
			"notes-server":    notesServer,
			buswing.Verb:      buswing.Run,
			demo.Keeper:       demo.Keep,
		},
	}
	os.Exit(cli.Run(context.Background(), host, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
