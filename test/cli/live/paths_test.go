package live_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// Whatever the path, on the doors and on the listener of the metrics, a request of a
// foreign host or page gets nothing but its refusal, one without an origin is let
// through, and no path is mended into a door's (threats, A57; field faults, FF90).
func TestEveryPathIsGuarded(t *testing.T) {
	h := hosttest.StartWith(t, hosttest.Options{Args: append(slices.Clone(hosttest.Wide), "--metrics", "127.0.0.1:0")})
	var status adminwire.Status
	h.JSON(&status, "status")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for url, own := range map[string]int{
		h.BaseURL + "/mcp": http.StatusUnauthorized, h.BaseURL + "//mcp": http.StatusNotFound, h.BaseURL + "//rpc/v1": http.StatusNotFound, h.BaseURL + "/a/../mcp": http.StatusNotFound,
		h.BaseURL + "/mcp/": http.StatusNotFound, h.BaseURL + "/": http.StatusNotFound, h.BaseURL + "/healthz": http.StatusNoContent, h.BaseURL + "/readyz": http.StatusNoContent,
		h.BaseURL + "/rpc/v1": http.StatusMethodNotAllowed, h.BaseURL + "/rpc/v1/tx": http.StatusMethodNotAllowed, status.Metrics: http.StatusOK,
	} {
		for _, c := range []struct {
			host, origin string
			want         int
		}{
			{"", "", own}, {"evil.example", "", http.StatusMisdirectedRequest}, {"evil.example", "http://evil.example", http.StatusMisdirectedRequest},
			{"", "https://evil.example", http.StatusForbidden}, {"", "null", http.StatusForbidden},
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = c.host
			if c.origin != "" {
				req.Header.Set("Origin", c.origin)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("GET %s, %+v: %d", url, c, resp.StatusCode)
			}
		}
	}
}
