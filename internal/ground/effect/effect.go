// Package effect holds the two vocabularies of effects that every wing shares:
// the classes that a method may have, approved by the owner, and the outcome
// word that an answer carries about what really happened.
package effect

import (
	"strings"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// Class is one kind of effect that a method may have (pool page, section 3).
type Class string

// The effect classes, in the order in which they are shown.
const (
	Compute     Class = "compute"
	Read        Class = "read"
	Write       Class = "write"
	Delete      Class = "delete"
	Communicate Class = "communicate"
	Spend       Class = "spend"
)

var classes = []Class{Compute, Read, Write, Delete, Communicate, Spend}

// Set is a set of classes. The zero Set is empty, which means that nothing is
// known: an empty set denies (pool page, section 3; invariant I48).
type Set struct{ bits uint8 }

// SetOf returns the set of known classes; an unknown class is a fault.
func SetOf(cs ...Class) (Set, error) {
	var s Set
	for _, c := range cs {
		bit := bitOf(c)
		if bit == 0 {
			return Set{}, fault.Newf(fault.InvalidRequest, "unknown effect class; known are %s", known())
		}
		s.bits |= bit
	}
	return s, nil
}

// Parse reads a comma-separated list such as "read, write", as an owner types
// it: in any order, with spaces, and perhaps empty.
func Parse(text string) (Set, error) {
	var cs []Class
	for _, word := range strings.Split(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			cs = append(cs, Class(word))
		}
	}
	return SetOf(cs...)
}

// Has reports whether the class is in the set.
func (s Set) Has(c Class) bool { return s.bits&bitOf(c) != 0 }

// Empty reports whether no class is known.
func (s Set) Empty() bool { return s.bits == 0 }

// Classes lists the set in table order.
func (s Set) Classes() []Class {
	var out []Class
	for _, c := range classes {
		if s.Has(c) {
			out = append(out, c)
		}
	}
	return out
}

// String gives the form that Parse reads.
func (s Set) String() string {
	words := make([]string, 0, len(classes))
	for _, c := range s.Classes() {
		words = append(words, string(c))
	}
	return strings.Join(words, ",")
}

// MarshalText makes a set a plain string in JSON.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the strict reverse of MarshalText: a set has one spelling.
func (s *Set) UnmarshalText(text []byte) error {
	got, err := Parse(string(text))
	if err == nil && got.String() != string(text) {
		err = fault.Newf(fault.InvalidRequest, "these effects are written %q", got)
	}
	if err != nil {
		*s = Set{}
		return err
	}
	*s = got
	return nil
}

// NeedsConfirmation reports whether a call with these effects asks the owner
// afresh unless the grant says otherwise: communicate and spend do.
func (s Set) NeedsConfirmation() bool { return s.Has(Communicate) || s.Has(Spend) }

func bitOf(c Class) uint8 {
	for i, k := range classes {
		if k == c {
			return 1 << i
		}
	}
	return 0
}

func known() string {
	words := make([]string, len(classes))
	for i, c := range classes {
		words[i] = string(c)
	}
	return strings.Join(words, ", ")
}

// Outcome is the word about what happened that every answer carries.
type Outcome string

// The outcomes. None: the request could have no effect. NotDispatched: no byte
// went out. Reported: the executor answered. Uncertain: it may have happened.
const (
	None          Outcome = "none"
	NotDispatched Outcome = "not_dispatched"
	Reported      Outcome = "reported"
	Uncertain     Outcome = "uncertain"
)
