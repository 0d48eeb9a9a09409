package admin

import (
	"context"
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/signin"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// named finds an imported entry by its name or its resource, false where there is
// none.
func (d *Door) named(ctx context.Context, ref string) (importer.Entry, bool, error) {
	name := ref
	if got, err := d.Reviews.Show(ctx, d.host.Owner, ref); err == nil {
		name = got.Adapter.Name
	} else if !fault.Is(err, fault.NotFound) {
		return importer.Entry{}, false, err
	}
	all, err := d.Importer.Entries(ctx, d.host.Owner)
	if err != nil {
		return importer.Entry{}, false, err
	}
	i := slices.IndexFunc(all, func(e importer.Entry) bool { return e.Name == name })
	if i < 0 {
		return importer.Entry{}, false, nil
	}
	return all[i], true, nil
}

func (d *Door) resourcesAuthorize(ctx context.Context, req adminwire.SignIn) (adminwire.SignInLink, error) {
	e, found, err := d.named(ctx, req.Server)
	switch {
	case err != nil:
		return adminwire.SignInLink{}, err
	case found && req.URL != "" && req.URL != e.URL:
		return adminwire.SignInLink{}, at(fault.New(fault.Conflict, "an entry of this name has another address"), "/url")
	case !found:
		e = importer.Entry{Name: req.Server, URL: req.URL, Exception: req.Exception}
	}
	if !e.Remote() {
		return adminwire.SignInLink{}, at(fault.New(fault.InvalidRequest, "it is no server at an address; give the URL of one that is not imported yet"), "/server")
	}
	if err := e.Check(); err != nil {
		return adminwire.SignInLink{}, err
	}
	link, err := d.SignIn.Begin(ctx, signin.Ask{Owner: d.host.Owner, Name: e.Name, URL: e.URL, Exception: e.Exception,
		Client: req.Client, Secret: secret.Of(req.Secret), Scopes: req.Scopes})
	if err != nil {
		return adminwire.SignInLink{}, err
	}
	return adminwire.SignInLink{Link: link.URL, Issuer: link.Issuer, Former: link.Former, Scopes: append([]string{}, link.Scopes...), Until: link.Until}, nil
}

// oneWait is shorter than what a reply may take.
const oneWait = 5 * time.Second

func (d *Door) resourcesAuthorized(ctx context.Context, req adminwire.ServerRef) (adminwire.SignedIn, error) {
	e, found, err := d.named(ctx, req.Server)
	if err != nil {
		return adminwire.SignedIn{}, err
	}
	name := req.Server
	if found {
		name = e.Name
	}
	wait, cancel := context.WithTimeout(ctx, oneWait)
	defer cancel()
	err = d.SignIn.Wait(wait, d.host.Owner, name)
	switch {
	case wait.Err() != nil && ctx.Err() == nil:
		return adminwire.SignedIn{}, nil
	case err != nil:
		return adminwire.SignedIn{}, err
	case found:
		err = d.Importer.Reopen(ctx, d.host.Owner, name)
	}
	return adminwire.SignedIn{Done: true, Imported: found}, err
}
