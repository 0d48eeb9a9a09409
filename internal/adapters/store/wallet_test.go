package store_test

import (
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// credited is a credential that an owner said yes to.
func credited(access string) credential.Credential {
	return credential.Credential{URL: "https://far.example/mcp", Server: credential.Server{Issuer: "https://as.example"},
		Token: credential.Token{Access: secret.Of(access), Refresh: secret.Of("refresh of " + access)}}
}

// What comes of a credential takes its place, and never that of another one or of
// none: an owner's removal and new yes stand.
func TestACredentialIsReplacedInItsPlaceOnly(t *testing.T) {
	n := newNotes(t)
	const name = "notes"
	holds := func(want string) {
		t.Helper()
		got, found, err := n.Credential(t.Context(), n.owner, name)
		must(t, err)
		if found != (want != "") || got.Token.Access.Reveal() != want {
			t.Errorf("%v, %q, want %q", found, got.Token.Access.Reveal(), want)
		}
	}
	replace := func(was, now credential.Credential) error {
		return n.ReplaceCredential(t.Context(), n.owner, name, was, now)
	}
	wantFault(t, replace(credited("none"), credited("renewed")), fault.NotFound)
	holds("")
	must(t, n.PutCredential(t.Context(), n.owner, name, credited("first")))
	must(t, replace(credited("first"), credited("second")))
	wantFault(t, replace(credited("first"), credited("third")), fault.NotFound)
	holds("second")
	must(t, n.PutCredential(t.Context(), n.owner, name, credited("another yes")))
	wantFault(t, replace(credited("second"), credited("third")), fault.NotFound)
	holds("another yes")
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Removed))
	wantFault(t, replace(credited("another yes"), credited("renewed")), fault.NotFound)
	holds("")
}
