package contract

import (
	"fmt"
	"strconv"
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
	return fmt.Sprintf("https://%s.steward.invalid/contracts/imported/%s/v1", installation, entry)
}

// CheckURL accepts https://<authority>/contracts/<name>/v<major> of at most
// bound.ContractURLBytes, without user, query, fragment or escapes. The name may
// have several segments.
func CheckURL(url string) error {
	if err := bound.ContractURLBytes.Check(len(url)); err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(url, "https://")
	authority, path, found := strings.Cut(rest, "/contracts/")
	cut := strings.LastIndex(path, "/v")
	if !ok || !found || cut < 1 || !plain(authority, ".-:") || !plain(path[:cut], ".-_/") || authority == "" {
		return malformedURL()
	}
	major, err := strconv.Atoi(path[cut+2:])
	if err != nil || major < 1 || path[cut+2:] != strconv.Itoa(major) {
		return malformedURL()
	}
	return nil
}

func malformedURL() error {
	return fault.New(fault.InvalidRequest, "a contract URL has the form https://<authority>/contracts/<name>/v<major>")
}

func plain(s, extra string) bool {
	for i := range len(s) {
		c := s[i]
		lower := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !lower && !strings.ContainsRune(extra, rune(c)) {
			return false
		}
	}
	return !strings.Contains(s, "..") && !strings.Contains(s, "//")
}
