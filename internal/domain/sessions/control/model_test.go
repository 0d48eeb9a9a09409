package control_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/sessions/control"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/test/modelsize"
)

func hash(n int) secret.Hash { return secret.HashProof(secret.Of(fmt.Sprint("grant", n))) }

type held struct {
	generation int64
	conn       string // empty: free
	grant      int
}

// Control is its model: generations grow by one with each grant and each
// revocation, and of all tokens there ever were exactly the live one counts, on its
// connection.
func TestControlIsItsModel(t *testing.T) {
	sessions, conns := []string{"s1", "s2"}, []string{"c1", "c2", "c3"}
	modelsize.Set(t)
	rapid.Check(t, func(t *rapid.T) {
		b, grants, all := control.New(), 0, map[string]*held{}
		for _, s := range sessions {
			all[s] = &held{}
		}
		given := map[int]held{} // every grant there ever was
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				s, conn := rapid.SampledFrom(sessions).Draw(t, "session"), rapid.SampledFrom(conns).Draw(t, "conn")
				m := all[s]
				grants++
				c := control.Claim{Session: s, Connection: conn, Takeover: rapid.Bool().Draw(t, "takeover"), Grant: hash(grants)}
				if rapid.Bool().Draw(t, "expects") {
					expected := m.generation - int64(rapid.IntRange(0, 1).Draw(t, "behind"))
					c.Expected = &expected
				}
				generation, revoked, err := b.Claim(c)
				if m.conn != "" && !c.Takeover || c.Expected != nil && *c.Expected != m.generation {
					if !fault.Is(err, fault.Conflict) {
						t.Fatal(err)
					}
					return
				}
				want := m.generation + 1
				if m.conn != "" {
					want++
					if revoked == nil || *revoked != (control.Revoked{Session: s, Connection: m.conn, Held: m.generation, Generation: m.generation + 1}) {
						t.Fatalf("revoked %+v", revoked)
					}
				}
				if err != nil || generation != want {
					t.Fatal(generation, err)
				}
				*m = held{want, conn, grants}
				given[grants] = *m
			},
			"detach": func(t *rapid.T) {
				s := rapid.SampledFrom(sessions).Draw(t, "session")
				if _, ok := b.Detach(s); ok != (all[s].conn != "") {
					t.Fatal(ok)
				}
				if m := all[s]; m.conn != "" {
					*m = held{m.generation + 1, "", 0}
				}
			},
			"disconnect": func(t *rapid.T) {
				conn, n := rapid.SampledFrom(conns).Draw(t, "conn"), 0
				for _, m := range all {
					if m.conn == conn {
						*m = held{m.generation + 1, "", 0}
						n++
					}
				}
				if got := b.Disconnect(conn); len(got) != n {
					t.Fatalf("%+v", got)
				}
			},
			"": func(t *rapid.T) {
				for s, m := range all {
					if generation, conn := b.At(s); generation != m.generation || conn != m.conn {
						t.Fatalf("%s: %d %s, want %+v", s, generation, conn, m)
					}
					for grant, g := range given {
						for _, conn := range conns {
							err := b.Check(s, conn, control.Token{Grant: hash(grant), Generation: g.generation})
							if (err == nil) != (m.grant == grant && m.conn == conn) {
								t.Fatalf("grant %d at %s of %s: %v", grant, conn, s, err)
							}
						}
					}
				}
			},
		})
	})
}

func TestAtMost64SessionsAreAttached(t *testing.T) {
	b := control.New()
	for i := range bound.AttachedSessions.Int() + 1 {
		_, _, err := b.Claim(control.Claim{Session: fmt.Sprint(i), Connection: "c", Grant: hash(i)})
		if fault.Is(err, fault.LimitExceeded) != (i == bound.AttachedSessions.Int()) {
			t.Errorf("session %d: %v", i, err)
		}
	}
	if _, _, err := b.Claim(control.Claim{Session: "0", Connection: "d", Takeover: true, Grant: hash(1)}); err != nil {
		t.Errorf("a takeover attaches no more: %v", err)
	}
}
