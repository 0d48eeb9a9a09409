package manual

import "github.com/spf13/cobra"

// Story is what the program tells of itself.
const Story = `steward lends your tools and data to AI agents, under your control.

  steward up                         start the host on this machine
  steward import mcp.json            list the MCP servers that you already have
  steward review SERVER              read each tool, and say yes to methods
  steward apps add APP               make an app and its tokens; steward grants add gives it methods
  steward journal list               see every call, and what is in doubt

Commands speak to the running host of one data folder: --home, else $STEWARD_HOME,
else the folder steward of your configuration. No host needs to run for up, demo,
doctor, backup, restore, version, bus config, capsule new and check, nor for daemon,
session and turn, which have a daemon of their own.
Times are UTC.`

// ExitCodes is a topic of the help.
func ExitCodes() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "what the exit codes mean", Long: `Every verb ends with one of these exit codes:

   0  done
   1  failed or refused
   2  the words of the command make no sense
   3  an unsafe endpoint or configuration
  10  busy, or no host is running: try again later
  11  the owner must act: review, grant, confirm or reconcile
  12  an unknown name or id`}
}
