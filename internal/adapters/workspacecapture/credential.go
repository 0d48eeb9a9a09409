package workspacecapture

import (
	"slices"
	"strings"
	"unicode"
)

// The names that look like credentials (sessions page, section 9).
var (
	credentialNames = []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".git",
	}
	credentialStarts = []string{".env", "id_rsa", "id_ecdsa", "id_ed25519", "credentials", "secrets"}
	credentialEnds   = []string{".pem", ".key", ".p12", ".pfx"}
)

// Credential reports whether a file or folder of this name is refused, in any
// case and wherever it lies.
func Credential(name string) bool {
	folded := strings.Map(fold, name)
	has := func(match func(string, string) bool) func(string) bool {
		return func(part string) bool { return match(folded, part) }
	}
	return slices.Contains(credentialNames, folded) || slices.ContainsFunc(credentialStarts, has(strings.HasPrefix)) ||
		slices.ContainsFunc(credentialEnds, has(strings.HasSuffix))
}

// fold gives one letter for all that a file system may take for the same.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// unseen reports whether a letter has no place in a path: some file systems pass
// over it, so that two texts name one file.
func unseen(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector) }
