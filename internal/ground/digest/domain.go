package digest

// Domain says what a digest is of; it is hashed before the bytes. A domain ends
// in the version of the rule by which its bytes are made.
type Domain string

// The domains.
const (
	Contract     Domain = "stw contract v1"     // a contract document, canonical JSON
	Method       Domain = "stw method v1"       // one method of a contract, canonical JSON
	Binding      Domain = "stw binding v1"      // how one method is executed
	Descriptor   Domain = "stw descriptor v1"   // the executable part of a resource's descriptor
	Presentation Domain = "stw presentation v1" // what a resource is shown as; never pins a grant
	Request      Domain = "stw request v1"      // a whole call but for its tx: what one tx stands for
	Input        Domain = "stw input v1"        // what a confirmation and the repeat guard hold a call to
	Consent      Domain = "stw consent v1"      // what the owner was shown
	Definition   Domain = "stw definition v1"   // a tool as its upstream lists it, canonical JSON
	Rights       Domain = "stw rights v1"       // everything that says who may do what of an owner's
	Audit        Domain = "stw audit v1"        // one link of the audit chain
	Outcome      Domain = "stw outcome v1"      // everything that a settled journal row tells
	Result       Domain = "stw result v1"       // the result of a call, as it was recorded
	ToolName     Domain = "stw tool name v1"    // the suffix of a tool's name on the MCP face
	Link         Domain = "stw link v1"         // what the tag of a link to an upstream's resource is of
	Source       Domain = "stw source v1"       // tenant, name and publisher of a capsule, joined
	Build        Domain = "stw build v1"        // what a capsule runs, as it was installed
	Resources    Domain = "stw resources v1"    // what a principal's capsules serve, for telling a change
	Endpoint     Domain = "stw endpoint v1"     // the workspace and state root of a session daemon
)

var domains = []Domain{
	Contract, Method, Binding, Descriptor, Presentation, Request, Input, Consent, Definition, Rights, Audit,
	Outcome, Result, ToolName, Link, Source, Build, Resources, Endpoint,
}

// Domains returns every domain, in the order of the constants. The caller owns
// the slice.
func Domains() []Domain { return append([]Domain(nil), domains...) }
