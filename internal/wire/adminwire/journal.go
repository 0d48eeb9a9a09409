package adminwire

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// ListJournal selects calls, newest first. An empty member selects nothing by
// it; Before is the Next of the page before, and a Limit of 0 is the largest
// page.
type ListJournal struct {
	State  string `json:"state,omitzero"`
	App    string `json:"app,omitzero"` // as in AppRef
	Before string `json:"before,omitzero"`
	Limit  int    `json:"limit,omitzero"`
}

// Journal is one page. Next is empty on the last one.
type Journal struct {
	Invocations []Invocation `json:"invocations"`
	Next        string       `json:"next"`
}

// ListDenied asks for the newest attempts that were refused before the journal saw
// them; a Limit of 0 is the largest page.
type ListDenied struct {
	Limit int `json:"limit,omitzero"`
}

// Denied lists refused attempts, newest first.
type Denied struct {
	Denied []Denial `json:"denied"`
}

// Denial is one of them, or several equal ones of one minute. Subject is the
// tx or the question that it was about, if any; App is empty for nobody who is known.
type Denial struct {
	At      time.Time `json:"at"`
	App     string    `json:"app"`
	AppID   string    `json:"app_id"`
	Subject string    `json:"subject"`
	Code    string    `json:"code"`
	Reason  string    `json:"reason"` // what the code means

	// What was named, as far as there is such a resource and method.
	Resource   string `json:"resource,omitzero"`
	ResourceID string `json:"resource_id,omitzero"`
	Method     string `json:"method,omitzero"`
	Offered    bool   `json:"offered,omitzero"` // there is such a method
	Count      int64  `json:"count"`
}

// JournalRef names a call by its id or its tx.
type JournalRef struct {
	Invocation string `json:"invocation"`
}

// Invocation is one journalled call. A list leaves out result, arguments and
// confirmation.
type Invocation struct {
	ID           string         `json:"id"`
	Tx           string         `json:"tx"`
	App          string         `json:"app"`
	AppID        string         `json:"app_id"`
	Resource     string         `json:"resource"`
	ResourceID   string         `json:"resource_id"`
	Contract     string         `json:"contract"`
	Method       string         `json:"method"`
	Classes      []string       `json:"classes"` // effect classes as approved
	Grant        string         `json:"grant"`   // empty for the owner's own calls
	Revision     string         `json:"revision"`
	State        string         `json:"state"`
	Code         string         `json:"code"` // of a failure, else empty
	Message      string         `json:"message"`
	Reason       string         `json:"reason"`
	Effects      string         `json:"effects"`
	Detail       string         `json:"detail"`        // what the adapter saw; may hold an upstream's words
	Args         strictjson.Raw `json:"args,omitzero"` // what was sent; only while nobody knows how the call ended
	Result       strictjson.Raw `json:"result,omitzero"`
	Version      string         `json:"version"`
	Attempt      int64          `json:"attempt"`
	Node         string         `json:"node"`
	Epoch        int64          `json:"epoch"`
	Confirmation string         `json:"confirmation,omitzero"` // the owner's yes to exactly this call, if it needed one
	ConfirmedAt  time.Time      `json:"confirmed_at,omitzero"`
	ReservedAt   time.Time      `json:"reserved_at"`
	DispatchedAt time.Time      `json:"dispatched_at,omitzero"`
	DeadlineAt   time.Time      `json:"deadline_at,omitzero"`
	SettledAt    time.Time      `json:"settled_at,omitzero"`
	LateAt       time.Time      `json:"late_at,omitzero"` // when an answer came that says it happened, though the owner had ended the doubt otherwise
	ReconciledBy string         `json:"reconciled_by,omitzero"`
	ReconciledAt time.Time      `json:"reconciled_at,omitzero"`
}

// Reconcile ends a doubt by what the owner found out.
type Reconcile struct {
	Invocation string `json:"invocation"` // as in JournalRef
	Statement  string `json:"statement"`  // happened, did-not or give-up
}

// Verification is what a check of the whole trail found; it holds where there is
// no break and no mismatch.
type Verification struct {
	Holds       bool     `json:"holds"`
	Rows        int64    `json:"rows"`
	Invocations int64    `json:"invocations"`
	Last        string   `json:"last"` // hash of the last row
	Break       *Break   `json:"break,omitzero"`
	Mismatches  []string `json:"mismatches"` // what differs from what the trail says of it
}

// Break is the first row at which the trail does not hold.
type Break struct {
	Node  string `json:"node"`
	Epoch int64  `json:"epoch"`
	Seq   int64  `json:"seq"`
	What  string `json:"what"`
}

// Call executes a method as the owner's own client. An empty contract is the one
// that holds the resource's method of that name. The host mints a Tx that is left
// out; the sender hears of it with the answer alone, and cannot send the call again
// before. After a restore it is the only one that is let in at once.
type Call struct {
	Tx         string         `json:"tx,omitzero"` // minted by the sender, who may send the same call again
	Resource   string         `json:"resource"`    // as in ResourceRef
	Contract   string         `json:"contract,omitzero"`
	Digest     string         `json:"contract_digest,omitzero"`
	Method     string         `json:"method"`
	Args       strictjson.Raw `json:"args,omitzero"` // {} if left out
	If         strictjson.Raw `json:"if,omitzero"`
	DeadlineMS int64          `json:"deadline_ms,omitzero"`
	Ack        string         `json:"ack,omitzero"`
}

// Answer is what is durably known of the call. It comes with HTTP status 200
// whatever it says.
type Answer struct {
	Tx         string         `json:"tx"`
	Invocation string         `json:"invocation"` // empty where nothing was journalled
	Status     string         `json:"status"`     // ok, error or indeterminate
	Result     strictjson.Raw `json:"result,omitzero"`
	Error      *Error         `json:"error,omitzero"`
	Effects    string         `json:"effects"`
	Replayed   bool           `json:"replayed"`
	Revision   string         `json:"revision"`
	Version    string         `json:"version,omitzero"`
	MS         int64          `json:"ms"`
	Reconciled *Reconciled    `json:"reconciled,omitzero"` // of an ok that ended a doubt
}

// Reconciled says how a doubt ended.
type Reconciled struct {
	By string    `json:"by"` // owner or late_answer
	At time.Time `json:"at"`
}
