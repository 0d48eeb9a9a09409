// Package callout is how servers that somebody else runs let the connections of
// this host in: they ask the host about each one, and believe what its key signed
// (NATS calls it an auth callout; bus page, section 3).
//
// It promises: what Config prints holds no secret; a server with it lets nobody but
// the host's own connections into the account of the bus, each with exactly the
// rights that it has in the host; a question that does not come from such a server,
// or is about a name that the host does not know, has no answer, and a wrong password
// is refused; an answer counts for the one connection and server that asked.
//
// It does not promise that a server has the configuration: who connects must try it.
//
// Questions are at most bound.CalloutBytes. Keys are immutable and safe for
// concurrent use.
package callout

import (
	"crypto/subtle"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Subject is where servers ask; only the doorkeeper may subscribe to it.
const Subject = "$SYS.REQ.USER.AUTH"

// KeyHeader names the key of the server that sealed a question.
const KeyHeader = "Nats-Server-Xkey"

// User is what the host knows of one name.
type User struct {
	Password secret.Secret
	Rights   topic.Rights
}

// Answer answers a server's question about a connection. There is none where the
// question is not sealed for this host, not signed by a server, or about somebody
// that find does not know: another host may know them.
func (k Keys) Answer(question []byte, server string, find func(name string) (User, bool)) ([]byte, error) {
	if err := bound.CalloutBytes.Check(len(question)); err != nil {
		return nil, err
	}
	raw, err := k.seal.Open(question, server)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "a question that is not sealed for this host").Because(err)
	}
	q, err := jwt.DecodeAuthorizationRequestClaims(string(raw))
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "not the question of a server").Because(err)
	}
	if q.Server.ID != q.Issuer || q.Server.XKey != server {
		return nil, fault.New(fault.InvalidRequest, "a server asks in the name of another")
	}
	u, known := find(q.ConnectOptions.Username)
	if !known {
		return nil, fault.New(fault.NotFound, "this host does not know who connects")
	}
	answer := jwt.NewAuthorizationResponseClaims(q.UserNkey)
	answer.Audience = q.Server.ID
	if subtle.ConstantTimeCompare([]byte(u.Password.Reveal()), []byte(q.ConnectOptions.Password)) != 1 {
		answer.Error = "wrong password"
	} else if answer.Jwt, err = k.admit(q.UserNkey, q.ConnectOptions.Username, u.Rights); err != nil {
		return nil, err
	}
	text, err := answer.Encode(k.issuer)
	if err != nil {
		return nil, fault.New(fault.Internal, "an answer to a server cannot be signed").Because(err)
	}
	sealed, err := k.seal.Seal([]byte(text), server)
	if err != nil {
		return nil, fault.New(fault.Internal, "an answer to a server cannot be sealed").Because(err)
	}
	return sealed, nil
}

// admit signs what one connection may do.
func (k Keys) admit(connection, name string, r topic.Rights) (string, error) {
	claims := jwt.NewUserClaims(connection)
	claims.Name, claims.Audience = name, account
	claims.Pub, claims.Sub = permission(r.Publish), permission(r.Subscribe)
	text, err := claims.Encode(k.issuer)
	if err != nil {
		return "", fault.New(fault.Internal, "the rights of a connection cannot be signed").Because(err)
	}
	return text, nil
}

// permission is a list in the form of a claim. An empty one would allow everything,
// so nothing is allowed by denying all.
func permission(list []topic.Filter) (p jwt.Permission) {
	for _, f := range list {
		p.Allow.Add(f.String())
	}
	if len(list) == 0 {
		p.Deny.Add(">")
	}
	return p
}

// Doorkeeper proves to a server that the connection is the one it asks, and Hand
// that it is the one that may end others.
func (k Keys) Doorkeeper() nats.Option { return k.door.option() }

// Hand is told at Doorkeeper.
func (k Keys) Hand() nats.Option { return k.hand.option() }
