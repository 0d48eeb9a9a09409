// Package bus has the verb about the bus between the host and its capsules: bus
// config, which prints what servers of somebody else need to carry it. It is no
// client of the host, which may not be able to start before those servers know it.
// What it prints is handed in; the verb keeps nothing.
package bus

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
)

// KeysFile is where the host's keys for such servers are, in its data folder. No backup
// has them: a host that is restored elsewhere is another one (docs/decisions/0011).
const KeysFile = "keys/bus"

// Servers are NATS servers of somebody else.
type Servers struct {
	URL string // one or more, with commas between them
	CA  string // a file of authorities; empty: those of the system
}

// Keeper knows the host's keys.
type Keeper struct {
	// Config is the servers' configuration for the host of a data folder, whose keys
	// are made if they are not there. It holds no secret. Its errors are told as they
	// are.
	Config func(folder string) (string, error)
}

// Noun is bus with its verb.
func Noun(d *desk.Desk, k Keeper) *cobra.Command {
	return d.Noun("bus", "what carries the capsules", config(d, k))
}

func config(d *desk.Desk, k Keeper) *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "print what NATS servers need to carry this host's bus", Args: desk.Words(0, 0),
		Long: `The bus is inside the host unless steward up is told of NATS servers. Those need the
lines that this prints, on every server, and a start after it. They hold no secret:
the keys that prove the host to them stay in the data folder, in keys/bus, and are
made when they are first needed. No backup has them, so that a host which is restored
in another folder needs its own lines on every server. The host looks at each start
whether the servers refuse strangers and hold the rights of each capsule, and uses
none that does not.`,
		Example: "  steward bus config > steward.conf\n  steward up --nats-url tls://nats.example:4222",
		RunE: func(*cobra.Command, []string) error {
			home, err := d.Home()
			if err != nil {
				return err
			}
			text, err := k.Config(home)
			if err == nil {
				_, err = fmt.Fprint(d.Out, text)
			}
			return err
		},
	}
}
