// Package importer brings MCP servers that the owner already has into the pool:
// it lists an upstream whole, proposes for every tool a narrowed method with
// effect classes, and stages that for the owner's review. Nothing that it does
// makes anything callable (pool page, section 8).
//
// A listing is always merged with what is stored in one transaction, so that a
// drifted tool is off from the moment it is seen, and every new session is listed
// before it takes a call. The importer keeps nothing itself but how the collector was
// set before something large came; it is safe for concurrent use.
package importer

import (
	"context"
	"log/slog"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Tool is one tool of an upstream, its definition as it was received. One that
// could not be taken has no definition and says why in Trouble.
type Tool struct {
	Name    string
	Raw     []byte
	Trouble *fault.Fault
}

// Listed is everything that an upstream offers now.
type Listed struct {
	Server   string // name and version, as it calls itself
	Protocol string // negotiated revision
	Tools    []Tool
	By       resource.BindingKind // how its methods are executed; empty for resource.ByMCP
}

// Fleet is the set of upstream connections, one for each entry in use.
type Fleet interface {
	// Use makes an entry known; its process starts when it is first needed.
	Use(adapter id.Adapter, owner id.Owner, e Entry) error
	// Reach says whether the host may reach an entry's server, before anything is
	// sent to it; the fault proposes an exception where one would let it out.
	Reach(ctx context.Context, e Entry) error
	// List opens the connection if needed and reads all pages.
	List(ctx context.Context, adapter id.Adapter) (Listed, error)
	// Drop ends an entry's connection and forgets it.
	Drop(adapter id.Adapter)
	// Connection tells how an entry's connection stands, false if it is not known.
	Connection(adapter id.Adapter) (view.Connection, bool)
}

// Store keeps entries and what they offer.
type Store interface {
	Adapters(ctx context.Context) ([]view.Adapter, error)
	AddAdapter(ctx context.Context, a view.Adapter, r resource.Row) error
	// ReplaceAdapter configures an entry that is switched off anew, and switches it on.
	ReplaceAdapter(ctx context.Context, owner id.Owner, adapter id.Adapter, configuration []byte) error
	SetAdapterState(ctx context.Context, owner id.Owner, adapter id.Adapter, state view.AdapterState) error
	ApplyListing(ctx context.Context, owner id.Owner, adapter id.Adapter, server, protocol string, offers []resource.Offer) (view.Listing, error)
}

// Importer stages upstreams.
type Importer struct {
	store   Store
	fleet   Fleet
	profile narrowing.Profile
	log     *slog.Logger
	lean    lean
}

// New returns an importer that narrows by the default profile.
func New(store Store, fleet Fleet, log *slog.Logger) *Importer {
	return &Importer{store: store, fleet: fleet, profile: narrowing.Default(), log: log}
}

// Start makes every enabled entry of the store known to the fleet. It starts no
// process, so a host with broken upstreams starts all the same.
func (im *Importer) Start(ctx context.Context) error {
	rows, err := im.store.Adapters(ctx)
	if err != nil {
		return err
	}
	for _, a := range rows {
		if a.State != view.Enabled || a.Kind == view.InCapsule {
			continue
		}
		e, err := decodeEntry(a.Configuration)
		if err == nil {
			err = im.fleet.Use(a.ID, a.Owner, e)
		}
		if err != nil {
			im.log.Error("an entry cannot be used", "adapter", a.ID.String(), "err", err)
		}
	}
	return nil
}

// Plan lists an entry and proposes, and changes nothing.
func (im *Importer) Plan(ctx context.Context, owner id.Owner, e Entry) ([]Proposal, error) {
	_, proposals, err := im.probe(ctx, id.New[id.Adapter](), owner, e, true)
	return proposals, err
}

// Add lists an entry and stages its tools as proposed methods of a new resource.
// An entry that cannot be listed is refused and nothing is stored; one whose tools
// cannot be stored is removed again.
func (im *Importer) Add(ctx context.Context, owner id.Owner, e Entry) (view.Listing, error) {
	first, adapter, err := im.stage(ctx, owner, e)
	if err != nil {
		return view.Listing{}, err
	}
	// The upstream's word that its tools changed counts for nothing before the
	// entry is stored; what it changed until then is seen now, or at the next
	// listing.
	again, err := im.Refresh(ctx, owner, adapter)
	if err != nil {
		im.log.Warn("a new entry could not be listed a second time", "adapter", adapter.String(), "err", err)
		return view.Listing{Resource: first}, nil
	}
	return again, nil
}

// stage stores a new entry with what it offers. It keeps nothing of the listing, which
// may be large.
func (im *Importer) stage(ctx context.Context, owner id.Owner, e Entry) (id.Resource, id.Adapter, error) {
	adapter := id.New[id.Adapter]()
	listed, proposals, err := im.probe(ctx, adapter, owner, e, false)
	if err != nil {
		im.fleet.Drop(adapter)
		return id.Resource{}, adapter, err
	}
	if sizeOf(listed) > large {
		defer im.Frugally()()
	}
	configuration, err := strictjson.Encode(e)
	if err != nil {
		return id.Resource{}, adapter, err
	}
	now := time.Now()
	row := view.Adapter{Owner: owner, ID: adapter, Name: e.Name, Kind: e.Kind(), Configuration: configuration, State: view.Enabled}
	res := resource.Row{ID: id.New[id.Resource](), Owner: owner, Kind: resource.Connection, Label: e.Name, Adapter: adapter,
		Storage: resource.AtThirdParty, Revision: id.New[id.Revision](), State: resource.Active, CreatedAt: now}
	if err := im.store.AddAdapter(ctx, row, res); err != nil {
		im.fleet.Drop(adapter)
		return id.Resource{}, adapter, err
	}
	_, err = im.store.ApplyListing(ctx, owner, adapter, listed.Server, listed.Protocol, offersOf(proposals))
	if err != nil {
		if bad := im.Remove(context.WithoutCancel(ctx), owner, adapter); bad != nil {
			im.log.Error("an entry without tools is left over", "adapter", adapter.String(), "err", bad)
		}
		return id.Resource{}, adapter, err
	}
	return res.ID, adapter, nil
}

// Enabled lists the entries that are switched on, of all owners.
func (im *Importer) Enabled(ctx context.Context) (out []id.Adapter, err error) {
	rows, err := im.store.Adapters(ctx)
	for _, a := range rows {
		if a.State == view.Enabled {
			out = append(out, a.ID)
		}
	}
	return out, err
}

// Relist does what an upstream's word that its tools have changed asks for. The
// word of an entry that is only being looked at is nothing yet.
func (im *Importer) Relist(ctx context.Context, adapter id.Adapter) error {
	owner, used, err := im.ownerOf(ctx, adapter)
	if err == nil && used {
		_, err = im.Refresh(ctx, owner, adapter)
	}
	return err
}

// Opened merges what a new session of an entry offers, before a call can go out to
// it: the upstream may be another program than the one that was approved (threats,
// A48). An entry that is only being looked at is left alone.
func (im *Importer) Opened(ctx context.Context, adapter id.Adapter, listed Listed) error {
	owner, used, err := im.ownerOf(ctx, adapter)
	if err == nil && used {
		_, err = im.merge(ctx, owner, adapter, listed)
	}
	return err
}

// ownerOf gives the owner of an entry that is switched on, false where there is none.
func (im *Importer) ownerOf(ctx context.Context, adapter id.Adapter) (owner id.Owner, used bool, err error) {
	rows, err := im.store.Adapters(ctx)
	if err != nil {
		return id.Owner{}, false, err
	}
	for _, a := range rows {
		if a.ID == adapter && a.State == view.Enabled {
			return a.Owner, true, nil
		}
	}
	return id.Owner{}, false, nil
}

// Refresh lists an entry again and merges the result; methods that drifted are
// off when it returns.
func (im *Importer) Refresh(ctx context.Context, owner id.Owner, adapter id.Adapter) (view.Listing, error) {
	listed, err := im.fleet.List(ctx, adapter)
	if err != nil {
		return view.Listing{}, err
	}
	return im.merge(ctx, owner, adapter, listed)
}

func (im *Importer) merge(ctx context.Context, owner id.Owner, adapter id.Adapter, listed Listed) (view.Listing, error) {
	if sizeOf(listed) > large {
		defer im.Frugally()()
	}
	return im.store.ApplyListing(ctx, owner, adapter, listed.Server, listed.Protocol, offersOf(im.propose(adapter, "", listed)))
}

// Connection tells how an entry's connection stands, false if it is not in use.
func (im *Importer) Connection(adapter id.Adapter) (view.Connection, bool) {
	return im.fleet.Connection(adapter)
}

// Reopen ends an entry's connection, which may be one that was refused, and lists its
// server on a new one.
func (im *Importer) Reopen(ctx context.Context, owner id.Owner, name string) error {
	row, e, err := im.named(ctx, owner, name)
	switch {
	case err != nil:
		return err
	case row.ID.IsZero():
		return fault.New(fault.NotFound, "there is no such entry")
	case row.State != view.Enabled:
		return nil // a sign-in is no word to start it
	}
	im.fleet.Drop(row.ID)
	if err := im.fleet.Use(row.ID, owner, e); err != nil {
		return err
	}
	_, err = im.Refresh(ctx, owner, row.ID)
	return err
}

// Enable switches an entry on that is off, as after a restore, and makes it known to
// the fleet; its process starts when it is first needed.
func (im *Importer) Enable(ctx context.Context, owner id.Owner, name string) error {
	row, e, err := im.named(ctx, owner, name)
	if err != nil || row.State != view.Disabled {
		return err
	}
	if err := im.store.SetAdapterState(ctx, owner, row.ID, view.Enabled); err != nil {
		return err
	}
	return im.fleet.Use(row.ID, owner, e)
}

// Replace configures an entry that is off, as after a restore, with what it is given
// now, such as another secret, and switches it on. Conflict where it is not off.
func (im *Importer) Replace(ctx context.Context, owner id.Owner, e Entry) error {
	if err := e.Check(); err != nil {
		return err
	}
	row, _, err := im.named(ctx, owner, e.Name)
	if err != nil {
		return err
	}
	configuration, err := strictjson.Encode(e)
	if err != nil {
		return err
	}
	if err := im.store.ReplaceAdapter(ctx, owner, row.ID, configuration); err != nil {
		return err
	}
	return im.fleet.Use(row.ID, owner, e)
}

// Remove takes an entry and its resource out of the pool for good.
func (im *Importer) Remove(ctx context.Context, owner id.Owner, adapter id.Adapter) error {
	if err := im.store.SetAdapterState(ctx, owner, adapter, view.Removed); err != nil {
		return err
	}
	im.fleet.Drop(adapter)
	return nil
}

func (im *Importer) probe(ctx context.Context, adapter id.Adapter, owner id.Owner, e Entry, dropAfter bool) (Listed, []Proposal, error) {
	if err := e.Check(); err != nil {
		return Listed{}, nil, err
	}
	if err := im.fleet.Reach(ctx, e); err != nil {
		return Listed{}, nil, err
	}
	if err := im.fleet.Use(adapter, owner, e); err != nil {
		return Listed{}, nil, err
	}
	if dropAfter {
		defer im.fleet.Drop(adapter)
	}
	listed, err := im.fleet.List(ctx, adapter)
	if err != nil {
		return Listed{}, nil, im.withLastWords(adapter, err)
	}
	if sizeOf(listed) > large {
		defer im.Frugally()()
	}
	if len(listed.Tools) == 0 {
		return Listed{}, nil, fault.Newf(fault.Unsupported, "%s offers no tools", e.Name)
	}
	return listed, im.propose(adapter, e.Name, listed), nil
}

// withLastWords adds what a server printed before it failed. Only the owner
// imports, so only the owner reads it.
func (im *Importer) withLastWords(adapter id.Adapter, err error) error {
	c, ok := im.fleet.Connection(adapter)
	if !ok || c.Reason == "" {
		return err
	}
	return fault.From(err).With("stderr", resource.Visible(c.Reason))
}

func (im *Importer) propose(adapter id.Adapter, server string, listed Listed) []Proposal {
	out := make([]Proposal, len(listed.Tools))
	for i, t := range listed.Tools {
		out[i] = propose(adapter, server, t, im.profile)
		if listed.By != "" {
			out[i].offer.Binding.Kind = listed.By
		}
	}
	return out
}

func offersOf(proposals []Proposal) []resource.Offer {
	out := make([]resource.Offer, len(proposals))
	for i, p := range proposals {
		out[i] = p.offer
	}
	return out
}
