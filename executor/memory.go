package executor

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/stewardhost/steward/protocol/sessionwire"
)

// Memory is what an executor must not forget: its proof, and each call from
// before it runs until the daemon has its outcome. It owns the handlers that run,
// so that they outlive a lost connection. One Memory belongs to one application
// process at a time and to one client at a time.
type Memory struct {
	path string

	mu      sync.Mutex // over what follows
	state   state
	client  *Client // the attached one, or nil
	running map[string]context.CancelFunc
	closed  bool
	runs    sync.WaitGroup
}

// state is the file's content.
type state struct {
	Instance  string                `json:"instance"`  // of the daemon that issued the proof
	Executor  string                `json:"executor"`  // its ID
	Proof     string                `json:"proof"`     // a secret
	Candidate string                `json:"candidate"` // another one, while a rotation is open
	Calls     map[string]remembered `json:"calls"`
}

// remembered is one call. Outcome is null while it runs, or ran when the process
// died.
type remembered struct {
	Session string                    `json:"session"`
	Result  sessionwire.ResultPayload `json:"result"` // the binding; its outcome counts once Done is set
	Done    bool                      `json:"done"`
}

// InFile is a memory in a file of this user alone, made if it is missing.
func InFile(path string) (*Memory, error) {
	m := &Memory{path: path, running: map[string]context.CancelFunc{}}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &m.state)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if m.state.Calls == nil {
		m.state.Calls = map[string]remembered{}
	}
	return m, err
}

// InProcess is a memory that is lost with the process: what ran when it died can
// then not be told from what never arrived.
func InProcess() *Memory {
	return &Memory{running: map[string]context.CancelFunc{}, state: state{Calls: map[string]remembered{}}}
}

// Close stops the handlers that run and waits for them.
func (m *Memory) Close() {
	m.mu.Lock()
	m.closed = true
	for _, stop := range m.running {
		stop()
	}
	m.mu.Unlock()
	m.runs.Wait()
}

// change changes the state and makes it durable; where that fails, nothing has
// changed.
func (m *Memory) change(change func(*state)) error {
	next := m.state
	next.Calls = maps.Clone(m.state.Calls)
	change(&next)
	if m.path != "" {
		if err := store(m.path, next); err != nil {
			return err
		}
	}
	m.state = next
	return nil
}

// update is change under the lock.
func (m *Memory) update(change func(*state)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.change(change)
}

func store(path string, s state) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // it is gone once it was renamed
	_, err = draft.Write(raw)
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
