package topic

import (
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// reserved are first segments that mean something to the host. A pattern that
// reaches one of them must be among those that are listed below, so that no wide
// pattern takes in what belongs to the broker or to another source.
var reserved = []string{"resource", "tool", "astrid", "_ctl"}

var (
	answers  = []string{DescribeResponse + ".*", ReadResponse + ".*", ToolsResponse + ".*", Executed + ".*"}
	requests = []string{DescribeRequest, ReadRequest, "resource.v1.request.*", ToolsRequest, Execute + ".*"}
)

// Claim is what a manifest asks for.
type Claim struct{ Publish, Subscribe []Pattern }

// ParseClaim reads the topics of a manifest. The fault names the pattern.
func ParseClaim(publish, subscribe []string) (Claim, error) {
	if err := bound.CapsulePatterns.Check(len(publish) + len(subscribe)); err != nil {
		return Claim{}, err
	}
	var c Claim
	for _, list := range []struct {
		texts   []string
		into    *[]Pattern
		allowed []string
		what    string
	}{{publish, &c.Publish, answers, "published"}, {subscribe, &c.Subscribe, requests, "subscribed to"}} {
		for _, text := range list.texts {
			p, err := ParsePattern(text)
			if err != nil {
				return Claim{}, fault.Newf(fault.InvalidRequest, "%q is no topic: %s", text, fault.From(err).Text)
			}
			if p.reaches(reserved) && !slices.Contains(list.allowed, text) {
				return Claim{}, fault.Newf(fault.CapabilityDenied, "%q cannot be %s; of the topics of the host, these can: %s",
					text, list.what, strings.Join(list.allowed, ", "))
			}
			*list.into = append(*list.into, p)
		}
	}
	return c, nil
}

// Serves reports whether the claim takes requests of a topic, such as
// DescribeRequest.
func (c Claim) Serves(name string) bool {
	t, err := Parse(name)
	return err == nil && slices.ContainsFunc(c.Subscribe, func(p Pattern) bool { return p.Matches(t) })
}

func (p Pattern) reaches(roots []string) bool {
	first, _, _ := strings.Cut(p.text, ".")
	return first == wild || slices.Contains(roots, first)
}

// Filter is a set of subjects, in the server's own notation.
type Filter struct{ text string }

// String is what a server takes as a permission or a subscription.
func (f Filter) String() string { return f.text }

// Matches reports whether a subject is in the set.
func (f Filter) Matches(s Subject) bool {
	return matches(strings.Split(f.text, "."), strings.Split(s.String(), "."))
}

// Covers reports whether every subject of the other set is in this one.
func (f Filter) Covers(other Filter) bool {
	wide, narrow := strings.Split(f.text, "."), strings.Split(other.text, ".")
	for i, w := range wide {
		if w == rest {
			return i < len(narrow)
		}
		if i >= len(narrow) || narrow[i] == rest || w != wild && w != narrow[i] {
			return false
		}
	}
	return len(wide) == len(narrow)
}

// Rights are all that one connection may do.
type Rights struct{ Publish, Subscribe []Filter }

// RuntimeRights are those of one capsule that runs for one principal: it
// publishes as itself, its answers to describe under its own id only, and it
// takes the host's requests from the broker alone (bus page, section 3).
func RuntimeRights(p Principal, s Source, c Claim) Rights {
	var r Rights
	for _, pattern := range c.Publish {
		switch pattern.text {
		case DescribeResponse + ".*":
			r.Publish = append(r.Publish, filter(p.token, s.token, DescribeResponse, s.token))
		case ToolsResponse + ".*":
			r.Publish = append(r.Publish, filter(p.token, s.token, ToolsResponse, s.token))
		case ReadResponse + ".*", Executed + ".*": // exactly one segment, the correlation
			r.Publish = append(r.Publish, filter(append([]string{p.token, s.token}, pattern.one()...)...))
		default:
			r.Publish = append(r.Publish, filter(append([]string{p.token, s.token}, pattern.tail()...)...))
		}
	}
	for _, pattern := range c.Subscribe {
		switch pattern.text { // what goes to one capsule is heard by no other
		case ToolsRequest:
			r.Subscribe = append(r.Subscribe, filter(p.token, brokerToken, ToolsRequest, s.token))
			continue
		case Execute + ".*":
			r.Subscribe = append(r.Subscribe, filter(p.token, brokerToken, Execute, s.token, wild))
			continue
		}
		from := wild
		if pattern.reaches(reserved) {
			from = brokerToken
		}
		r.Subscribe = append(r.Subscribe, filter(append([]string{p.token, from}, pattern.tail()...)...))
	}
	r.Subscribe = append(r.Subscribe, filter(p.token, brokerToken, Cancel, rest))
	return r
}

// BrokerRights are those of the host's broker while it works for one principal: it
// asks in that principal's name and reads the answers, and it does nothing else.
func BrokerRights(p Principal) Rights {
	return Rights{
		Publish: []Filter{filter(p.token, brokerToken, "resource.v1.request", rest), filter(p.token, brokerToken, Cancel, rest),
			filter(p.token, brokerToken, ToolsRequest, wild), filter(p.token, brokerToken, Execute, wild, wild)},
		Subscribe: []Filter{Answers(p), ToolAnswers(p)},
	}
}

// Answers are the answers to one principal's requests: what the broker
// subscribes to while that principal is active.
func Answers(p Principal) Filter { return filter(p.token, wild, "resource.v1.response", rest) }

// ToolAnswers are those about tools.
func ToolAnswers(p Principal) Filter { return filter(p.token, wild, "tool.v1.response", rest) }

// CheckPublish is the fault of publishing without the right to, or nil.
func (r Rights) CheckPublish(s Subject) error {
	if slices.ContainsFunc(r.Publish, func(f Filter) bool { return f.Matches(s) }) {
		return nil
	}
	return fault.Newf(fault.CapabilityDenied, "this source may not publish %s", s.Topic)
}

// CheckSubscribe is the fault of subscribing without the right to, or nil.
func (r Rights) CheckSubscribe(want Filter) error {
	if slices.ContainsFunc(r.Subscribe, func(f Filter) bool { return f.Covers(want) }) {
		return nil
	}
	return fault.New(fault.CapabilityDenied, "this source may not subscribe to that")
}

func filter(parts ...string) Filter { return Filter{root + "." + strings.Join(parts, ".")} }

// matches compares the tokens of a set with those of a subject.
func matches(set, subject []string) bool {
	for i, s := range set {
		if s == rest {
			return i < len(subject)
		}
		if i >= len(subject) || s != wild && s != subject[i] {
			return false
		}
	}
	return len(set) == len(subject)
}
