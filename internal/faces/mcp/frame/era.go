package frame

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The headers of MCP over HTTP.
const (
	VersionHeader = "Mcp-Protocol-Version"
	SessionHeader = "Mcp-Session-Id"
	MethodHeader  = "Mcp-Method"
	NameHeader    = "Mcp-Name"
)

// The methods and notifications that mean something to the host. A method that
// is used by a name says it in a header too.
const (
	Initialize = "initialize"
	Ping       = "ping"
	Discover   = "server/discover"
	Listen     = "subscriptions/listen"
	ListTools  = "tools/list"
	CallTool   = "tools/call"

	ListResources = "resources/list"
	ListTemplates = "resources/templates/list"
	ReadResource  = "resources/read"

	Initialized = "notifications/initialized"
	Cancelled   = "notifications/cancelled"
)

// namedBy is the member by which a method names what it uses.
var namedBy = map[string]string{CallTool: "name", ReadResource: "uri"}

// FirstModern is the first revision without sessions.
const FirstModern = "2026-07-28"

// Era is what decides how a request is framed.
type Era int

// The eras. Legacy has a handshake, sessions and notifications on a GET stream;
// in Modern every request stands alone.
const (
	Legacy Era = iota
	Modern
)

// Eras is how many eras there are.
const Eras = 2

// EraOf reads the version header; an absent one is Legacy, and false is a
// revision that is not spoken. One that is newer than all we know is Modern,
// whose requests can be told so.
func EraOf(version string) (Era, bool) {
	if version >= FirstModern {
		return Modern, true
	}
	return Legacy, version == "" || slices.Contains(sdk.SupportedProtocolVersions(), version)
}

// Doubled names a header that says how a message is to be read and stands there
// with two values, of which another reader on the way may take the other one
// (threats, A56); empty for none.
func Doubled(h http.Header) string {
	for _, name := range []string{"Content-Type", VersionHeader, SessionHeader, MethodHeader, NameHeader} {
		values := h.Values(name)
		if slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			return name
		}
	}
	return ""
}

// CheckTransport holds the headers of a POST to what every revision asks for.
func CheckTransport(h http.Header) (status int, text string) {
	if media, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || media != "application/json" {
		return http.StatusUnsupportedMediaType, "send application/json"
	}
	json, stream := accepted(h.Values("Accept"))
	if !json || !stream {
		return http.StatusBadRequest, "accept both application/json and text/event-stream"
	}
	return 0, ""
}

func accepted(values []string) (json, stream bool) {
	for _, value := range values {
		for media := range strings.SplitSeq(value, ",") {
			media, _, _ = strings.Cut(media, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				json, stream = true, true
			}
		}
	}
	return json, stream
}

// CheckLegacy refuses a request of the other era that lost its header.
func CheckLegacy(m Message, p Params, version string) *Problem {
	if p.Meta[sdk.MetaKeyProtocolVersion] == nil {
		return nil
	}
	if m.Method == Discover {
		return &Problem{Code: HeaderMismatch, Message: "the MCP-Protocol-Version header is missing or older than the request's _meta"}
	}
	older := slices.DeleteFunc(sdk.SupportedProtocolVersions(), func(v string) bool { return v >= FirstModern })
	return unsupportedVersion("this revision needs its version in the MCP-Protocol-Version header", older, version)
}

// CheckModern holds a message to the revision without sessions: version and
// method stand in headers and body alike, and so does the name of what is used
// (threats, A56).
func CheckModern(m Message, p Params, h http.Header) *Problem {
	version := h.Get(VersionHeader)
	if m.ID != nil {
		inBody, ok := Text(p.Meta[sdk.MetaKeyProtocolVersion])
		switch {
		case !ok:
			return missingMeta(sdk.MetaKeyProtocolVersion)
		case inBody != version:
			return mismatch("MCP-Protocol-Version")
		}
	}
	if h.Get(MethodHeader) != m.Method {
		return mismatch("Mcp-Method")
	}
	if member := namedBy[m.Method]; member != "" {
		if name, ok := Text(p.Members[member]); !ok || name == "" || h.Get(NameHeader) != name {
			return mismatch("Mcp-Name")
		}
	}
	if m.ID == nil {
		return nil
	}
	if info, given := p.Meta[sdk.MetaKeyClientInfo]; given && info.Kind() != '{' {
		return missingMeta(sdk.MetaKeyClientInfo)
	}
	if p.Meta[sdk.MetaKeyClientCapabilities].Kind() != '{' {
		return missingMeta(sdk.MetaKeyClientCapabilities)
	}
	if spoken := sdk.SupportedProtocolVersions(); !slices.Contains(spoken, version) {
		return unsupportedVersion("this revision is not spoken here", spoken, version)
	}
	return nil
}

func missingMeta(key string) *Problem {
	return &Problem{Code: BadParams, Message: "_meta lacks a valid " + key}
}

func mismatch(header string) *Problem {
	return &Problem{Code: HeaderMismatch, Message: "the header " + header + " does not say what the body says"}
}

func unsupportedVersion(text string, spoken []string, requested string) *Problem {
	data, _ := strictjson.Encode(sdk.UnsupportedProtocolVersionData{Supported: spoken, Requested: requested})
	return &Problem{Code: BadVersion, Message: text, Data: data}
}
