package callout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// asker is a server that asks.
type asker struct{ id, seal nkeys.KeyPair }

func newAsker(t testing.TB) asker {
	t.Helper()
	server, err := nkeys.CreateServer()
	if err != nil {
		t.Fatal(err)
	}
	seal, err := nkeys.CreateCurveKeys()
	if err != nil {
		t.Fatal(err)
	}
	return asker{server, seal}
}

// question is what the server asks about a connection, sealed for a host.
func (a asker) question(t testing.TB, k Keys, change func(*jwt.AuthorizationRequestClaims)) (sealed []byte, connection string) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	q := jwt.NewAuthorizationRequestClaims(public(k.issuer))
	q.UserNkey, q.Server.ID, q.Server.XKey = public(user), public(a.id), public(a.seal)
	q.ConnectOptions.Username, q.ConnectOptions.Password = "notes", "right"
	if change != nil {
		change(q)
	}
	text, err := q.Encode(a.id)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err = a.seal.Seal([]byte(text), public(k.seal))
	if err != nil {
		t.Fatal(err)
	}
	return sealed, public(user)
}

func keys(t testing.TB) Keys {
	t.Helper()
	k, err := Keep(filepath.Join(t.TempDir(), "keys", "bus"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func rights(t testing.TB) topic.Rights {
	t.Helper()
	c, err := topic.ParseClaim([]string{"resource.v1.response.read.*"}, []string{"resource.v1.request.read"})
	if err != nil {
		t.Fatal(err)
	}
	return topic.RuntimeRights(topic.PrincipalOf(id.New[id.Owner]()), topic.SourceOf("t", "notes", ""), c)
}

// What is signed is for one connection of one server, in the account of the bus and
// with the rights of the host; a wrong password is refused, and everything else has
// no answer.
func TestOnlyTheHostsOwnAreLetIn(t *testing.T) {
	k, a, may := keys(t), newAsker(t), rights(t)
	find := func(name string) (User, bool) {
		return User{Password: secret.Of("right"), Rights: may}, name == "notes"
	}
	open := func(sealed []byte) *jwt.AuthorizationResponseClaims {
		t.Helper()
		raw, err := a.seal.Open(sealed, public(k.seal))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := jwt.DecodeAuthorizationResponseClaims(string(raw))
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	sealed, connection := a.question(t, k, nil)
	raw, err := k.Answer(sealed, public(a.seal), find)
	if err != nil {
		t.Fatal(err)
	}
	answer := open(raw)
	user, err := jwt.DecodeUserClaims(answer.Jwt)
	if err != nil {
		t.Fatal(err)
	}
	var lists [][]string
	for _, p := range []jwt.Permission{user.Pub, user.Sub} {
		lists = append(lists, p.Allow, p.Deny)
	}
	texts := func(list []topic.Filter) (out []string) {
		for _, f := range list {
			out = append(out, f.String())
		}
		return out
	}
	if diff := cmp.Diff([][]string{texts(may.Publish), nil, texts(may.Subscribe), nil}, lists); diff != "" {
		t.Error(diff)
	}
	if answer.Subject != connection || answer.Audience != public(a.id) || answer.Issuer != public(k.issuer) || answer.Error != "" ||
		user.Subject != connection || user.Audience != account || user.Issuer != public(k.issuer) || user.Name != "notes" {
		t.Errorf("%+v\n%+v", answer, user)
	}

	sealed, connection = a.question(t, k, func(q *jwt.AuthorizationRequestClaims) { q.ConnectOptions.Password = "wrong" })
	if raw, err = k.Answer(sealed, public(a.seal), find); err != nil {
		t.Fatal(err)
	}
	if answer = open(raw); answer.Jwt != "" || answer.Error == "" || answer.Subject != connection {
		t.Errorf("a wrong password: %+v", answer)
	}

	other, stranger := newAsker(t), keys(t)
	good, _ := a.question(t, k, nil)
	forStranger, _ := a.question(t, stranger, nil)
	unknown, _ := a.question(t, k, func(q *jwt.AuthorizationRequestClaims) { q.ConnectOptions.Username = "somebody" })
	another, _ := a.question(t, k, func(q *jwt.AuthorizationRequestClaims) { q.Server.ID = public(other.id) })
	resealed, _ := a.question(t, k, func(q *jwt.AuthorizationRequestClaims) { q.Server.XKey = public(other.seal) })
	for name, c := range map[string]struct {
		sealed []byte
		server string
		code   fault.Code
	}{
		"another server's key":            {good, public(other.seal), fault.InvalidRequest},
		"no key":                          {good, "", fault.InvalidRequest},
		"for another host":                {forStranger, public(a.seal), fault.InvalidRequest},
		"a name of another host":          {unknown, public(a.seal), fault.NotFound},
		"in the name of another server":   {another, public(a.seal), fault.InvalidRequest},
		"answered to another server":      {resealed, public(a.seal), fault.InvalidRequest},
		"cut":                             {good[:len(good)-1], public(a.seal), fault.InvalidRequest},
		"nothing":                         {nil, public(a.seal), fault.InvalidRequest},
		"longer than a question ever is":  {make([]byte, 64<<10+1), public(a.seal), fault.TooLarge},
		"not sealed, as from old servers": {[]byte("eyJ0eXAiOiJKV1QifQ.e30."), "", fault.InvalidRequest},
	} {
		if raw, err := k.Answer(c.sealed, c.server, find); raw != nil || !fault.Is(err, c.code) {
			t.Errorf("%s: %d bytes, %v", name, len(raw), err)
		}
	}
}

// The keys of a folder stay the same, are for its user alone, and are in nothing
// that is printed.
func TestKeysAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "bus")
	first, err := Keep(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Keep(path)
	if err != nil || first.Config() != again.Config() {
		t.Errorf("other keys: %v", err)
	}
	if first.Config() == keys(t).Config() {
		t.Error("two folders have the same keys")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	shown := first.Config() + fmt.Sprintf("%v %+v %#v %s", first, first, first, first)
	for word := range strings.FieldsFuncSeq(string(raw), func(r rune) bool { return strings.ContainsRune(`{}":,`+"\n", r) }) {
		if len(word) > 20 && strings.Contains(shown, word) {
			t.Errorf("a seed is shown: %.6s…", word)
		}
	}
	for name, content := range map[string]string{
		"cut": string(raw[:len(raw)/2]), "empty": "", "other kinds": strings.NewReplacer(`"issuer"`, `"door"`, `"door"`, `"issuer"`).Replace(string(raw)),
		"no seeds": `{"issuer":"x","seal":"x","door":"x","hand":"x"}`, "long": string(raw) + strings.Repeat(" ", keysBytes),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Keep(path); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(os.WriteFile(path, raw, 0o600), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	if _, err := Keep(path); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("keys that others can read: %v", err)
	}
}

// FuzzAnswer: whatever a server says inside its seal, there is an answer or a fault
// and never both, and who is let in was known.
func FuzzAnswer(f *testing.F) {
	k, a := keys(f), newAsker(f)
	sealed, _ := a.question(f, k, nil)
	plain, err := k.seal.Open(sealed, public(a.seal))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add(plain[:len(plain)-2])
	f.Add([]byte("eyJ0eXAiOiJKV1QifQ.e30."))
	f.Add(slices.Concat(plain, plain))
	may := rights(f)
	f.Fuzz(func(t *testing.T, plain []byte) {
		sealed, err := a.seal.Seal(plain, public(k.seal))
		if err != nil {
			t.Fatal(err)
		}
		asked := ""
		raw, err := k.Answer(sealed, public(a.seal), func(name string) (User, bool) {
			asked = name
			return User{Password: secret.Of("right"), Rights: may}, name == "notes"
		})
		if (raw == nil) == (err == nil) || raw != nil && asked != "notes" {
			t.Errorf("%d bytes and %v, asked about %q", len(raw), err, asked)
		}
	})
}
