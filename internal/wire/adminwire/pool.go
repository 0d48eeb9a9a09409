package adminwire

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Apps lists the owner's apps, disconnected ones too.
type Apps struct {
	Apps []App `json:"apps"`
}

// App is a client.
type App struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Kind      string    `json:"kind"` // app or owner
	Connected bool      `json:"connected"`
	CreatedAt time.Time `json:"created_at"`
	Grants    int       `json:"grants"` // live rows
	Tokens    int       `json:"tokens"` // that are good now; an app without one cannot call
}

// AppRef names an app by id or name.
type AppRef struct {
	App string `json:"app"`
}

// AddApp makes an app with a token for each door. Its tokens end at ExpiresAt,
// or never.
type AddApp struct {
	Name      string    `json:"name"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// RotateApp makes new tokens for an app, named by id or name, and revokes all that
// it has. They end at ExpiresAt, or never.
type RotateApp struct {
	App       string    `json:"app"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// AddedApp holds the tokens, which are told this once.
type AddedApp struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Tokens []Token `json:"tokens"`
}

// Token is a bearer secret for one door.
type Token struct {
	Audience string `json:"audience"` // rpc or mcp
	Token    string `json:"token"`
}

// ResourceRef names a resource by id, alias, label or the name of its entry.
type ResourceRef struct {
	Resource string `json:"resource"`
}

// Resources lists what is in the pool.
type Resources struct {
	Resources []Resource `json:"resources"`
}

// Resource is a resource without its methods.
type Resource struct {
	ID                 string         `json:"id"`
	Kind               string         `json:"kind"` // builtin or connection
	Label              string         `json:"label"`
	Alias              string         `json:"alias"` // such as @profile, else empty
	State              string         `json:"state"`
	Storage            string         `json:"storage"`
	Revision           string         `json:"revision"`
	DescriptorDigest   string         `json:"descriptor_digest"`
	PresentationDigest string         `json:"presentation_digest"`
	CreatedAt          time.Time      `json:"created_at"`
	Upstream           *Upstream      `json:"upstream,omitzero"` // none for a built-in
	Methods            map[string]int `json:"methods"`           // how many are in which state
	Declined           int            `json:"declined,omitzero"` // of those that wait, how many the owner said no to
	Ceiling            *Ceiling       `json:"ceiling,omitzero"`  // none for a built-in
}

// Ceiling is how much a resource behind an outside executor is called at most by
// everybody together. Raised says that the operator has set it above the usual.
type Ceiling struct {
	PerMinute int64 `json:"per_minute"`
	AtOnce    int64 `json:"at_once"`
	Raised    bool  `json:"raised"`
}

// Upstream is the entry that a resource was imported from. Its command, its
// environment and its secrets are not told.
type Upstream struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	State    string    `json:"state"`
	Server   string    `json:"server"`   // as it calls itself; unverified
	Protocol string    `json:"protocol"` // revision at the last listing
	ListedAt time.Time `json:"listed_at,omitzero"`

	// How this host's connection stands now; empty where it has none.
	Connection string `json:"connection,omitzero"` // idle, starting, ready or failed
	Trouble    string `json:"trouble,omitzero"`    // why it failed, with the upstream's last words
	PID        int    `json:"pid,omitzero"`
	Restarts   int    `json:"restarts,omitzero"`

	// Of a remote server; Exception is not conforming (threats, A39).
	Origin    string   `json:"origin,omitzero"`
	Issuer    string   `json:"issuer,omitzero"`    // of the credential that steward has there
	Wants     []string `json:"wants,omitzero"`     // scopes without which it refuses some calls
	Exception string   `json:"exception,omitzero"` // an origin and a network, joined by =
}

// Review is a resource with everything that an approval says yes to. Shown pins
// it: an approval must carry it back.
type Review struct {
	Resource Resource     `json:"resource"`
	Methods  []Definition `json:"methods"`
	Shown    string       `json:"shown"`
}

