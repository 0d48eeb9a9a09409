package contract

import (
	"regexp"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// The built-in contracts (pool page, section 10).
const (
	ItemStoreURL = "https://steward.invalid/contracts/item-store/v1"
	ProfileURL   = "https://steward.invalid/contracts/profile/v1"
	GrantsURL    = "https://steward.invalid/contracts/grants/v1"
	JournalURL   = "https://steward.invalid/contracts/journal/v1"
)

// ImportedURL names a group of an upstream's tools. It depends on the identity
// of the upstream entry and the group's number, never on content, so a drifted
// tool keeps its URL and its name (product page, "The house").
func ImportedURL(installation, entry string) string {
	return "https://" + installation + imported + entry + "/v1"
}

// IsImported tells a contract that ImportedURL named, whatever the installation, from
// every other.
func IsImported(url string) bool { return strings.Contains(url, imported) }

// imported stands between the installation and the entry. The top-level domain is
// nobody's (RFC 2606), so no contract that somebody publishes has it.
const imported = ".steward.invalid/contracts/imported/"

// CheckURL accepts https://<authority>/contracts/<name>/v<major> of at most
// bound.ContractURLBytes, in lower case, without user, query, fragment or
// escapes. The authority is a host name and maybe a port; the name may have
// several segments.
func CheckURL(url string) error {
	if err := bound.ContractURLBytes.Check(len(url)); err != nil {
		return err
	}
	if !form.MatchString(url) {
		return fault.New(fault.InvalidRequest, "a contract URL has the form https://<authority>/contracts/<name>/v<major>")
	}
	return nil
}

// form has one spelling for each number, and no segment that means another path.
var form = regexp.MustCompile(`^https://` + label + `(\.` + label + `)*(:[1-9][0-9]{0,4})?/contracts/(` + segment + `/)+v[1-9][0-9]{0,8}$`)

const (
	label   = `[a-z0-9]([a-z0-9-]*[a-z0-9])?`
	segment = `[a-z0-9_-]+(\.[a-z0-9_-]+)*`
)
