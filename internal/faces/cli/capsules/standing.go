package capsules

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// standing tells who may read a capsule from before, since a grant holds for what it
// serves now, and gives the name by which commands find it: its own, or its alias
// where another resource has the same.
func (d verbs) standing(ctx context.Context, capsule string) string {
	name, which := capsule, ""
	all, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesList, adminwire.Empty{})
	for _, r := range all.Resources {
		switch {
		case r.Alias == resource.AliasCapsule+capsule:
			which = r.ID
		case r.Label == capsule:
			name = resource.AliasCapsule + capsule
			d.Note("another resource has the name %s as well; this one is %s", capsule, name)
		}
	}
	var grants adminwire.Grants
	if err == nil {
		grants, err = desk.Ask(ctx, d.Desk, adminwire.GrantsList, adminwire.ListGrants{})
	}
	for _, g := range grants.Grants {
		if g.ResourceID == which && g.Method == "read" && g.State == string(grant.Active) {
			d.Say("%s can read this: steward grants revoke %s", paper.Line(g.App), g.ID)
		}
	}
	if err != nil {
		d.Note("who can read it is not known: %v", err)
	}
	return name
}
