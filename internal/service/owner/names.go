package owner

import (
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// What a person may name, and the command that lists it.
const (
	anApp      = "no app is called"
	aResource  = "no resource is called"
	aCall      = "there is no call"
	listApps   = "steward apps list"
	listThings = "steward resources list"
	listCalls  = "steward journal list"
)

// unknown says which word is not known. The owner's own door has nothing to hide
// from the owner; to apps, what is absent and what is not theirs stay the same.
func unknown(err error, what, ref, list string) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	return fault.Newf(fault.NotFound, "%s %s", what, resource.Visible(ref)).With("fix", list)
}
