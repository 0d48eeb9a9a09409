package owner

import (
	"cmp"
	"context"
	"slices"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// ReviewStore keeps resources and their methods. A ref is an id, an alias, a
// label, or the name of an upstream entry.
type ReviewStore interface {
	Resources(ctx context.Context, owner id.Owner) ([]view.Resource, error)
	Resource(ctx context.Context, owner id.Owner, ref string) (view.Resource, error)
	Approve(ctx context.Context, owner id.Owner, which id.Resource, c authority.Approve) (authority.ApproveChanges, error)
	Reaffirm(ctx context.Context, owner id.Owner, which id.Resource, c authority.Approve) (authority.ReaffirmChanges, error)
	Defer(ctx context.Context, owner id.Owner, which id.Resource, shown digest.Digest, methods []string, say view.Say) error
}

// Reviews are the resources of a pool and the owner's yes to their methods.
type Reviews struct{ store ReviewStore }

// NewReviews returns the commands about resources.
func NewReviews(store ReviewStore) *Reviews { return &Reviews{store} }

// Review is a resource as the owner is shown it; Shown pins all of it.
type Review struct {
	view.Resource
	Shown digest.Digest
}

// List tells of all resources in the order of their labels.
func (r *Reviews) List(ctx context.Context, owner id.Owner) ([]view.Resource, error) {
	rows, err := r.store.Resources(ctx, owner)
	slices.SortFunc(rows, func(a, b view.Resource) int {
		return cmp.Or(cmp.Compare(a.Row.Label, b.Row.Label), cmp.Compare(a.Row.ID.String(), b.Row.ID.String()))
	})
	return rows, err
}

// Show tells of one resource.
func (r *Reviews) Show(ctx context.Context, owner id.Owner, ref string) (Review, error) {
	got, err := r.store.Resource(ctx, owner, ref)
	if err != nil {
		return Review{}, unknown(err, aResource, ref, listThings)
	}
	methods := make([]resource.Method, len(got.Methods))
	for i, kept := range got.Methods {
		methods[i] = kept.Method
	}
	return Review{got, authority.ReviewDigest(got.Row, methods)}, nil
}

// Approve turns methods live as they were shown. Where anything of the resource
// is not as it was when shown was made, it is a conflict and nothing changes
// (invariant I34).
func (r *Reviews) Approve(ctx context.Context, owner id.Owner, ref string, shown digest.Digest, choices []authority.Choice) (authority.ApproveChanges, error) {
	got, err := r.store.Resource(ctx, owner, ref)
	if err != nil {
		return authority.ApproveChanges{}, unknown(err, aResource, ref, listThings)
	}
	return r.store.Approve(ctx, owner, got.Row.ID, authority.Approve{
		Owner: owner, Shown: shown, Choices: choices,
		NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision](),
	})
}

// Reaffirm turns methods live again of which nothing but words has changed, as they
// were shown, with the grants that rested on them. A method that has changed in
// more is needs_consent, and nothing changes.
func (r *Reviews) Reaffirm(ctx context.Context, owner id.Owner, ref string, shown digest.Digest, methods []string) (authority.ReaffirmChanges, error) {
	got, err := r.store.Resource(ctx, owner, ref)
	if err != nil {
		return authority.ReaffirmChanges{}, unknown(err, aResource, ref, listThings)
	}
	choices := make([]authority.Choice, len(methods))
	for i, m := range methods {
		choices[i] = authority.Choice{Method: m}
	}
	return r.store.Reaffirm(ctx, owner, got.Row.ID, authority.Approve{
		Owner: owner, Shown: shown, Choices: choices,
		NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision](),
	})
}

// Defer remembers a no, a not yet, or a yes that is to be confirmed with others, to
// methods as they were shown. It is asked for again when their definitions change.
func (r *Reviews) Defer(ctx context.Context, owner id.Owner, ref string, shown digest.Digest, methods []string, say view.Say) error {
	if say != view.No && say != view.Later && say != view.Yes {
		return fault.New(fault.InvalidRequest, "the answer is no, later or yes")
	}
	got, err := r.store.Resource(ctx, owner, ref)
	if err != nil {
		return unknown(err, aResource, ref, listThings)
	}
	return r.store.Defer(ctx, owner, got.Row.ID, shown, methods, say)
}
