// Package builtins says which resources every owner has from the start and by
// which contracts they are called. The documents are the published ones in the
// contracts folder; what the methods do is executed by the store, in the same
// commit that journals the call (pool page, section 10).
//
// The package is read at start and keeps nothing.
package builtins

import (
	"github.com/stewardhost/steward/contracts"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
)

var files = []struct{ file, label, alias string }{
	{"pool/item-store-v1.json", resource.LabelItems, resource.AliasItems},
	{"pool/profile-v1.json", resource.LabelProfile, resource.AliasProfile},
	{"pool/grants-v1.json", resource.LabelGrants, resource.AliasGrants},
	{"pool/journal-v1.json", resource.LabelJournal, resource.AliasJournal},
}

// Capsule is the resource of an installed capsule, which has nothing to read where it
// serves no resources.
func Capsule(name string, serves bool) (view.Seed, error) {
	seed := view.Seed{Kind: resource.Capsule, Label: name, Alias: resource.AliasCapsule + name}
	if !serves {
		return seed, nil
	}
	doc, err := contract.Parse(contracts.Capsule)
	if err != nil {
		return view.Seed{}, err
	}
	seed.Document = doc
	return seed, nil
}

// Seeds returns the built-in resources. An error means that this binary was
// built with a broken document.
func Seeds() ([]view.Seed, error) {
	seeds := make([]view.Seed, 0, len(files))
	for _, f := range files {
		raw, err := contracts.Pool.ReadFile(f.file)
		if err != nil {
			return nil, err
		}
		doc, err := contract.Parse(raw)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, view.Seed{Kind: resource.Builtin, Label: f.label, Alias: f.alias, Document: doc})
	}
	return seeds, nil
}
