package adminwire

import "time"

// The methods of an owner's sign-in.
var (
	ResourcesAuthorize  = Method[SignIn, SignInLink]{"resources.authorize", true}
	ResourcesAuthorized = Method[ServerRef, SignedIn]{"resources.authorized", true} // waits a little; asked until it is done
)

// SignIn names the entry of a remote server that steward is to be let in to. An
// entry that is not imported yet has its URL, and the exception that the import
// would have.
type SignIn struct {
	Server    string   `json:"server"`
	URL       string   `json:"url,omitzero"`
	Exception string   `json:"exception,omitzero"`
	Client    string   `json:"client,omitzero"` // an id that the server's own registration gave
	Secret    string   `json:"secret,omitzero"` // of Client, if it has one
	Scopes    []string `json:"scopes,omitzero"` // beside those that the server names
}

// SignInLink is where the owner says yes. Former is the issuer before, where another
// guards the server now: then it is another party that is trusted.
type SignInLink struct {
	Link   string    `json:"link"`
	Issuer string    `json:"issuer"`
	Former string    `json:"former,omitzero"`
	Scopes []string  `json:"scopes"`
	Until  time.Time `json:"until"`
}

// SignedIn tells whether the owner's sign-in is done. Imported says that the entry is
// there and was opened anew.
type SignedIn struct {
	Done     bool `json:"done"`
	Imported bool `json:"imported"`
}
