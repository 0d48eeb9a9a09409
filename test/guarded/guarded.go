// Package guarded is a remote MCP server with one tool and the authorization server
// that guards it, for suites: both on loopback, each with an origin of its own. What
// it does wrong is asked for by its Options. The tool counts its calls.
//
// A Server is safe for concurrent use; its options are not to be changed but by
// Change. It ends with its test.
package guarded

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options say where metadata are and what is wrong; the zero value is a good server.
type Options struct {
	Challenge  bool          // the challenge names the metadata of the resource, which are nowhere else
	Root       bool          // metadata of the resource are at its root only
	Tenant     string        // path of the issuer, such as /tenant
	OpenID     bool          // metadata of the issuer are at the place of OpenID only
	Life       time.Duration // of access tokens; an hour if zero
	NoRefresh  bool          // refresh tokens are refused
	NoRegister bool          // clients cannot register themselves
	Documents  string        // the client ID metadata document of a client, which is known by it
	Needs      string        // a scope without which the tool cannot be called
	Iss        string        // told in place of the issuer; "-" for none
	Edit       func(document string, members map[string]any)
}

// Server is both.
type Server struct {
	AS, MCP *httptest.Server

	mu        sync.Mutex
	opt       Options
	as, mcp   string            // their addresses
	clients   map[string]string // secrets by client
	codes     map[string]url.Values
	access    map[string]grant
	refresh   map[string]string // scopes
	renewals  int
	calls     int
	seen      []string // paths at the issuer
	presented []string // bearers at the MCP server
	forms     []url.Values
}

// grant is what an access token is for.
type grant struct {
	until  time.Time
	scopes string
}

// Start starts both.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	s := &Server{opt: opt, clients: map[string]string{"by-hand": "proof"}, codes: map[string]url.Values{}, access: map[string]grant{}, refresh: map[string]string{}}
	if opt.Documents != "" {
		s.clients[opt.Documents] = ""
	}
	// Each speaks of the other, so both have their addresses before either answers.
	s.AS = httptest.NewUnstartedServer(http.HandlerFunc(s.issue))
	s.MCP = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.as, s.mcp = "http://"+s.AS.Listener.Addr().String(), "http://"+s.MCP.Listener.Addr().String()
	s.AS.Start()
	s.MCP.Start()
	t.Cleanup(func() { s.AS.Close(); s.MCP.Close() })
	return s
}

// Issuer is the name of the authorization server.
func (s *Server) Issuer() string { return s.as + s.opt.Tenant }

// URL is the address of the MCP server.
func (s *Server) URL() string { return s.mcp + "/mcp" }

// Exceptions are what lets a host of this machine reach both.
func (s *Server) Exceptions() []string {
	return []string{s.mcp + "=127.0.0.1/32", s.as + "=127.0.0.1/32"}
}

// Change changes the options.
func (s *Server) Change(change func(*Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.opt)
}

// Revoke ends every token that was given.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	clear(s.refresh)
}

// Expire ends every access token, but no refresh token.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Counts are the calls of the tool and the tokens that were renewed.
func (s *Server) Counts() (calls, renewals int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls, s.renewals
}

// Seen are the paths that were asked for at the issuer, the forms that its token
// endpoint got, and the bearers that the MCP server got.
func (s *Server) Seen() (paths []string, forms []url.Values, bearers []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen), slices.Clone(s.forms), slices.Clone(s.presented)
}

