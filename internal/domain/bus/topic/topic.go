// Package topic names what goes over the bus: a topic, the patterns by which a
// capsule's manifest speaks of topics, and the subject, which is a topic with
// the principal and the source in front of it.
//
//	b.<principal>.<source>.<topic segments…>
//
// The subject is the envelope (bus page, section 3): host adapters write
// principal and source, and nothing in a payload is ever read as either. Rights
// say what one runtime may publish and subscribe to; adapters give them to the
// server and also ask them here first, so that a denial is a typed fault. The
// two agree: a test holds random topics and patterns against a real server.
//
// Everything is a value; nothing here is mutable.
package topic

import (
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// The topics of the contract (bus page, section 2).
const (
	DescribeRequest  = "resource.v1.request.describe"
	ReadRequest      = "resource.v1.request.read"
	DescribeResponse = "resource.v1.response.describe" // and the source
	ReadResponse     = "resource.v1.response.read"     // and the correlation
	Cancel           = "_ctl.cancel"                   // and the correlation; between adapters only
)

// The topics of tools. A question about a tool goes to one capsule: between
// adapters its source stands before the last part, and no other capsule can hear
// it; the capsule sees the topic without it.
const (
	ToolsRequest  = "tool.v1.request.describe"  // and the target
	ToolsResponse = "tool.v1.response.describe" // and the source
	Execute       = "tool.v1.execute"           // and the target, and the tool's name
	Executed      = "tool.v1.response.execute"  // and the id of the call
)

// ToTools is the topic under which a capsule is asked for its tools.
func ToTools(target Source) (Topic, error) { return Under(ToolsRequest, target.token) }

// ToExecute is the topic under which a capsule is told to execute one.
func ToExecute(target Source, tool string) (Topic, error) {
	if err := checkSegment(tool); err != nil {
		return Topic{}, err
	}
	return Under(Execute+"."+target.token, tool)
}

// Inside is a topic of the broker's as the capsule that it goes to knows it, false
// if it goes to another one.
func (t Topic) Inside(s Source) (Topic, bool) {
	if target, ok := t.After(ToolsRequest); ok {
		return Topic{ToolsRequest}, target == s.token
	}
	if rest, ok := strings.CutPrefix(t.text, Execute+"."); ok {
		target, tool, _ := strings.Cut(rest, ".")
		return Topic{Execute + "." + tool}, target == s.token && tool != ""
	}
	return t, true
}

// wild stands for one segment, at the end of a pattern for one or more.
const wild = "*"

// Topic is a checked name. The zero value is no topic.
type Topic struct{ text string }

// Parse reads a topic: at most 8 segments of [a-z0-9_-]{1,64}, joined by points,
// at most 256 bytes.
func Parse(text string) (Topic, error) {
	if err := checkSegments(text, false); err != nil {
		return Topic{}, err
	}
	return Topic{text}, nil
}

// Under joins a name of the contract and one more segment.
func Under(name, segment string) (Topic, error) { return Parse(name + "." + segment) }

// String is the topic as it stands in a manifest.
func (t Topic) String() string { return t.text }

// After gives the one segment that follows name.
func (t Topic) After(name string) (string, bool) {
	rest, ok := strings.CutPrefix(t.text, name+".")
	return rest, ok && !strings.Contains(rest, ".")
}

// Pattern is a topic in which a segment may be "*": one segment in the middle,
// one or more at the end. The zero value matches nothing.
type Pattern struct{ text string }

// ParsePattern reads a pattern of a manifest.
func ParsePattern(text string) (Pattern, error) {
	if err := checkSegments(text, true); err != nil {
		return Pattern{}, err
	}
	return Pattern{text}, nil
}

// String is the pattern as it stands in a manifest.
func (p Pattern) String() string { return p.text }

// Matches reports whether a topic is among those that the pattern means.
func (p Pattern) Matches(t Topic) bool {
	return p.text != "" && t.text != "" && matches(p.tail(), strings.Split(t.text, "."))
}

// tail gives the segments, a star at the end as the rest token of the server.
func (p Pattern) tail() []string {
	segments := strings.Split(p.text, ".")
	if last := len(segments) - 1; segments[last] == wild {
		segments[last] = rest
	}
	return segments
}

// one gives the segments, a star at the end for exactly one.
func (p Pattern) one() []string { return strings.Split(p.text, ".") }

func checkSegments(text string, wildcards bool) error {
	if err := bound.TopicBytes.Check(len(text)); err != nil {
		return err
	}
	segments := strings.Split(text, ".")
	if err := bound.TopicSegments.Check(len(segments)); err != nil {
		return err
	}
	for _, s := range segments {
		if wildcards && s == wild {
			continue
		}
		if err := checkSegment(s); err != nil {
			return err
		}
	}
	return nil
}

func checkSegment(s string) error {
	if err := bound.TopicSegmentBytes.Check(len(s)); err != nil {
		return err
	}
	if s == "" {
		return fault.New(fault.InvalidRequest, "a topic has no empty segment")
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return fault.New(fault.InvalidRequest, "a segment of a topic is of a-z, 0-9, _ and -")
		}
	}
	return nil
}
