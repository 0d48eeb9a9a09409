// Package admin is the owner's own door: the methods of adminwire over a Unix
// socket that nobody but the host's user can open (faces page, section 1;
// threats, A60).
//
// Whoever gets a byte through is the owner; the door therefore checks the
// folder, the socket and the peer, and nothing in a request. It translates
// between the wire and the owner's commands and decides nothing. Each request is
// one strict JSON object of at most bound.AdminBytes, each reply at most
// bound.AnswerBytes. A failure has the HTTP status of its code's row; only a
// method other than POST is answered with HTTP's own 405. A Door is safe for
// concurrent use.
package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/alarms"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/owner"
	"github.com/stewardhost/steward/internal/service/signin"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Host is what there is to say about the process, and the owner that it serves.
// Fenced is why the store accepts nothing any more, nil while it does.
type Host struct {
	Owner     id.Owner
	Hand      id.Client // the owner's own client, which calls without grants
	Name      string    // of the owner
	Version   string
	Node      id.Node
	Epoch     int64
	StartedAt time.Time
	Data      string          // folder
	Listen    []string        // base URLs of the HTTP doors
	Restored  time.Time       // when the store was last restored, zero for never
	Metrics   string          // where the metrics are, empty for nowhere
	Ceiling   budget.Ceiling  // of each resource behind an outside executor
	Exempt    func() []string // the exceptions to the egress policy, of the operator and of entries in use
	Fenced    func() error
	Alarms    func(context.Context) []alarms.Alarm
}

// Services are what the door's methods reach.
type Services struct {
	Apps          *owner.Apps
	Reviews       *owner.Reviews
	Grants        *owner.Grants
	Confirmations *owner.Confirmations
	Ledger        *owner.Ledger
	Importer      *importer.Importer
	Port          *dispatch.Port
	Capsules      *capsulehost.Shelf
	SignIn        *signin.Desk
}

// Door answers the methods of the table.
type Door struct {
	Services
	host    Host
	log     *slog.Logger
	methods map[string]method
}

// method decodes a request, runs it and returns the reply to encode.
type method func(ctx context.Context, body []byte) (any, error)

// New returns the door.
func New(host Host, services Services, log *slog.Logger) *Door {
	d := &Door{Services: services, host: host, log: log, methods: map[string]method{}}
	on(d, adminwire.HostStatus, d.status)
	on(d, adminwire.HostVersion, d.version)
	on(d, adminwire.AppsList, d.appsList)
	on(d, adminwire.AppsAdd, d.appsAdd)
	on(d, adminwire.AppsRotate, d.appsRotate)
	on(d, adminwire.AppsDisconnect, d.appsDisconnect)
	on(d, adminwire.ResourcesList, d.resourcesList)
	on(d, adminwire.ResourcesShow, d.resourcesShow)
	on(d, adminwire.ReviewApprove, d.reviewApprove)
	on(d, adminwire.ReviewReaffirm, d.reviewReaffirm)
	on(d, adminwire.ReviewDefer, d.reviewDefer)
	on(d, adminwire.GrantsList, d.grantsList)
	on(d, adminwire.GrantsAdd, d.grantsAdd)
	on(d, adminwire.GrantsRevoke, d.grantsRevoke)
	on(d, adminwire.ConfirmList, d.confirmList)
	on(d, adminwire.ConfirmApprove, d.confirmApprove)
	on(d, adminwire.ConfirmDeny, d.confirmDeny)
	on(d, adminwire.JournalList, d.journalList)
	on(d, adminwire.JournalShow, d.journalShow)
	on(d, adminwire.JournalReconcile, d.journalReconcile)
	on(d, adminwire.JournalDenied, d.journalDenied)
	on(d, adminwire.JournalVerify, d.journalVerify)
	on(d, adminwire.CallMethod, d.call)
	on(d, adminwire.ImportPlan, d.importPlan)
	on(d, adminwire.ImportAdd, d.importAdd)
	on(d, adminwire.ImportRefresh, d.importRefresh)
	on(d, adminwire.ImportExport, d.importExport)
	on(d, adminwire.ImportRemove, d.importRemove)
	on(d, adminwire.CapsulesList, d.capsulesList)
	on(d, adminwire.CapsulesInstall, d.capsulesInstall)
	on(d, adminwire.CapsulesLogs, d.capsulesLogs)
	on(d, adminwire.CapsulesReads, d.capsulesReads)
	on(d, adminwire.CapsulesRemove, d.capsulesRemove)
	on(d, adminwire.ResourcesAuthorize, d.resourcesAuthorize)
	on(d, adminwire.ResourcesAuthorized, d.resourcesAuthorized)
	return d
}

var limits = strictjson.Limits{Bytes: bound.AdminBytes}

func on[Req, Rep any](d *Door, m adminwire.Method[Req, Rep], run func(context.Context, Req) (Rep, error)) {
	d.methods[m.Name] = func(ctx context.Context, body []byte) (any, error) {
		var req Req
		if err := strictjson.Decode(body, limits, &req); err != nil {
			return nil, err
		}
		return run(ctx, req)
	}
}

// ServeHTTP answers one method.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer d.survive(w, r)
	name, ok := strings.CutPrefix(r.URL.Path, adminwire.Prefix)
	run, known := d.methods[name]
	if !ok || !known {
		d.fail(w, name, fault.New(fault.NotFound, "the host has no such method; are both of one version?"))
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		d.write(w, http.StatusMethodNotAllowed, failure(fault.New(fault.InvalidRequest, "use POST")))
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		d.fail(w, name, err)
		return
	}
	if strings.HasPrefix(name, "import.") || name == adminwire.ResourcesShow.Name {
		defer d.Importer.Frugally()() // its reply may hold all that a server says of itself
	}
	reply, err := run(r.Context(), body)
	if err != nil {
		d.fail(w, name, err)
		return
	}
	d.write(w, http.StatusOK, reply)
}

// survive keeps the host up when a method breaks our own code.
func (d *Door) survive(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	d.log.Error("a request broke the host's code", "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	d.write(w, http.StatusInternalServerError, failure(fault.From(errBroken)))
}

var errBroken = errors.New("a panic")

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bound.AdminBytes.Max))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, bound.AdminBytes.Exceeded()
	case err != nil:
		return nil, fault.New(fault.InvalidRequest, "the request ended too early")
	}
	return body, nil
}

// fail answers with the fault in err and logs what does not leave the process.
func (d *Door) fail(w http.ResponseWriter, name string, err error) {
	f := fault.From(err)
	if cause := f.Unwrap(); cause != nil {
		d.log.Error("a command failed", "method", name, "code", string(f.Code), "err", cause)
	}
	d.write(w, f.Row().HTTP, failure(f))
}

func failure(f *fault.Fault) adminwire.Failure { return adminwire.Failure{Error: errorOf(f)} }

func errorOf(f *fault.Fault) adminwire.Error {
	row := f.Row()
	out := adminwire.Error{Code: string(row.Code), Message: f.Text, Retry: string(row.Retry)}
	if row.Details {
		out.Details = f.Details
	}
	return out
}

func (d *Door) write(w http.ResponseWriter, status int, reply any) {
	body, err := strictjson.Encode(reply)
	if err == nil {
		err = bound.AnswerBytes.Check(len(body))
	}
	if err != nil {
		f := fault.From(err)
		d.log.Error("a reply cannot be sent", "err", err)
		status = f.Row().HTTP
		body, _ = strictjson.Encode(failure(f))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