// SignIn does what an owner's browser does with a link, and returns the status of the
// page that it ends at.
func SignIn(link string) (int, error) {
	resp, err := http.Get(link)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func (s *Server) write(w http.ResponseWriter, status int, document string, members map[string]any) {
	if s.opt.Edit != nil {
		s.opt.Edit(document, members)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(members)
}

func (s *Server) issue(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.URL.Path)
	place := map[bool]string{false: "/.well-known/oauth-authorization-server" + s.opt.Tenant, true: s.opt.Tenant + "/.well-known/openid-configuration"}[s.opt.OpenID]
	switch r.URL.Path {
	case place:
		doc := map[string]any{"issuer": s.Issuer(), "authorization_endpoint": s.as + "/authorize", "token_endpoint": s.as + "/token",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"}, "scopes_supported": []string{"tools", "offline_access"}}
		if !s.opt.NoRegister {
			doc["registration_endpoint"] = s.as + "/register"
		}
		if s.opt.Documents != "" {
			doc["client_id_metadata_document_supported"] = true
		}
		s.write(w, 200, "issuer", doc)
	case "/register":
		client := rand.Text()
		s.clients[client] = ""
		s.write(w, 201, "registration", map[string]any{"client_id": client, "token_endpoint_auth_method": "none"})
	case "/authorize":
		s.authorize(w, r)
	case "/token":
		s.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if _, known := s.clients[q.Get("client_id")]; !known || q.Get("code_challenge_method") != "S256" || q.Get("resource") == "" || q.Get("response_type") != "code" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	s.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.Issuer()}}
	switch s.opt.Iss {
	case "":
	case "-":
		back.Del("iss")
	default:
		back.Set("iss", s.opt.Iss)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.forms = append(s.forms, r.PostForm)
	f := r.PostForm
	client, proof := f.Get("client_id"), ""
	if id, given, basic := r.BasicAuth(); basic {
		client, proof = id, given
	}
	if want, known := s.clients[client]; !known || want != proof {
		s.write(w, 401, "error", map[string]any{"error": "invalid_client"})
		return
	}
	scopes := ""
	switch f.Get("grant_type") {
	case "authorization_code":
		asked, ok := s.codes[f.Get("code")]
		delete(s.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || f.Get("redirect_uri") != asked.Get("redirect_uri") || f.Get("resource") != asked.Get("resource") {
			s.write(w, 400, "error", map[string]any{"error": "invalid_grant"})
			return
		}
		scopes = asked.Get("scope")
	case "refresh_token":
		s.renewals++
		given, ok := s.refresh[f.Get("refresh_token")]
		if !ok || s.opt.NoRefresh {
			s.write(w, 400, "error", map[string]any{"error": "invalid_grant"})
			return
		}
		scopes = given
		delete(s.refresh, f.Get("refresh_token"))
	}
	life := s.opt.Life
	if life == 0 {
		life = time.Hour
	}
	access, refresh := "at-"+rand.Text(), "rt-"+rand.Text()
	s.access[access], s.refresh[refresh] = grant{time.Now().Add(life), scopes}, scopes
	s.write(w, 200, "token", map[string]any{"access_token": access, "token_type": "bearer", "refresh_token": refresh, "expires_in": life.Seconds()})
}

const wellKnown = "/.well-known/oauth-protected-resource"

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := map[bool]string{false: wellKnown + "/mcp", true: wellKnown}[s.opt.Root]
	resource := map[bool]string{false: s.mcp + "/mcp", true: s.mcp}[s.opt.Root]
	if s.opt.Challenge {
		place = "/hidden"
	}
	if r.URL.Path == place {
		s.write(w, 200, "resource", map[string]any{"resource": resource, "authorization_servers": []string{s.Issuer()}, "scopes_supported": []string{"tools"}})
		return
	}
	if r.URL.Path != "/mcp" {
		http.NotFound(w, r)
		return
	}
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.presented = append(s.presented, bearer)
	given, ok := s.access[bearer]
	if !ok || time.Now().After(given.until) {
		challenge := "Bearer"
		if s.opt.Challenge {
			challenge = `Bearer error="invalid_token", resource_metadata="` + s.mcp + `/hidden", scope="tools"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	result := func(text string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text)
	}
	switch m.Method {
	case "server/discover":
		result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"guarded","version":"1"}}}`)
	case "tools/list":
		result(`{"resultType":"complete","tools":[{"name":"count","description":"counts","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
	case "tools/call":
		if s.opt.Needs != "" && !slices.Contains(strings.Fields(given.scopes), s.opt.Needs) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+s.opt.Needs+`", resource_metadata="`+s.mcp+place+`"`)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.calls++
		result(fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":"%d"}]}`, s.calls))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}
