package id

type (
	ownerKind        struct{}
	clientKind       struct{}
	resourceKind     struct{}
	revisionKind     struct{}
	contributionKind struct{}
	adapterKind      struct{}
	assignmentKind   struct{}
	grantKind        struct{}
	consentKind      struct{}
	invocationKind   struct{}
	confirmationKind struct{}
	nodeKind         struct{}
	txKind           struct{}
	sourceKind       struct{}
	questionKind     struct{}
)

func (ownerKind) prefix() string        { return "own" }
func (clientKind) prefix() string       { return "cli" }
func (resourceKind) prefix() string     { return "res" }
func (revisionKind) prefix() string     { return "rev" }
func (contributionKind) prefix() string { return "cnt" }
func (adapterKind) prefix() string      { return "adp" }
func (assignmentKind) prefix() string   { return "asg" }
func (grantKind) prefix() string        { return "grn" }
func (consentKind) prefix() string      { return "cns" }
func (invocationKind) prefix() string   { return "inv" }
func (confirmationKind) prefix() string { return "cnf" }
func (nodeKind) prefix() string         { return "nod" }
func (txKind) prefix() string           { return "tx" }
func (sourceKind) prefix() string       { return "src" }
func (questionKind) prefix() string     { return "qst" }

// The kinds of identifiers.
type (
	Owner        = ID[ownerKind]        // whose pool it is
	Client       = ID[clientKind]       // an app: consumer, producer or both
	Resource     = ID[resourceKind]     // a thing in the pool
	Revision     = ID[revisionKind]     // one executable definition of a resource
	Contribution = ID[contributionKind] // a producer's proposal
	Adapter      = ID[adapterKind]      // a configured outside thing, such as an upstream
	Assignment   = ID[assignmentKind]   // the owner's choice of a resource for a client
	Grant        = ID[grantKind]        // one row of authority
	Consent      = ID[consentKind]      // what the owner was shown and said
	Invocation   = ID[invocationKind]   // one journal row
	Confirmation = ID[confirmationKind] // one fresh yes for one exact input
	Node         = ID[nodeKind]         // a host process's store of identity
	Tx           = ID[txKind]           // a client's name for one call
	Source       = ID[sourceKind]       // a capsule, whatever its build
	Question     = ID[questionKind]     // one round of describe, or one read
)
