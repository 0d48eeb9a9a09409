// Package view holds what the owner is shown: rows of the pool joined with the
// names that a person knows them by. Views are plain values that the store
// fills and the faces print; nothing decides on them.
package view

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// App is a client with the numbers of its live grant rows and of its tokens that are
// good now.
type App struct {
	Client    id.Client
	Name      string
	Kind      authority.ClientKind
	Connected bool
	CreatedAt time.Time
	Grants    int
	Tokens    int
}

// NewApp is a client to add, with the hashes of its first tokens.
type NewApp struct {
	Client id.Client
	Name   string
	Tokens []NewToken
}

// NewToken is the stored form of a token; a zero expiry means none.
type NewToken struct {
	Hash      secret.Hash
	Audience  authority.Audience
	ExpiresAt time.Time
}

// AdapterState says whether the owner uses an upstream entry.
type AdapterState string

// The states of an upstream entry. Removed is terminal.
const (
	Enabled  AdapterState = "enabled"
	Disabled AdapterState = "disabled"
	Removed  AdapterState = "removed"
)

// AdapterKind says what executes the methods of an entry.
type AdapterKind string

// The kinds of entries. One in a capsule is a capsule's tools, and nobody imports it:
// it comes and goes with the capsule.
const (
	OverStdio AdapterKind = "mcp-stdio" // a local MCP server
	OverHTTP  AdapterKind = "mcp-http"  // an MCP server at a URL
	InCapsule AdapterKind = "capsule"
)

// Adapter is a configured upstream entry and the resource that it serves.
// Configuration is the importer's own JSON.
type Adapter struct {
	Owner         id.Owner
	ID            id.Adapter
	Name          string
	Kind          AdapterKind
	Configuration []byte
	Server        string // as the upstream calls itself
	Protocol      string // revision that was negotiated at the last listing
	State         AdapterState
	ListedAt      time.Time
	Resource      id.Resource
}

// ConnectionState is where a host's own connection to an upstream stands.
type ConnectionState string

// The states of a connection.
const (
	ConnectionIdle     ConnectionState = "idle"     // nobody has asked for it yet, or it was closed
	ConnectionStarting ConnectionState = "starting" // its first answer is awaited
	ConnectionReady    ConnectionState = "ready"    // calls can be made
	ConnectionFailed   ConnectionState = "failed"   // it did not start, or ended by itself
)

// ConnectionStates lists them. The caller owns the slice.
func ConnectionStates() []ConnectionState {
	return []ConnectionState{ConnectionIdle, ConnectionStarting, ConnectionReady, ConnectionFailed}
}

// Connection is how a host's own connection to an upstream stands now. It is not
// stored: another process has another one. Reason holds the upstream's last words
// where it failed; they are for the owner's eyes.
type Connection struct {
	State    ConnectionState
	Reason   string
	PID      int      // zero unless ready, and of a remote server
	Origin   string   // of a remote server: scheme, host and port; else empty
	Issuer   string   // of steward's own credential there, else empty
	Wants    []string // scopes without which the server refuses some calls
	Exempt   string   // the exception to the egress policy that lets it out, else empty
	Restarts int
}

// Resource is a resource with its methods and, for an imported one, its entry.
type Resource struct {
	Row      resource.Row
	Adapter  Adapter
	Methods  []resource.Kept
	Deferred []Deferral
}

// Deferral is what the owner said to a proposal without approving it. It holds for
// the method as it was defined then.
type Deferral struct {
	Contract, Method string
	Pin              grant.Pin
	Say              Say
	At               time.Time
}

// Say is an answer to a proposal that turns nothing on.
type Say string

// The answers. A method that the owner said no to waits for nobody until its
// definition changes. Yes is that of a sitting which ended before the last yes to the
// whole: it approves nothing, and is not asked again before that one.
const (
	No    Say = "no"
	Later Say = "later"
	Yes   Say = "yes"
)

// Deferral is what the owner said to a method as it is defined now; false where
// nothing was said to it.
func (r Resource) Deferral(m resource.Method) (Deferral, bool) {
	for _, d := range r.Deferred {
		if d.Contract == m.Contract && d.Method == m.Definition.ID && d.Pin == m.Pin() {
			return d, true
		}
	}
	return Deferral{}, false
}