// Definition is one method of a resource as it is defined now. Texts are those
// that an approval would let models see.
type Definition struct {
	Method         string         `json:"method"`
	Contract       string         `json:"contract"`
	Title          string         `json:"title"`
	Description    string         `json:"description"`
	Input          strictjson.Raw `json:"input,omitzero"`  // schema
	Output         strictjson.Raw `json:"output,omitzero"` // schema, where results are held against one
	Effects        []string       `json:"effects"`         // proposed, or approved
	Precondition   bool           `json:"precondition"`
	State          string         `json:"state"`
	Reason         string         `json:"reason"`               // why it is refused, drifted or gone
	Tool           string         `json:"tool"`                 // the upstream's exact name for it
	DeadlineMS     int64          `json:"deadline_ms,omitzero"` // how long a call may take, if the owner has set that
	MethodDigest   string         `json:"method_digest"`
	BindingDigest  string         `json:"binding_digest"`
	ContractDigest string         `json:"contract_digest"`   // of the approved document, else empty
	Upstream       strictjson.Raw `json:"upstream,omitzero"` // the whole tool as it was received; untrusted
	Import         strictjson.Raw `json:"import,omitzero"`   // what the importer decided and lost
	Change         *Change        `json:"change,omitzero"`   // of a drifted one: how it differs from what was approved
	Answer         string         `json:"answer,omitzero"`   // what the owner said to it as it is now, if no yes: no or later
}

// Change is how a method that needs a new yes differs from what the owner approved
// last. Where the kind is back or wording, review.reaffirm is enough.
type Change struct {
	Kind        string       `json:"kind"`    // back, wording or meaning
	Effects     []string     `json:"effects"` // that were approved
	Differences []Difference `json:"differences"`
	More        int          `json:"more,omitzero"` // differences that are left out here
}

// Difference is one place of the upstream's definition. Before and After are text
// where Words, and JSON otherwise; characters that cannot be seen are escapes.
type Difference struct {
	Pointer string `json:"pointer"`
	Words   bool   `json:"words"`
	Before  string `json:"before"`
	After   string `json:"after"`
}

// Approve says yes to methods of one resource as they were shown.
type Approve struct {
	Resource string   `json:"resource"` // as in ResourceRef
	Shown    string   `json:"shown"`    // of the Review
	Methods  []Choice `json:"methods"`
}

// Choice is the yes to one method. Left-out effects accept the shown ones.
type Choice struct {
	Method     string   `json:"method"`
	Effects    []string `json:"effects,omitzero"`
	DeadlineMS int64    `json:"deadline_ms,omitzero"` // how long a call may take; left out, that stays as it is
}

// Approved tells the resource's new revision and the methods that are live by this
// approval.
type Approved struct {
	Resource string   `json:"resource"` // id
	Revision string   `json:"revision"`
	Methods  []string `json:"methods"`
}

// Defer says no, later, or a yes that is to be confirmed with others, to methods of one
// resource as they were shown. It turns nothing on. A no holds until the definition
// changes.
type Defer struct {
	Resource string   `json:"resource"` // as in ResourceRef
	Shown    string   `json:"shown"`    // of the Review
	Methods  []string `json:"methods"`
	Answer   string   `json:"answer"` // no, later or yes
}

// Reaffirm says yes again to methods of one resource as they were shown, of which the
// upstream has changed nothing but words, or has taken its change back.
type Reaffirm struct {
	Resource string   `json:"resource"` // as in ResourceRef
	Shown    string   `json:"shown"`    // of the Review
	Methods  []string `json:"methods"`
}

// Reaffirmed tells the resource's new revision, the methods that are live by this, and
// how many grants go on under the new words.
type Reaffirmed struct {
	Resource string   `json:"resource"` // id
	Revision string   `json:"revision"`
	Methods  []string `json:"methods"`
	Grants   int      `json:"grants"`
}

// ListGrants selects rows; an empty app is all of them.
type ListGrants struct {
	App string `json:"app,omitzero"` // as in AppRef
}

// Grants lists rows of authority.
type Grants struct {
	Grants []Grant `json:"grants"`
}

