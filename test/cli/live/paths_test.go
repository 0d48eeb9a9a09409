package live_test

import (
	"net/http"
	"testing"

	"github.com/stewardhost/steward/test/hosttest"
)

// Whatever the path, a request of a foreign host gets nothing but its refusal,
// and no path is mended into a door's.
func TestEveryPathIsGuarded(t *testing.T) {
	h := hosttest.Start(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, own := range map[string]int{
		"/mcp": http.StatusUnauthorized, "//mcp": http.StatusNotFound, "//rpc/v1": http.StatusNotFound, "/a/../mcp": http.StatusNotFound,
		"/mcp/": http.StatusNotFound, "/": http.StatusNotFound, "/healthz": http.StatusNoContent, "/readyz": http.StatusNoContent,
	} {
		for host, want := range map[string]int{"": own, "evil.example": http.StatusMisdirectedRequest} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.BaseURL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("GET %s for host %q: %d, want %d", path, host, resp.StatusCode, want)
			}
		}
	}
}
