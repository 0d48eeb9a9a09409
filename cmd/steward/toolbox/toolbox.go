// Package toolbox is the MCP servers that the agent of a session daemon may use, as
// the operator's file of servers names them: the connections of mcpupstream in the
// shape that turns knows servers by.
//
// Nothing is started before a turn first wants to know a server's tools. A call goes
// out once at most, and what becomes of it is the connection's event. A list is at
// most bound.RelistEvery old. A Toolbox is safe for concurrent use; one lock guards
// each server's list.
package toolbox

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/remote"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/means/egress"
	"github.com/stewardhost/steward/internal/service/turns"
)

// Toolbox is the servers; use New.
type Toolbox struct{ shelves []*shelf }

// shelf is one server.
type shelf struct {
	name   string
	client *mcpupstream.Client

	mu     sync.Mutex // over what follows
	offer  turns.Offer
	listed time.Time
}

// New reads an mcpServers file. No file is no servers. The version is steward's own,
// told to the servers.
func New(path, version string) (*Toolbox, error) {
	if path == "" {
		return &Toolbox{}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "the file of STEWARD_MCP_CONFIG cannot be opened").Because(err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, bound.ClientFileBytes.Max+1))
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "the file of STEWARD_MCP_CONFIG cannot be read").Because(err)
	}
	config, err := clientconfig.Parse(raw)
	if err != nil {
		return nil, err
	}
	config.Expand(clientconfig.Sources{Env: os.LookupEnv})
	if len(config.Refused) > 0 {
		return nil, fault.Newf(fault.InvalidRequest, "the server %q in STEWARD_MCP_CONFIG cannot be used: %s", config.Refused[0].Name, config.Refused[0].Why.Text)
	}
	box := &Toolbox{}
	for _, s := range config.Servers {
		client, err := clientOf(s, version)
		if err != nil {
			box.Close()
			return nil, err
		}
		box.shelves = append(box.shelves, &shelf{name: s.Name, client: client})
	}
	return box, nil
}

func clientOf(s clientconfig.Server, version string) (*mcpupstream.Client, error) {
	opt := mcpupstream.Options{Version: version}
	if s.URL == "" {
		return mcpupstream.NewStdio(s.Name, s.Process(), opt), nil
	}
	target, err := egress.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	gate := egress.New(egress.Options{})
	if u, err := url.Parse(s.URL); err == nil {
		// A server that the operator names by an address of this machine, such as
		// the host's own /mcp, is the operator's exception.
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && addr.IsLoopback() {
			own, err := egress.ParseException(target.Origin() + "=" + netip.PrefixFrom(addr, addr.BitLen()).String())
			if err != nil {
				return nil, err
			}
			gate = gate.With(own)
		}
	}
	header := http.Header{}
	for name, value := range s.Headers {
		header.Set(name, value)
	}
	return mcpupstream.NewRemote(s.Name, remote.Spec{Gate: gate, Target: target, Header: header}, opt), nil
}

// Close ends every connection.
func (b *Toolbox) Close() {
	for _, s := range b.shelves {
		s.client.Close()
	}
}

// Servers are what a turn may ask.
func (b *Toolbox) Servers() []turns.Server {
	var out []turns.Server
	for _, s := range b.shelves {
		out = append(out, turns.Server{Name: s.name, List: s.list, Call: s.call, Resources: s.resources, Read: s.read})
	}
	return out
}

type definition struct {
	Description string         `json:"description"`
	Input       strictjson.Raw `json:"inputSchema"`
}

// list gives what the server offers, as it was at most bound.RelistEvery ago.
func (s *shelf) list(ctx context.Context) (turns.Offer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listed.IsZero() && time.Since(s.listed) < bound.RelistEvery.Duration() {
		return s.offer, nil
	}
	listing, err := s.client.List(ctx)
	if err != nil {
		return turns.Offer{}, err
	}
	s.offer, s.listed = turns.Offer{Readable: listing.Readable}, time.Now()
	for _, t := range listing.Tools {
		var d definition
		if t.Trouble != nil || strictjson.DecodeReply(t.Raw, strictjson.Limits{Bytes: bound.ToolBytes}, &d) != nil {
			continue
		}
		s.offer.Tools = append(s.offer.Tools, conversation.Tool{Name: t.Name, Description: d.Description, Input: d.Input})
	}
	return s.offer, nil
}

// resources gives everything that the server has to be read now.
func (s *shelf) resources(ctx context.Context) ([]turns.Resource, error) {
	all, err := s.client.Resources(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]turns.Resource, 0, len(all))
	for _, r := range all {
		out = append(out, turns.Resource(r))
	}
	return out, nil
}

// read asks the server for a resource, once.
func (s *shelf) read(ctx context.Context, uri string) ([]turns.Content, error) {
	parts, err := s.client.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	out := make([]turns.Content, 0, len(parts))
	for _, c := range parts {
		out = append(out, turns.Content{URI: c.URI, MimeType: c.MimeType, Text: c.Text, Blob: c.Blob != nil, Bytes: c.Bytes()})
	}
	return out, nil
}

// call sends one call, once. What becomes of it is the adapter's event.
func (s *shelf) call(ctx context.Context, tool, arguments string) turns.Called {
	if err := s.client.Open(ctx); err != nil {
		return turns.Called{Text: "the server is not there"}
	}
	e := s.client.Call(ctx, tool, []byte(arguments), nil)
	switch e.Kind {
	case invocation.Answered, invocation.ToolError:
		return turns.Called{Sent: true, Settled: true, Failed: e.Kind == invocation.ToolError, Text: answer.Words(e.Result)}
	case invocation.Rejected:
		return turns.Called{Sent: true, Settled: true, Failed: true, Text: "the server refused the call"}
	case invocation.Unreached:
		return turns.Called{Text: "the server is not there"}
	}
	return turns.Called{Sent: true, Text: "the server did not answer cleanly"}
}