// Grant is one row of authority. Its state is derived at the time of the reply.
type Grant struct {
	ID            string    `json:"id"`
	App           string    `json:"app"`
	AppID         string    `json:"app_id"`
	Resource      string    `json:"resource"`
	ResourceID    string    `json:"resource_id"`
	Contract      string    `json:"contract"`
	Method        string    `json:"method"`
	Title         string    `json:"title"`
	Tool          string    `json:"tool"` // its name on the MCP face
	Effects       []string  `json:"effects"`
	Confirm       string    `json:"confirm"` // by_effect, always or never
	State         string    `json:"state"`
	MethodDigest  string    `json:"method_digest"`
	BindingDigest string    `json:"binding_digest"`
	CreatedAt     time.Time `json:"created_at"`
	ExpiresAt     time.Time `json:"expires_at,omitzero"`
	RevokedAt     time.Time `json:"revoked_at,omitzero"`
	Budget        *Budget   `json:"budget,omitzero"`
	Today         *Today    `json:"today,omitzero"`    // of a budget of a day
	Replaces      string    `json:"replaces,omitzero"` // the row that it took the place of, where it was just added
}

// Budget bounds what one grant lets through; zero is no bound. Price is what a call
// costs at most and SpendPerDay the sum of a day, both in minor units of the
// currency (ISO 4217). Days end at midnight UTC.
type Budget struct {
	PerMinute   int64  `json:"per_minute,omitzero"`
	AtOnce      int64  `json:"at_once,omitzero"`
	PerDay      int64  `json:"per_day,omitzero"`
	Price       int64  `json:"price,omitzero"`
	SpendPerDay int64  `json:"spend_per_day,omitzero"`
	Currency    string `json:"currency,omitzero"`
}

// Today is what the current day has taken, calls in doubt included.
type Today struct {
	Calls int64 `json:"calls"`
	Spent int64 `json:"spent"`
}

// AddGrants gives an app rows for methods of one resource: all of them or none.
// Every method is named; there is no wildcard.
type AddGrants struct {
	App       string    `json:"app"`      // as in AppRef
	Resource  string    `json:"resource"` // as in ResourceRef
	Methods   []string  `json:"methods"`
	Confirm   string    `json:"confirm,omitzero"` // by_effect if left out
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Budget    Budget    `json:"budget,omitzero"`
}

// RevokeGrants ends one row by its id, or every row of an app on a resource.
type RevokeGrants struct {
	Grant    string `json:"grant,omitzero"`
	App      string `json:"app,omitzero"`
	Resource string `json:"resource,omitzero"`
}

// Revoked counts the rows that ended now, none where they had ended before.
type Revoked struct {
	Revoked int `json:"revoked"`
}

// ListConfirmations selects the open questions, or those that were decided too.
type ListConfirmations struct {
	All bool `json:"all,omitzero"`
}

// Confirmations lists questions to the owner.
type Confirmations struct {
	Confirmations []Confirmation `json:"confirmations"`
}

// ConfirmationRef names a question by its id.
type ConfirmationRef struct {
	Confirmation string `json:"confirmation"`
}

// Confirmation is a question: may this app make exactly this call once.
type Confirmation struct {
	ID         string         `json:"id"`
	App        string         `json:"app"`
	AppID      string         `json:"app_id"`
	Resource   string         `json:"resource"`
	ResourceID string         `json:"resource_id"`
	Contract   string         `json:"contract"`
	Method     string         `json:"method"`
	Args       strictjson.Raw `json:"args,omitzero"` // a week long after it is over
	State      string         `json:"state"`         // open, approved, denied or used
	AskedAt    time.Time      `json:"asked_at"`
	DecidedAt  time.Time      `json:"decided_at,omitzero"`
	GoodUntil  time.Time      `json:"good_until,omitzero"`    // of an approved one
	RefusedTo  time.Time      `json:"refused_until,omitzero"` // of a denied one: an equal call under the same grant is not asked again before
	UsedBy     string         `json:"used_by,omitzero"`       // tx
}
