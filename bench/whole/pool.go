package whole

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stewardhost/steward/bench/echo"
	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/owner"
)

// The names of what a pool is made with.
const (
	Narrow = "echo"   // the server with one tool
	Far    = "far"    // the same over HTTP
	Wide   = "many"   // the server with as many tools as a pool may have
	Reader = "reader" // the app that may call all of those
	Caller = "caller" // the app that may call the one, and get and put items
)

// Pool is a data folder that is ready to be called.
type Pool struct {
	Dir       string
	MCP, RPC  string   // tokens of Caller
	ReaderMCP string   // token of Reader
	Tool      string   // of the narrow server, as Caller knows it
	FarTool   string   // of the far one, empty where there is none
	Resource  string   // of the narrow server
	Methods   []string // of the wide server
	FirstCall string   // inv_… of the first call of the narrow server
}

// Method is the method of the narrow server.
const Method = echo.Tool

// Servers are the commands of the two servers, and the address of a third, if any.
type Servers struct {
	Narrow, Wide []string
	Far          string
}

// Prepare makes a pool as an owner would: it imports both servers, approves all
// that they offer, adds two apps, grants, and has each method called once. The
// folder must not exist.
func Prepare(ctx context.Context, dir string, servers Servers) (Pool, error) {
	h, err := Open(ctx, dir)
	if err != nil {
		return Pool{}, err
	}
	p := Pool{Dir: dir}
	err = h.prepare(ctx, &p, servers)
	if cerr := h.Close(); err == nil {
		err = cerr
	}
	return p, err
}

func (h *Host) prepare(ctx context.Context, p *Pool, servers Servers) error {
	apps := owner.NewApps(h.store)
	caller, err := apps.Add(ctx, h.owner, Caller, time.Time{})
	if err != nil {
		return err
	}
	reader, err := apps.Add(ctx, h.owner, Reader, time.Time{})
	if err != nil {
		return err
	}
	p.MCP, p.RPC, p.ReaderMCP = caller.MCP.Reveal(), caller.RPC.Reveal(), reader.MCP.Reveal()
	methods, err := h.offer(ctx, Narrow, servers.Narrow)
	if err != nil {
		return err
	}
	tools, err := h.grant(ctx, Caller, Narrow, methods)
	if err != nil {
		return err
	}
	p.Tool = tools[0]
	if servers.Far != "" {
		far := importer.Entry{Name: Far, URL: servers.Far, Exception: strings.TrimSuffix(servers.Far, "/mcp") + "=127.0.0.1/32"}
		if methods, err = h.offerEntry(ctx, far); err != nil {
			return err
		}
		if tools, err = h.grant(ctx, Caller, Far, methods); err != nil {
			return err
		}
		p.FarTool = tools[0]
	}
	if _, err := h.grant(ctx, Caller, resource.AliasItems, []string{"get", "put"}); err != nil {
		return err
	}
	if p.Methods, err = h.offer(ctx, Wide, servers.Wide); err != nil {
		return err
	}
	if _, err := h.grant(ctx, Reader, Wide, p.Methods); err != nil {
		return err
	}
	got, err := h.store.Resource(ctx, h.owner, Narrow)
	if err != nil {
		return err
	}
	p.Resource = got.Row.ID.String()
	return h.firstCalls(ctx, p)
}

// offer imports a server and approves everything.
func (h *Host) offer(ctx context.Context, name string, command []string) ([]string, error) {
	return h.offerEntry(ctx, importer.Entry{Name: name, Command: command[0], Args: command[1:]})
}

func (h *Host) offerEntry(ctx context.Context, e importer.Entry) ([]string, error) {
	listing, err := h.importer.Add(ctx, h.owner, e)
	if err != nil {
		return nil, err
	}
	reviews := owner.NewReviews(h.store)
	review, err := reviews.Show(ctx, h.owner, listing.Resource.String())
	if err != nil {
		return nil, err
	}
	var methods []string
	var choices []authority.Choice
	for _, m := range review.Methods {
		methods = append(methods, m.Method.Definition.ID)
		choices = append(choices, authority.Choice{Method: m.Method.Definition.ID})
	}
	_, err = reviews.Approve(ctx, h.owner, listing.Resource.String(), review.Shown, choices)
	return methods, err
}

func (h *Host) grant(ctx context.Context, app, resource string, methods []string) (tools []string, err error) {
	rows, err := owner.NewGrants(h.store).Add(ctx, h.owner, owner.NewRows{App: app, Resource: resource, Methods: methods, Confirm: grant.Never})
	for _, row := range rows {
		tools = append(tools, row.Tool)
	}
	return tools, err
}

// firstCalls makes one call of each kind, so that their rows can be looked at.
func (h *Host) firstCalls(ctx context.Context, p *Pool) error {
	who, err := Who(ctx, h.store.FindToken, p.RPC)
	if err != nil {
		return err
	}
	for _, r := range []dispatch.Request{
		{Ref: dispatch.Reference{Resource: p.Resource, Method: Method}, Args: fmt.Appendf(nil, `{"text":%q}`, load.Text)},
		{Ref: items("put"), Args: fmt.Appendf(nil, `{"key":%q,"value":%q}`, load.Key, load.Value), If: []byte(`{"absent":true}`)},
		{Ref: items("get"), Args: fmt.Appendf(nil, `{"key":%q}`, load.Key)},
	} {
		r.Tx = id.NewTx(time.Now())
		answer := h.port.Call(ctx, who, r)
		if answer.Status != invocation.OK {
			return fmt.Errorf("whole: %s: %w", r.Ref.Method, answer.Fault)
		}
		if p.FirstCall == "" {
			p.FirstCall = answer.Invocation.String()
		}
	}
	return nil
}

func items(method string) dispatch.Reference {
	return dispatch.Reference{Resource: resource.AliasItems, Contract: contract.ItemStoreURL, Method: method}
}

// Who is the caller that a token stands for.
func Who(ctx context.Context, find func(context.Context, secret.Hash) (authority.Caller, bool, error), token string) (authority.Caller, error) {
	hash, ok := secret.HashToken(secret.Access, secret.Of(token))
	if !ok {
		return authority.Caller{}, fmt.Errorf("whole: not a token")
	}
	caller, found, err := find(ctx, hash)
	if err == nil && !found {
		err = fmt.Errorf("whole: the token is not known")
	}
	return caller, err
}
