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

// Memory is what an executor must not forget: its proof, and each call from before
// it runs until the daemon has its outcome. It owns the handlers that run, so that
// they outlive a lost connection. One Memory belongs to one application process and
// to one client at a time.
type Memory struct {
	path string
	lock *os.File      // of the file, for the memory's life; nil without one
	seat chan struct{} // holds one while a client attaches

	mu      sync.Mutex // over what follows
	state   state
	client  *Client // the last that came to attach, or nil
	running map[string]context.CancelFunc
	closed  bool
	ended   chan struct{} // closed with the memory
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

// ErrInUse says that another Memory has the file, in this process or another. Two
// would take each other's calls for calls that nobody ran.
var ErrInUse = errors.New("the memory is in use")

var errShut = errors.New("the memory is closed")

// memoryRoom is more than the calls that a daemon has open at a time can need.
const memoryRoom = 4 << 20

// InFile is a memory in a file of this user alone, made if it is missing, until
// Close. Its folder must exist. The file holds the executor's proof and results of
// calls: keep it in a private folder, such as one below XDG_STATE_HOME, never in a
// workspace, where the session's agent can read it. Beside it is an empty file with
// ".lock" added to its name, which stays. An error is ErrInUse, or one of the file.
func InFile(path string) (*Memory, error) {
	m := InProcess()
	m.path = path
	var err error
	if m.lock, err = lock(path + ".lock"); err != nil {
		return nil, err
	}
	if err = m.load(); err != nil {
		return nil, errors.Join(err, m.lock.Close())
	}
	return m, nil
}

// load reads the file, if there is one.
func (m *Memory) load() error {
	raw, err := read(m.path, memoryRoom)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &m.state)
	}
	if m.state.Calls == nil {
		m.state.Calls = map[string]remembered{}
	}
	return err
}

// InProcess is a memory that is lost with the process: what ran when it died can
// then not be told from what never arrived.
func InProcess() *Memory {
	return &Memory{
		seat: make(chan struct{}, 1), ended: make(chan struct{}),
		running: map[string]context.CancelFunc{}, state: state{Calls: map[string]remembered{}},
	}
}

// Close stops the handlers that run, waits for them, and gives the file free.
func (m *Memory) Close() {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	for _, stop := range m.running {
		stop()
	}
	m.mu.Unlock()
	if first {
		close(m.ended)
	}
	m.runs.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lock != nil {
		_ = m.lock.Close() // nothing was written to it
		m.lock = nil
	}
}

// enter makes room for a client that attaches, and says what is known. What the
// client before it received has been taken by then: a call that is not known now
// has not reached this application. A call may come with the answer that attaches
// the client and be over at once: its outcome is this client's from here on.
func (m *Memory) enter(ctx context.Context, c *Client) (state, error) {
	select {
	case m.seat <- struct{}{}:
	case <-ctx.Done():
		return state{}, ctx.Err()
	}
	m.mu.Lock()
	before := m.client
	m.mu.Unlock()
	if before != nil {
		before.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		m.leave()
		return state{}, errShut
	}
	m.client = c
	return m.state, nil
}

func (m *Memory) leave() { <-m.seat }

// start runs something that Close waits for.
func (m *Memory) start(run func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.runs.Go(run)
	}
}

// change changes the state and makes it durable; where that fails, nothing has
// changed.
func (m *Memory) change(change func(*state)) error {
	next := m.state
	next.Calls = maps.Clone(m.state.Calls)
	change(&next)
	if m.path != "" {
		if m.lock == nil {
			return errShut // the file is another's now
		}
		if err := store(m.path, next); err != nil {
			return err
		}
	}
	m.state = next
	return nil
}

// keep remembers a call. Where that cannot be made durable, it holds for this
// process all the same.
func (m *Memory) keep(r remembered) error {
	err := m.change(func(s *state) { s.Calls[r.Result.CallID] = r })
	if err != nil {
		m.state.Calls = maps.Clone(m.state.Calls)
		m.state.Calls[r.Result.CallID] = r
	}
	return err
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
