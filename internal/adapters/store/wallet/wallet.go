// Package wallet keeps steward's own credentials at the servers of others, sealed for
// the issuer that gave them. A verb is one transaction. A Wallet is safe for
// concurrent use; what it promises of durability is the ledger's.
package wallet

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/vault"
)

const (
	credentialOf  = "SELECT issuer, sealed FROM credentials WHERE owner = $1 AND name = $2"
	putCredential = "INSERT INTO credentials (owner, name, issuer, sealed, changed_at) VALUES ($1, $2, $3, $4, $5) " +
		"ON CONFLICT (owner, name) DO UPDATE SET issuer = excluded.issuer, sealed = excluded.sealed, changed_at = excluded.changed_at"
)

// Wallet has the verbs.
type Wallet struct {
	ledger *ledger.Ledger
	vault  *vault.Vault
}

// New returns the verbs over a ledger; the vault seals.
func New(l *ledger.Ledger, v *vault.Vault) *Wallet { return &Wallet{l, v} }

// credited is where a credential lies: a sealed one opens for its issuer alone.
func credited(owner id.Owner, name, issuer string) vault.Place {
	return vault.Place{Table: "credentials", Row: owner.String() + " " + issuer + " " + name, Column: "sealed"}
}

// Credential is steward's own credential for the server of an owner's entry, false
// where there is none.
func (w *Wallet) Credential(ctx context.Context, owner id.Owner, name string) (c credential.Credential, found bool, err error) {
	err = w.ledger.Read(ctx, func(tx *ledger.Tx) (err error) {
		c, found, err = w.credential(tx, owner, name)
		return err
	})
	return c, found && err == nil, err
}

func (w *Wallet) credential(tx *ledger.Tx, owner id.Owner, name string) (credential.Credential, bool, error) {
	var issuer string
	var sealed []byte
	found, err := tx.One(credentialOf, []any{owner.String(), name}, &issuer, &sealed)
	if err != nil || !found {
		return credential.Credential{}, false, err
	}
	raw, err := w.vault.Open(credited(owner, name, issuer), sealed)
	if err != nil {
		return credential.Credential{}, false, err
	}
	c, err := credential.Decode(raw)
	if err == nil && c.Server.Issuer != issuer {
		err = fault.New(fault.Unavailable, "a credential is not its issuer's")
	}
	return c, err == nil, err
}

// PutCredential keeps a credential in the place of the one that an entry had. The
// trail tells of a new issuer, and of one that needs the owner.
func (w *Wallet) PutCredential(ctx context.Context, owner id.Owner, name string, c credential.Credential) error {
	if err := resource.CheckLabel(name); err != nil {
		return err
	}
	return w.put(ctx, owner, name, c, nil)
}

// ReplaceCredential keeps what came of a credential in its place, as PutCredential
// does. NotFound where the entry has none, or another one by now: an owner's removal
// or new yes stands.
func (w *Wallet) ReplaceCredential(ctx context.Context, owner id.Owner, name string, was, now credential.Credential) error {
	return w.put(ctx, owner, name, now, func(tx *ledger.Tx) error {
		there, found, err := w.credential(tx, owner, name)
		if err == nil && (!found || !there.Is(was)) {
			err = fault.New(fault.NotFound, "the credential is not there any more")
		}
		return err
	})
}

func (w *Wallet) put(ctx context.Context, owner id.Owner, name string, c credential.Credential, first func(*ledger.Tx) error) error {
	raw, err := c.Encode()
	if err != nil {
		return err
	}
	sealed := w.vault.Seal(credited(owner, name, c.Server.Issuer), raw)
	return w.ledger.Write(ctx, func(tx *ledger.Tx) error {
		if first != nil {
			if err := first(tx); err != nil {
				return err
			}
		}
		var before string
		var old []byte
		if _, err := tx.One(credentialOf, []any{owner.String(), name}, &before, &old); err != nil {
			return err
		}
		if _, err := tx.Exec(putCredential, owner.String(), name, c.Server.Issuer, record.Bytes(sealed), tx.Now.UnixMilli()); err != nil {
			return err
		}
		if before == c.Server.Issuer && !c.Refused {
			return nil // renewed
		}
		what := "authorized by " + c.Server.Issuer
		if c.Refused {
			what = "refused by " + c.Server.Issuer
		}
		_, err := tx.Audit(audit.Entry{Owner: owner, Kind: audit.Imported, Subject: name, Detail: resource.Visible(what)})
		return err
	})
}
