package natsbus

import (
	"crypto/subtle"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// startWait is how long servers may take to be there.
const startWait = 10 * time.Second

// inside is a server in the process.
type inside struct {
	server  *server.Server
	account string
	users   *userTable
}

func openInside(tenant string, users *userTable, adjust func(*server.Options)) (*inside, error) {
	in := &inside{account: tenant, users: users}
	o := &server.Options{
		ServerName: "steward", DontListen: true, NoLog: true, NoSigs: true, MaxPayload: int32(bound.BusMessageBytes.Max),
		MaxPending: bound.BusConnectionBytes.Max, WriteDeadline: bound.BusWrite.Duration(),
		Accounts: []*server.Account{server.NewAccount(tenant)}, CustomClientAuthentication: in,
	}
	if adjust != nil {
		adjust(o)
	}
	var err error
	if in.server, err = server.NewServer(o); err != nil {
		return nil, fault.New(fault.Internal, "the bus cannot be set up").Because(err)
	}
	in.server.Start()
	if !in.server.ReadyForConnections(startWait) {
		in.server.Shutdown()
		return nil, fault.New(fault.Internal, "the bus did not start")
	}
	return in, nil
}

func (in *inside) dial() (string, []nats.Option) {
	return "", []nats.Option{nats.InProcessServer(in.server)}
}

func (in *inside) disconnect(c *nats.Conn) {
	if id, err := c.GetClientID(); err == nil {
		_ = in.server.DisconnectClientByID(id) // its error is that the client is gone
	}
}

func (in *inside) there() bool { return in.server.Running() }

func (in *inside) close() {
	in.server.Shutdown()
	in.server.WaitForShutdown()
}

// Check admits a connection and gives it its rights. The server calls it.
func (in *inside) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	u, ok := in.users.find(o.Username)
	if !ok || subtle.ConstantTimeCompare([]byte(u.Password.Reveal()), []byte(o.Password)) != 1 {
		return false
	}
	account, err := in.server.LookupAccount(in.account)
	if err != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: o.Username, Account: account,
		Permissions: &server.Permissions{Publish: permission(u.Rights.Publish), Subscribe: permission(u.Rights.Subscribe)}})
	return true
}

// permission is a list in the server's form. An empty one would allow everything,
// so nothing is allowed by denying all.
func permission(list []topic.Filter) *server.SubjectPermission {
	if len(list) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	p := &server.SubjectPermission{}
	for _, f := range list {
		p.Allow = append(p.Allow, f.String())
	}
	return p
}