// Listing is what one fresh listing changed.
type Listing struct {
	Resource id.Resource
	Methods  []resource.Kept
	Changed  []string
}

// Denial is an attempt that was refused before the journal saw it, or a count of
// equal ones. An empty app is nobody who is known.
type Denial struct {
	At      time.Time
	Client  id.Client
	App     string
	Subject string // the tx or the question that it was about, if any
	Code    string
	// The resource and the method that were named, as far as the owner has such.
	Method     string
	ResourceID string
	Resource   string // label; empty where there is no such resource
	Offered    bool   // it has such a method
	Count      int64
}

// Reading is one read of a resource's contents, or several equal ones of one minute,
// as the trail has them. Resource is empty where the app was told that there is none.
type Reading struct {
	At       time.Time
	Client   id.Client
	App      string
	Resource string // label
	Outcome  string // ok, or a code
	Count    int64
}

// Grant is a row with its derived state and its tool name on the MCP face.
type Grant struct {
	Row      grant.Row
	State    grant.State
	App      string
	Resource string
	Title    string
	Tool     string
	Replaces id.Grant // the row that it took the place of, where it was just added
	Today    int64    // calls of the current day, where the row has a budget of a day
}

// Callable is one method that a caller may call now.
type Callable struct {
	Target   invocation.Target
	Tool     string
	Method   contract.Method
	Resource string // label
}

// Readable is a capsule whose resources a caller may read now.
type Readable struct {
	Resource id.Resource
	Capsule  string // name
}

// Confirmation is a question to the owner.
type Confirmation struct {
	Row      confirmation.Row
	App      string
	Resource string
}

// Invocation is a journal row with names.
type Invocation struct {
	Row      invocation.Row
	App      string
	Resource string

	// Args is what was sent, in canonical form, of a call without an outcome or in
	// doubt; nil of every other, and of one that a restore put in doubt after it was
	// over.
	Args []byte

	Confirmation id.Confirmation // the owner's yes that it used, or zero
	ConfirmedAt  time.Time

	LateAt time.Time // when a late answer said that it happened, against what the owner had said; zero for never
}

// JournalFilter selects journal rows, newest first. Before is the cursor that
// the page before gave; a zero Limit is the largest page.
type JournalFilter struct {
	State  invocation.State
	Client id.Client
	Before string
	Limit  int
}

// Verification is what a check of the whole trail found. Break is nil and
// Mismatches is empty where everything holds.
type Verification struct {
	Rows        int64
	Invocations int64
	Last        digest.Digest
	Break       *audit.Break
	Mismatches  []string // what differs from its audit row, or is not found where it should be: ids and words
}

// Swept counts what a sweep took out of the store.
type Swept struct {
	Results   int // of calls
	Calls     int // whole rows
	Arguments int // of questions that are over
	Questions int // whole rows
	Consents  int // records on which nothing rests any more
	Days      int // of budgets
	Deferrals int // of proposals that are no longer made
}

// Recovery counts the rows of dead processes that were classified at start.
type Recovery struct {
	NotDispatched int
	Indeterminate int
}

// Installation is a capsule that the owner installed. Record is the words of what runs
// it; one that is off does not run until it is installed again.
type Installation struct {
	Name   string
	Record []byte
	Off    bool
}

// Restored counts what a store that was restored from a copy does not allow any more.
type Restored struct {
	At          time.Time
	Tokens      int64 // revoked
	Grants      int64 // need the owner's new consent
	Methods     int64 // of imported servers; need a new approval
	Entries     int64 // imported servers, switched off
	Credentials int64 // steward's own at other servers, forgotten
	Questions   int64 // open or approved confirmations, denied
	Calls       int   // in doubt, because the copy did not have their last word

	Capsules []Installation // switched off
}

// Seed is a resource that the host itself puts into a pool: a built-in, which
// every owner has, or an installed capsule.
type Seed struct {
	Kind     resource.Kind
	Label    string
	Alias    string
	Document contract.Document
}
