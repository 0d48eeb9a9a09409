// Package sessions is the session daemon's coordinator: what happens to sessions,
// registries, executors, calls and turns over time (sessions page; guide).
//
// The rules are those of domain/sessions. The package keeps their state behind
// one inbox: one goroutine takes one message at a time, looks at the clock, lets
// everything expire whose instant has come, and only then decides. Slow work
// (capturing, the durable stream, a turn) runs outside and comes back as a
// message, which is checked anew.
package sessions
