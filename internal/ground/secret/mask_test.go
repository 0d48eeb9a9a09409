package secret_test

import (
	"testing"

	"github.com/stewardhost/steward/internal/ground/secret"
)

func TestTokensInForeignTextAreMasked(t *testing.T) {
	token := secret.NewToken(secret.Access).Reveal()
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"/mcp", "/mcp"},
		{"/mcp/" + token, "/mcp/[secret]"},
		{"/a/" + token + "/b/" + secret.NewToken(secret.Client).Reveal() + "?", "/a/[secret]/b/[secret]?"},
		{"/" + token[:20], "/[secret]"},
		{token + token, "[secret]"},
		{"stw_", "[secret]"},
		{"stw", "stw"},
	} {
		if got := secret.Mask(tc.text); got != tc.want {
			t.Errorf("%q became %q, want %q", tc.text, got, tc.want)
		}
	}
	for _, kind := range []secret.Kind{secret.Access, secret.Refresh, secret.Invocation, secret.Client} {
		if got := secret.Mask(secret.NewToken(kind).Reveal()); got != "[secret]" {
			t.Errorf("a token of kind %s became %q", kind, got)
		}
	}
}
