package natsbus

import (
	"crypto/rand"
	"sync"

	"github.com/stewardhost/steward/internal/adapters/natsbus/callout"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// userTable holds the credentials that are good now, and what each may do.
type userTable struct {
	mu    sync.Mutex
	known map[string]callout.User
}

func newUserTable() *userTable { return &userTable{known: make(map[string]callout.User)} }

func (t *userTable) add(may topic.Rights) (name, password string) {
	name, password = rand.Text(), rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[name] = callout.User{Password: secret.Of(password), Rights: may}
	return name, password
}

func (t *userTable) drop(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, name)
}

func (t *userTable) find(name string) (callout.User, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, ok := t.known[name]
	return u, ok
}
