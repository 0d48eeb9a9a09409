package mcp

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"

	firstModern = "2026-07-28" // the first revision without sessions
)

// era is what decides how a request is framed.
type era int

const (
	legacy era = iota // a handshake, a session, notifications on a GET stream
	modern            // every request stands alone
)

// eraOf reads the version header; an absent one is legacy. A revision that is
// newer than all we know is modern, whose requests can be told so.
func eraOf(version string) (era, bool) {
	if version >= firstModern {
		return modern, true
	}
	return legacy, version == "" || slices.Contains(sdk.SupportedProtocolVersions(), version)
}

// status is the HTTP status of a JSON-RPC error: the older revisions answer all
// of them with 200.
func (e era) status(code int) int {
	switch {
	case code == codeHeaderMismatch || code == codeVersion:
		return http.StatusBadRequest
	case e == legacy:
		return http.StatusOK
	case code == codeNoMethod:
		return http.StatusNotFound
	case code == codeParams:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// checkTransport holds the headers of a POST to what every revision asks for.
func checkTransport(h http.Header) (status int, text string) {
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

// checkLegacy refuses a request of the other era that lost its header.
func checkLegacy(m message, p parameters, version string) *problem {
	if p.meta[sdk.MetaKeyProtocolVersion] == nil {
		return nil
	}
	if m.method == methodDiscover {
		return &problem{code: codeHeaderMismatch, message: "the MCP-Protocol-Version header is missing or older than the request's _meta"}
	}
	older := slices.DeleteFunc(sdk.SupportedProtocolVersions(), func(v string) bool { return v >= firstModern })
	return unsupportedVersion("this revision needs its version in the MCP-Protocol-Version header", older, version)
}

// checkModern holds a message to the revision without sessions: version and
// method stand in headers and body alike, and so does the name of what is used
// (threats, A56).
func checkModern(m message, p parameters, h http.Header) *problem {
	version := h.Get(versionHeader)
	if m.id != nil {
		inBody, ok := text(p.meta[sdk.MetaKeyProtocolVersion])
		switch {
		case !ok:
			return missingMeta(sdk.MetaKeyProtocolVersion)
		case inBody != version:
			return mismatch("MCP-Protocol-Version")
		}
	}
	if h.Get(methodHeader) != m.method {
		return mismatch("Mcp-Method")
	}
	if m.method == methodCall {
		if name, ok := text(p.members["name"]); !ok || name == "" || h.Get(nameHeader) != name {
			return mismatch("Mcp-Name")
		}
	}
	if m.id == nil {
		return nil
	}
	if info, given := p.meta[sdk.MetaKeyClientInfo]; given && info.Kind() != '{' {
		return missingMeta(sdk.MetaKeyClientInfo)
	}
	if p.meta[sdk.MetaKeyClientCapabilities].Kind() != '{' {
		return missingMeta(sdk.MetaKeyClientCapabilities)
	}
	if spoken := sdk.SupportedProtocolVersions(); !slices.Contains(spoken, version) {
		return unsupportedVersion("this revision is not spoken here", spoken, version)
	}
	return nil
}

func missingMeta(key string) *problem {
	return &problem{code: codeParams, message: "_meta lacks a valid " + key}
}

func mismatch(header string) *problem {
	return &problem{code: codeHeaderMismatch, message: "the header " + header + " does not say what the body says"}
}

func unsupportedVersion(text string, spoken []string, requested string) *problem {
	data, _ := strictjson.Encode(sdk.UnsupportedProtocolVersionData{Supported: spoken, Requested: requested})
	return &problem{code: codeVersion, message: text, data: data}
}
