package dispatch

import (
	"context"
	"sync"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// definition is a resolved method with its schemas compiled. input is nil where
// there is no such method; the target is then the one that was claimed.
type definition struct {
	Resolved
	pin    digest.Digest
	input  *schema.Schema
	output *schema.Schema
}

type definitionKey struct {
	owner id.Owner
	ref   Reference
}

// callerKey says that a client's call of a method was found to be authorized.
type callerKey struct {
	definitionKey
	client id.Client
}

// definitions remembers compiled methods and who was let in to them. A remembered
// method may be old: the decision inside the transaction compares its pin with the
// stored one, and a mismatch makes the port look again. Who is not known to have
// been let in costs the same work whatever the reference names, so that the time
// of a refusal does not tell whether there is such a method (invariant I51). One
// lock guards the maps; compiling runs outside it.
type definitions struct {
	mu     sync.Mutex
	known  map[definitionKey]definition
	inside map[callerKey]struct{}
}

const (
	definitionsMax = 4096
	insideMax      = 1 << 14
)

func newDefinitions() *definitions {
	return &definitions{known: make(map[definitionKey]definition), inside: make(map[callerKey]struct{})}
}

// lets reports whether a caller's last call of the method was authorized.
func (d *definitions) lets(c authority.Caller, ref Reference) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, in := d.inside[callerKey{definitionKey{c.Owner, ref}, c.Client}]
	return in
}

// renew follows a decision that went as far as the arguments: the caller is
// authorized, and the method is to be read anew.
func (d *definitions) renew(c authority.Caller, ref Reference) {
	key := definitionKey{c.Owner, ref}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, key)
	if len(d.inside) >= insideMax {
		clear(d.inside)
	}
	d.inside[callerKey{key, c.Client}] = struct{}{}
}

// dismiss follows a decision that the caller is not authorized.
func (d *definitions) dismiss(c authority.Caller, ref Reference) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inside, callerKey{definitionKey{c.Owner, ref}, c.Client})
}

// claimed is the target that a whole reference names, whether it is there or not;
// false where only the store can tell, since a name or no contract was given.
func claimed(ref Reference) (definition, bool) {
	which, err := id.Parse[id.Resource](ref.Resource)
	if err != nil || contract.CheckURL(ref.Contract) != nil || contract.CheckMethodID(ref.Method) != nil {
		return definition{}, false
	}
	return definition{Resolved: Resolved{Target: invocation.Target{Resource: which, Contract: ref.Contract, Method: ref.Method}}}, true
}

func (d *definitions) resolve(ctx context.Context, j Journal, owner id.Owner, ref Reference) (definition, error) {
	key := definitionKey{owner, ref}
	d.mu.Lock()
	def, ok := d.known[key]
	d.mu.Unlock()
	if ok {
		return def, nil
	}
	got, found, err := j.Resolve(ctx, owner, ref)
	if err != nil || !found {
		return definition{Resolved: got}, err
	}
	if def, err = compile(got); err != nil {
		return definition{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= definitionsMax {
		clear(d.known)
	}
	d.known[key] = def
	return def, nil
}

func compile(r Resolved) (definition, error) {
	def := definition{Resolved: r, pin: r.Method.Definition.Digest()}
	var err error
	if def.input, err = schema.CompileNested(r.Method.Definition.Input); err != nil {
		return definition{}, err
	}
	if len(r.Method.Definition.Output) > 0 {
		def.output, err = schema.CompileOutput(r.Method.Definition.Output)
	}
	return def, err
}

func (d definition) checkArgs(canonical []byte) *fault.Fault {
	v, err := strictjson.Parse(canonical, strictjson.RequestLimits)
	if err == nil {
		err = d.input.Check(v)
	}
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// canonicalArgs refuses what has no exact canonical form, so that no two
// different inputs share a digest. Absent arguments are the empty object (field
// faults, FF16).
func canonicalArgs(raw []byte) ([]byte, *fault.Fault) {
	if len(raw) == 0 {
		return []byte("{}"), nil
	}
	out, err := strictjson.Canonical(raw, strictjson.RequestLimits)
	if err != nil {
		bad := *fault.From(err)
		if bad.Code == fault.InvalidRequest {
			bad.Code = fault.InvalidArgs // the door has read the request; it is the arguments that have no form
		}
		return nil, &bad
	}
	if out[0] != '{' {
		return nil, fault.New(fault.InvalidArgs, "the arguments are a JSON object")
	}
	return out, nil
}

func canonicalIf(raw []byte) ([]byte, *fault.Fault) {
	if len(raw) == 0 {
		return nil, nil
	}
	return canonicalArgs(raw)
}
