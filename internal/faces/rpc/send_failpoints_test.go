//go:build failpoints

package rpc

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// At the failpoint half of the answer has reached the client (proof, FP8), and
// without it all of it does.
func TestHalfAnAnswerIsOut(t *testing.T) {
	f := newFixture()
	server := httptest.NewServer(f.Door)
	defer server.Close()
	ask := func() (int64, string, error) {
		r, err := http.NewRequest(http.MethodPost, server.URL+rpcwire.Call.Path, strings.NewReader(envelope()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+f.token.Reveal())
		r.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		return resp.ContentLength, string(body), err
	}
	length, whole, err := ask()
	if err != nil || int64(len(whole)) != length {
		t.Fatalf("%d of %d bytes, %v", len(whole), length, err)
	}
	t.Setenv(failpoint.Variable, string(failpoint.HalfReplied)+"=error")
	if _, half, err := ask(); err == nil || half != whole[:len(whole)/2] {
		t.Errorf("%q, %v", half, err)
	}
}
