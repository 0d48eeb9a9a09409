// Package link gives the resources of imported servers addresses of the host's own,
// so that an app can read back what a tool's result pointed to (decision 0007).
//
//	steward://link/<resource>/<tag>/<the server's own URI, escaped>
//
// An address names the server by the resource that stands for it, so that two
// servers which use one URI have two addresses. Its tag is a keyed hash over owner,
// app, resource and URI: an address counts for the app that it was made for and for
// nobody else, nobody but the host can make one, and nothing has to be remembered.
// It grants nothing; whether the app may read now is asked when it reads.
//
// In a result nothing changes but the URI itself: every other byte stays. What a
// client can fetch on its own (http, https) keeps its URI, as does whatever is over
// bound.ResourceURIBytes, and what comes after bound.ResultLinks of them. Everything
// here is a pure function.
package link

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const (
	prefix   = "steward://link/"
	tagBytes = 16
)

// Key is what tags are made with. It is secret, and stays the same for a store.
type Key [32]byte

// Reader is the app that an address is for.
type Reader struct {
	Owner  id.Owner
	Client id.Client
}

// Is reports whether a URI has the form of an address of the host's own; no server
// and no capsule is asked for one.
func Is(uri string) bool { return strings.HasPrefix(uri, prefix) }

// Address gives the URI under which a reader can read a server's URI; the URI itself
// where it is none that is mapped.
func (k Key) Address(r Reader, which id.Resource, uri string) string {
	if !isMapped(uri) {
		return uri
	}
	return prefix + which.String() + "/" + k.tag(r, which, uri) + "/" + url.PathEscape(uri)
}

func isMapped(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	web := strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
	return uri != "" && !web && bound.ResourceURIBytes.Check(len(uri)) == nil
}

func (k Key) tag(r Reader, which id.Resource, uri string) string {
	sum := digest.Join(r.Owner.String(), r.Client.String(), which.String(), uri).Sum(digest.Link)
	mac := hmac.New(sha256.New, k[:])
	_, _ = mac.Write([]byte(sum.String())) // it never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:tagBytes])
}

// Find gives what an address stands for; false for one that this reader was not
// given.
func (k Key) Find(r Reader, address string) (which id.Resource, uri string, ok bool) {
	rest, _ := strings.CutPrefix(address, prefix)
	parts := strings.SplitN(rest, "/", 3)
	if !Is(address) || len(parts) != 3 {
		return id.Resource{}, "", false
	}
	which, err := id.Parse[id.Resource](parts[0])
	if err != nil {
		return id.Resource{}, "", false
	}
	if uri, err = url.PathUnescape(parts[2]); err != nil {
		return id.Resource{}, "", false
	}
	if !hmac.Equal([]byte(address), []byte(k.Address(r, which, uri))) {
		return id.Resource{}, "", false
	}
	return which, uri, true
}

var contentLimits = strictjson.Limits{Bytes: bound.ResultBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes}

// Content puts addresses in the place of the URIs of links and of embedded resources
// in a tool's content, a JSON array that was checked before.
func (k Key) Content(r Reader, which id.Resource, content []byte) []byte {
	if !bytes.Contains(content, []byte("uri")) {
		return content
	}
	parts, err := strictjson.Parts(content, contentLimits)
	if err != nil {
		return content
	}
	var out []byte
	at := 0
	for n := 0; len(parts) > 0 && bound.ResultLinks.Check(n+1) == nil; parts = parts[1:] {
		from, to, uri := place(content, parts[0])
		address := k.Address(r, which, uri)
		if address == uri {
			continue
		}
		text, err := strictjson.Encode(address)
		if err != nil {
			continue // no text of ours is none
		}
		out = append(append(out, content[at:from]...), text...)
		at, n = to, n+1
	}
	if at == 0 {
		return content
	}
	return append(out, content[at:]...)
}

// place finds the URI of a content block, if it has one that can be read.
func place(content []byte, block strictjson.Part) (from, to int, uri string) {
	members := inside(content, block)
	kind, at := members["type"], members["uri"]
	switch text(content, kind) {
	case "resource_link":
	case "resource":
		at = inside(content, members["resource"])["uri"]
	default:
		return 0, 0, ""
	}
	return at.From, at.To, text(content, at)
}

// inside gives the members of an object by name; none for anything else.
func inside(content []byte, object strictjson.Part) map[string]strictjson.Part {
	out := map[string]strictjson.Part{}
	parts, err := strictjson.Parts(content[object.From:object.To], contentLimits)
	if err != nil {
		return out
	}
	for _, p := range parts {
		out[p.Name] = strictjson.Part{Name: p.Name, From: object.From + p.From, To: object.From + p.To}
	}
	return out
}

// text is a string that stands at a place, or nothing.
func text(content []byte, at strictjson.Part) string {
	v, err := strictjson.Parse(content[at.From:at.To], contentLimits)
	if err != nil || v.Kind != strictjson.String {
		return ""
	}
	return v.Text
}
