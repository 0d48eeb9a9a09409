package unixsocket

import (
	"slices"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// negotiate reads what a client asks for: the one profile, or nothing. A token that
// is retired or not known makes initialize fail.
func negotiate(requested []string) (selected bool, err error) {
	if err := bound.RequestedTokens.Check(len(requested)); err != nil {
		return false, err
	}
	for i, token := range requested {
		if slices.Contains(requested[:i], token) {
			return false, badPayload("a capability is requested twice")
		}
		if token != sessionwire.Profile {
			return false, fault.New(fault.UnsupportedCapability, "a requested capability is not offered")
		}
		selected = true
	}
	return selected, nil
}

// capabilities is what a connection may do, from the tables.
func capabilities(about About, selected bool) sessionwire.CapabilityAnswer {
	a := sessionwire.CapabilityAnswer{
		Server:          sessionwire.Client{Name: "steward", Version: about.Version},
		ProtocolVersion: sessionwire.Version,
		Transports:      []string{"unix"},
		Activity:        map[string]bool{sessionwire.TurnActivity: true, sessionwire.TurnDelta: true},
		Limits:          values(bound.DaemonRows()),
	}
	for _, m := range sessionwire.Methods() {
		if selected || !m.Profile {
			a.Operations = append(a.Operations, m.Name)
		}
	}
	for _, e := range sessionwire.Events() {
		if selected || !e.Profile {
			a.Events = append(a.Events, e.Name)
		}
	}
	if selected {
		a.NegotiatedCapabilities = []string{sessionwire.Profile}
		a.ApplicationCallbacks = &sessionwire.Callbacks{
			Profile: sessionwire.Profile, SourceKinds: []string{sourceInline, sourceFile}, Registry: true, ReconnectEvidence: true,
			Bounds: values(bound.ProfileRows()),
		}
	}
	return a
}

func values(rows []bound.Row) map[string]int64 {
	out := make(map[string]int64, len(rows))
	for _, r := range rows {
		out[r.Key] = r.Max
	}
	return out
}
