package holdings

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/rights"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
)

const (
	ownerByName = "SELECT o.owner FROM owners o WHERE o.name = $1"
	lastNumber  = "SELECT COALESCE(MAX(o.number), 0) FROM owners o"
	addOwner    = "INSERT INTO owners (owner, number, name, changes, rights, created_at) VALUES ($1, $2, $3, 0, '', $4)"
	addProfile  = "INSERT INTO profiles (owner, name, locale, timezone, updated_at) VALUES ($1, '', '', '', $2)"
	ownersHand  = "SELECT c.client FROM clients c WHERE c.owner = $1 AND c.kind = 'owner' ORDER BY c.created_at LIMIT 1"
	byAlias     = "SELECT r.resource FROM resources r WHERE r.owner = $1 AND r.alias = $2 AND r.alias <> ''"

	handName = "owner" // of the client that is the owner's own hand
)

// seeding is one EnsureOwner with the ids that it may need.
type seeding struct {
	owner     id.Owner
	hand      id.Client
	seeds     []view.Seed
	resources []id.Resource
	revisions []id.Revision
	changed   bool
}

// EnsureOwner makes the owner of this name with a client for the owner's own
// hand and the built-in resources, or brings the built-ins up to what this host
// offers. A method whose definition changed is another one, so that grants of
// the old one need a new yes.
func (h *Holdings) EnsureOwner(ctx context.Context, name string, seeds []view.Seed) (id.Owner, id.Client, error) {
	if err := resource.CheckLabel(name); err != nil {
		return id.Owner{}, id.Client{}, err
	}
	fresh := seeding{owner: id.New[id.Owner](), hand: id.New[id.Client](), seeds: seeds}
	for range seeds {
		fresh.resources = append(fresh.resources, id.New[id.Resource]())
		fresh.revisions = append(fresh.revisions, id.New[id.Revision]())
	}
	var s seeding
	err := h.ledger.Write(ctx, func(tx *ledger.Tx) error {
		s = fresh
		if err := s.find(tx, name); err != nil {
			return err
		}
		for i := range seeds {
			if err := s.ensure(tx, i); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(countChange, s.owner.String()); err != nil {
			return err
		}
		return rights.Pin(tx, s.owner)
	})
	if err != nil {
		return id.Owner{}, id.Client{}, err
	}
	if s.changed {
		h.changed(s.owner, id.Client{})
	}
	return s.owner, s.hand, nil
}

// find reads the owner and the hand, or makes them.
func (s *seeding) find(tx *ledger.Tx, name string) error {
	found, err := tx.One(ownerByName, []any{name}, record.Text(&s.owner))
	if err != nil {
		return err
	}
	if found {
		_, err = tx.One(ownersHand, []any{s.owner.String()}, record.Text(&s.hand))
		return err
	}
	at, last := tx.Now.UnixMilli(), int64(0)
	if _, err := tx.One(lastNumber, nil, &last); err != nil {
		return err
	}
	if _, err := tx.Exec(addOwner, s.owner.String(), last+record.CallsOfOwner, name, at); err != nil {
		return err
	}
	if _, err := tx.Exec(addProfile, s.owner.String(), at); err != nil {
		return err
	}
	if _, err := tx.Exec(addClient, s.owner.String(), s.hand.String(), handName, string(authority.OwnersHand), at); err != nil {
		return err
	}
	_, err = tx.Audit(said(s.owner, audit.AppAdded, s.hand.String(), "the owner's own hand"))
	return err
}

// ensure makes one built-in resource, or changes its methods to those of the
// document.
func (s *seeding) ensure(tx *ledger.Tx, i int) error {
	seed, which := s.seeds[i], s.resources[i]
	found, err := tx.One(byAlias, []any{s.owner.String(), seed.Alias}, record.Text(&which))
	if err != nil {
		return err
	}
	row := resource.Row{ID: which, Owner: s.owner, Kind: seed.Kind, Label: seed.Label, Alias: seed.Alias,
		Storage: resource.AtHost, Revision: s.revisions[i], State: resource.Active, CreatedAt: tx.Now}
	if !found {
		if err := record.AddResource(tx.Tx, row); err != nil {
			return err
		}
	}
	stored, err := record.MethodsOf(tx.Tx, s.owner, which)
	if err != nil {
		return err
	}
	changes := offered(seed, stored)
	if len(changes) == 0 && found {
		return nil
	}
	for _, m := range changes {
		if err := record.PutMethod(tx.Tx, s.owner, which, resource.Kept{Method: m}); err != nil {
			return err
		}
	}
	if len(seed.Document.Methods) > 0 {
		if err := record.AddContract(tx.Tx, s.owner, seed.Document, tx.Now.UnixMilli()); err != nil {
			return err
		}
	}
	kind := audit.Imported
	if found {
		kind, s.changed = audit.Drifted, true
		before, err := resourceOf(tx, s.owner, which)
		if err != nil {
			return err
		}
		before.Row.Revision = s.revisions[i]
		if err := record.ChangeResource(tx.Tx, before.Row); err != nil {
			return err
		}
	}
	_, err = tx.Audit(said(s.owner, kind, which.String(), seed.Alias+" as this host offers it"))
	return err
}

// offered gives the methods of a built-in that differ from the document, as they
// shall stand. A method that the owner switched off stays off.
func offered(seed view.Seed, stored []resource.Kept) (changes []resource.Method) {
	before := map[string]resource.Method{}
	for _, k := range stored {
		if k.Method.Binding.Tool != "" { // of a capsule, and not the host's to say
			continue
		}
		before[k.Method.Definition.ID] = k.Method
	}
	sum, binding := seed.Document.Digest(), resource.ByHost
	if seed.Kind == resource.Capsule {
		binding = resource.ByCapsule
	}
	for _, definition := range seed.Document.Methods {
		m := resource.Method{Contract: seed.Document.URL, Document: sum, Definition: definition,
			Binding: resource.Binding{Kind: binding}, State: resource.Live}
		was, known := before[definition.ID]
		delete(before, definition.ID)
		if known && was.State == resource.Off {
			m.State, m.Reason = was.State, was.Reason
		}
		if !known || was.Document != m.Document || was.State != m.State {
			changes = append(changes, m)
		}
	}
	for _, m := range before {
		if m.State != resource.Gone {
			m.State, m.Reason = resource.Gone, "this host no longer offers it"
			changes = append(changes, m)
		}
	}
	return changes
}
