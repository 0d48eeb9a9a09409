package callout

import (
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// The accounts of a server that has the configuration. Operators may have others
// beside them.
const (
	account = "steward"         // of the bus: one installation of the host
	porch   = "steward_callout" // where the doorkeeper is asked
	system  = "steward_system"  // where connections are ended
)

// Inbox is where a server answers the hand.
const Inbox = "_steward"

// Config is what a server needs to carry this host's bus, in the form of its
// configuration file. It holds no secret.
func (k Keys) Config() string {
	return strings.NewReplacer("<account>", account, "<porch>", porch, "<system>", system, "<subject>", Subject, "<inbox>", Inbox,
		"<issuer>", public(k.issuer), "<seal>", public(k.seal), "<door>", public(k.door), "<hand>", public(k.hand),
		"<payload>", strconv.FormatInt(bound.BusMessageBytes.Max, 10), "<pending>", strconv.FormatInt(bound.BusConnectionBytes.Max, 10),
		"<write>", bound.BusWrite.Duration().String()).Replace(configuration)
}

const configuration = `# The bus of a steward host, for nats-server 2.11 or newer. There is no secret in here.
#
# Every server of the cluster has these lines, such as by include "steward.conf" in
# its own file, which also says where it listens, with which certificates, and who
# the other servers are:
#
#   listen: "0.0.0.0:4222"
#   tls { cert_file: "server.pem", key_file: "server.key" }
#   cluster { name: "bus", listen: "0.0.0.0:6222", routes: ["nats://other:6222"], tls { ... } }
#
# A server that is told of changes here must be started again. Accounts of other
# users can stand beside these; a user whom no account knows is asked about below.

max_payload: <payload>
max_pending: <pending>
write_deadline: "<write>"

# Who connects without being one of the two below is let in by the host alone.
authorization {
  timeout: 1.5
  auth_callout {
    issuer: "<issuer>"
    xkey: "<seal>"
    account: <porch>
    auth_users: [ "<door>", "<hand>" ]
    allowed_accounts: [ <account>, <porch>, <system> ]
  }
}

system_account: <system>

accounts {
  # The bus itself. Nobody is listed: each connection has the rights that the host gives it.
  <account> {}

  # Where the servers ask the host.
  <porch> {
    users: [ { nkey: "<door>", permissions: { subscribe: [ "<subject>" ], publish: [ "$SYS._INBOX.>" ] } } ]
  }

  # Where the host has a server end the connection of a capsule that was unloaded.
  <system> {
    users: [ { nkey: "<hand>", permissions: { publish: [ "$SYS.REQ.SERVER.*.KICK" ], subscribe: [ "<inbox>.>" ] } } ]
  }
}
`
