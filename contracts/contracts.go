// Package contracts carries the contract documents that steward publishes, as
// files that anyone can read without Go. They are immutable: a changed meaning
// is a new version under a new URL. The package is data; it promises nothing
// but the bytes.
package contracts

import "embed"

// Pool holds the contracts of the pool's built-in resources, one JSON document
// a file.
//
//go:embed pool/*.json
var Pool embed.FS

// Bus holds the contract of capsules, as WIT.
//
//go:embed astrid-bus/resource.wit
var Bus string

// Capsule is the contract by which a capsule stands in the pool.
//
//go:embed astrid-bus/resource-v1.json
var Capsule []byte
