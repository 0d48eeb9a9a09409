package mcpupstream

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// handshake agrees on a protocol revision; the session cannot call before. No
// client capability is declared in either era.
func (s *session) handshake(ctx context.Context, ownVersion string) error {
	client, err := strictjson.Encode(map[string]string{"name": "steward", "version": ownVersion})
	if err != nil {
		return err
	}
	params := []byte(`{"protocolVersion":"` + answer.Offered + `","capabilities":{},"clientInfo":` + string(client) + `}`)
	g, ask, err := answer.Initialized(s.ask(ctx, answer.Question, "initialize", params))
	switch {
	case ask:
		return s.discover(ctx, client)
	case err != nil:
		return err
	}
	s.greeting = g
	s.batches.Store(g.Protocol == answer.Batching)
	if _, err := s.write(ctx, envelope.Notification("notifications/initialized", []byte("{}"))); err != nil {
		return s.unanswered().Fault("initialized")
	}
	return nil
}

// discover opens the stateless era: nothing is agreed on, but from here on every
// request says who asks and in which revision.
func (s *session) discover(ctx context.Context, client []byte) error {
	const prefix = `"io.modelcontextprotocol/`
	s.meta = []byte(`{` + prefix + `protocolVersion":"` + answer.Stateless + `",` +
		prefix + `clientInfo":` + string(client) + `,` + prefix + `clientCapabilities":{}}`)
	g, err := answer.Discovered(s.ask(ctx, answer.Question, "server/discover", s.withMeta([]byte("{"))))
	if err != nil {
		return err
	}
	s.greeting = g
	if !g.TellsChanges {
		return nil
	}
	// The answer comes when the upstream stops telling, if ever.
	listen := envelope.Request(s.number(), "subscriptions/listen", s.withMeta([]byte(`{"notifications":{"toolsListChanged":true}`)))
	if _, err := s.write(ctx, listen); err != nil {
		return s.unanswered().Fault("subscriptions/listen")
	}
	return nil
}

// withMeta closes params, which are an object without its last brace.
func (s *session) withMeta(params []byte) []byte {
	if s.meta == nil {
		return append(params, '}')
	}
	if params[len(params)-1] != '{' {
		params = append(params, ',')
	}
	return append(append(append(params, `"_meta":`...), s.meta...), '}')
}
