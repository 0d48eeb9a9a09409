// Package adminwire is the wire between the owner's own tools and the running
// host: POST /v1/<method> with one strict JSON object in and one out, over a
// Unix socket that only the host's own user may open (faces page, section 1).
//
// Ids and digests are text, times RFC 3339 in UTC; a time that has not come is
// left out. The package holds structs and one table of methods, no logic; it
// does not promise that a struct holds a well-formed message. Within v1 a reply
// may gain members; a request may not without a new method.
package adminwire

import "time"

// Method is one row of the table, with the types of its messages.
type Method[Req, Rep any] struct {
	Name    string
	Changes bool // whether it may change what is stored or execute something
}

// Path is the method's place on the wire.
func (m Method[Req, Rep]) Path() string { return Prefix + m.Name }

// Prefix is the path that every method's name follows.
const Prefix = "/v1/"

// The methods.
var (
	HostStatus       = Method[Empty, Status]{"status", false}
	HostVersion      = Method[Empty, Version]{"version", false}
	AppsList         = Method[Empty, Apps]{"apps.list", false}
	AppsAdd          = Method[AddApp, AddedApp]{"apps.add", true}
	AppsRotate       = Method[RotateApp, AddedApp]{"apps.rotate", true} // new tokens; all others of the app end in the same commit
	AppsDisconnect   = Method[AppRef, Empty]{"apps.disconnect", true}
	ResourcesList    = Method[Empty, Resources]{"resources.list", false}
	ResourcesShow    = Method[ResourceRef, Review]{"resources.show", false}
	ReviewApprove    = Method[Approve, Approved]{"review.approve", true}
	ReviewReaffirm   = Method[Reaffirm, Reaffirmed]{"review.reaffirm", true} // for methods of which nothing but words has changed
	ReviewDefer      = Method[Defer, Empty]{"review.defer", true}            // remembers a no or a later; changes nobody's authority
	GrantsList       = Method[ListGrants, Grants]{"grants.list", false}
	GrantsAdd        = Method[AddGrants, Grants]{"grants.add", true}
	GrantsRevoke     = Method[RevokeGrants, Revoked]{"grants.revoke", true}
	ConfirmList      = Method[ListConfirmations, Confirmations]{"confirm.list", false}
	ConfirmApprove   = Method[ConfirmationRef, Confirmation]{"confirm.approve", true}
	ConfirmDeny      = Method[ConfirmationRef, Confirmation]{"confirm.deny", true}
	JournalList      = Method[ListJournal, Journal]{"journal.list", false}
	JournalShow      = Method[JournalRef, Invocation]{"journal.show", false}
	JournalReconcile = Method[Reconcile, Invocation]{"journal.reconcile", true}
	JournalDenied    = Method[ListDenied, Denied]{"journal.denied", false}
	JournalVerify    = Method[Empty, Verification]{"journal.verify", false}
	CallMethod       = Method[Call, Answer]{"call", true}
	ImportPlan       = Method[Import, Plan]{"import.plan", false}
	ImportAdd        = Method[Import, Imported]{"import.add", true}
	ImportRefresh    = Method[ServerRef, Review]{"import.refresh", true}
	ImportExport     = Method[Empty, Exported]{"import.export", false}
	CapsulesList     = Method[Empty, Capsules]{"capsules.list", false}
	CapsulesInstall  = Method[InstallCapsule, Capsule]{"capsules.install", true}
	CapsulesLogs     = Method[CapsuleRef, CapsuleLog]{"capsules.logs", false}
	CapsulesReads    = Method[ListReads, Readings]{"capsules.reads", false}
	CapsulesRemove   = Method[CapsuleRef, Empty]{"capsules.remove", true} // its resource goes with it; grants stay as evidence and allow nothing
	ImportRemove     = Method[ServerRef, Empty]{"import.remove", true}    // its resource goes with it; grants stay as evidence and allow nothing
)

// Row is a method without the types of its messages; Request and Reply are zero
// values of them.
type Row struct {
	Name           string
	Changes        bool
	Request, Reply any
}

func (m Method[Req, Rep]) row() Row {
	var req Req
	var rep Rep
	return Row{m.Name, m.Changes, req, rep}
}

// Rows lists the table. The caller owns the slice.
func Rows() []Row {
	return []Row{
		HostStatus.row(), HostVersion.row(), AppsList.row(), AppsAdd.row(), AppsRotate.row(), AppsDisconnect.row(), ResourcesList.row(),
		ResourcesShow.row(), ReviewApprove.row(), ReviewReaffirm.row(), ReviewDefer.row(), GrantsList.row(), GrantsAdd.row(), GrantsRevoke.row(), ConfirmList.row(),
		ConfirmApprove.row(), ConfirmDeny.row(), JournalList.row(), JournalShow.row(), JournalReconcile.row(),
		JournalDenied.row(), JournalVerify.row(), CallMethod.row(), ImportPlan.row(), ImportAdd.row(), ImportRefresh.row(),
		ImportExport.row(), ImportRemove.row(),
		CapsulesList.row(), CapsulesInstall.row(), CapsulesLogs.row(), CapsulesReads.row(), CapsulesRemove.row(),
		ResourcesAuthorize.row(), ResourcesAuthorized.row(),
	}
}

// Failure is the body of every reply whose HTTP status is not 200. The status is
// that of the code's row.
type Failure struct {
	Error Error `json:"error"`
}

// Error is one refusal or failure. Details may hold "fix", a command that helps.
type Error struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Retry   string         `json:"retry"` // never, same_tx, new_tx or after_reconcile
	Details map[string]any `json:"details,omitzero"`
}

// Empty is the message {}.
type Empty struct{}

// Version says what the host was built from.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	Wire    int    `json:"wire"` // 1
}

// Status is the host at a glance. Count is of the one owner.
type Status struct {
	Version   string    `json:"version"`
	Owner     string    `json:"owner"`
	Node      string    `json:"node"`
	Epoch     int64     `json:"epoch"`
	StartedAt time.Time `json:"started_at"`
	Data      string    `json:"data"`             // folder
	Listen    []string  `json:"listen"`           // base URLs of the HTTP doors
	Store     string    `json:"store"`            // ok, or why nothing is accepted any more
	Metrics   string    `json:"metrics,omitzero"` // where they are served, if they are
	Restored  time.Time `json:"restored_at,omitzero"`
	Alarms    []Alarm   `json:"alarms,omitzero"` // the gravest first
	Ceiling   Ceiling   `json:"ceiling,omitzero"`

	// What the host may reach beside public addresses: each an origin and a network,
	// joined by =. None of them is conforming.
	Exceptions []string `json:"exceptions,omitzero"`

	Count Count `json:"count"`
}

// Alarm is a fact that should not wait until somebody looks for it. Kinds stay.
type Alarm struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Fix  string `json:"fix"`
}

// Count is what an owner has, and what waits for the owner.
type Count struct {
	Apps          int  `json:"apps"` // connected
	Resources     int  `json:"resources"`
	Grants        int  `json:"grants"`        // live rows
	Confirmations int  `json:"confirmations"` // open
	Review        int  `json:"review"`        // methods that wait for a first or a new yes, and were not declined
	Indeterminate int  `json:"indeterminate"` // calls in doubt, at most a page of them
	More          bool `json:"more"`          // there are more calls in doubt than that
	Down          int  `json:"down,omitzero"` // upstreams that somebody asked for and that do not run
}
