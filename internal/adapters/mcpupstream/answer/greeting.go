package answer

import (
	"slices"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Protocol revisions. Those of the handshake era are agreed on once for a
// session; the stateless one stands in every request.
const (
	Offered   = "2025-11-25" // in initialize
	Batching  = "2025-03-26" // the one in which a line may be a batch
	Stateless = "2026-07-28"
)

var handshaken = []string{"2024-11-05", Batching, "2025-06-18", Offered}

// Error numbers that say that the upstream has left the handshake era.
const (
	noSuchMethod = -32601
	noSuchEra    = -32022
)

const metaServerInfo = "io.modelcontextprotocol/serverInfo"

// Greeting is what an upstream says of itself; nothing of it is verified.
type Greeting struct {
	Server, Version string
	Protocol        string // the revision that is spoken from here on
	Instructions    string
	TellsChanges    bool // says when its tools change, if it is asked to
	Callable        bool // says that it has tools
	Readable        bool // says that it has resources
}

// Vitals are what is counted of one conversation.
type Vitals struct {
	PID           int // of a local process, else zero
	Noise, Strays int64
}

// Initialized reads the answer to initialize. ask reports that the upstream
// has left that era and must be asked with server/discover.
func Initialized(a Answer) (g Greeting, ask bool, err error) {
	if a.Event.Kind == invocation.Rejected && (a.Code == noSuchMethod || a.Code == noSuchEra) {
		return Greeting{}, true, nil
	}
	v, err := object("initialize", a)
	if err != nil {
		return Greeting{}, false, err
	}
	switch version := text(v, "protocolVersion"); {
	case version == Stateless:
		return Greeting{}, true, nil
	case !slices.Contains(handshaken, version):
		return Greeting{}, false, failed("the upstream speaks protocol revision " + shown(version) + ", which this host does not")
	default:
		g, err = greeting(v, member(v, "serverInfo"), version)
		return g, false, err
	}
}

// Supports reports whether the refusal of a revision, a checked error object, lists
// the stateless one all the same.
func Supports(refusal []byte) bool {
	v, err := strictjson.Parse(refusal, limits[Question])
	supported := member(member(v, "data"), "supported").Items
	return err == nil && slices.ContainsFunc(supported, func(s strictjson.Value) bool { return s.Text == Stateless })
}

// Discovered reads the answer to server/discover.
func Discovered(a Answer) (Greeting, error) {
	v, err := object("server/discover", a)
	if err != nil {
		return Greeting{}, err
	}
	ours := func(known strictjson.Value) bool { return known.Text == Stateless }
	if !slices.ContainsFunc(member(v, "supportedVersions").Items, ours) {
		return Greeting{}, failed("the upstream speaks no protocol revision that this host does")
	}
	return greeting(v, member(member(v, "_meta"), metaServerInfo), Stateless)
}

func greeting(v, info strictjson.Value, protocol string) (Greeting, error) {
	capabilities := member(v, "capabilities")
	tools, resources := member(capabilities, "tools"), member(capabilities, "resources")
	g := Greeting{
		Server: text(info, "name"), Version: text(info, "version"),
		Protocol: protocol, Instructions: text(v, "instructions"),
		TellsChanges: member(tools, "listChanged").Bool,
		Callable:     tools.Kind == strictjson.Object, Readable: resources.Kind == strictjson.Object,
	}
	for _, check := range []struct {
		row  bound.Row
		text string
	}{
		{bound.TitleBytes, g.Server}, {bound.TitleBytes, g.Version}, {bound.DescriptionBytes, g.Instructions},
	} {
		if err := check.row.Check(len(check.text)); err != nil {
			return Greeting{}, err
		}
	}
	return g, nil
}

// object is the result of a question that must be an object.
func object(what string, a Answer) (strictjson.Value, error) {
	if a.Event.Kind != invocation.Answered {
		return strictjson.Value{}, a.Fault(what)
	}
	v, err := strictjson.Parse(a.Event.Result, limits[Question])
	if err == nil && v.Kind != strictjson.Object {
		err = failed(what + ": the answer is not an object")
	}
	return v, err
}
