package rpc

import (
	"bytes"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// decode reads a message whose members may be left out but are never null.
func decode(body []byte, into any) error {
	if err := strictjson.Decode(body, strictjson.RequestLimits, into); err != nil {
		return err
	}
	if !bytes.Contains(body, []byte("null")) {
		return nil
	}
	members, err := strictjson.Members(body, strictjson.RequestLimits)
	if err != nil {
		return err
	}
	for name, value := range members {
		if string(value) == "null" {
			return wrong("/"+name, "null where a value is needed")
		}
	}
	return nil
}

// wrong is the fault of one member, whose name must be one of the wire's.
func wrong(pointer, text string) *fault.Fault {
	return fault.New(fault.InvalidRequest, text).With("pointer", pointer)
}

func place(err error, pointer string) error {
	if err == nil {
		return nil
	}
	return fault.From(err).With("pointer", pointer)
}

// parseCall reads a call. The tx is given back whenever it is well-formed, so
// that a refusal can name it.
func parseCall(body []byte) (id.Tx, dispatch.Request, error) {
	var in rpcwire.Request
	if err := decode(body, &in); err != nil {
		return id.Tx{}, dispatch.Request{}, err
	}
	tx, err := checkHead(in.V, in.Tx)
	if err != nil {
		return tx, dispatch.Request{}, err
	}
	for _, required := range []struct {
		pointer string
		there   bool
	}{{"/resource", in.Resource != ""}, {"/contract", in.Contract != ""}, {"/method", in.Method != ""}, {"/args", in.Args != nil}} {
		if !required.there {
			return tx, dispatch.Request{}, wrong(required.pointer, "a member that is needed is missing or empty")
		}
	}
	if in.If != nil && in.If[0] != '{' {
		return tx, dispatch.Request{}, wrong("/if", "the precondition is an object")
	}
	out := dispatch.Request{
		Tx: tx, Ref: dispatch.Reference{Resource: in.Resource, Contract: in.Contract, Method: in.Method},
		Args: in.Args, If: in.If,
	}
	err = parseOptions(in, &out)
	return tx, out, err
}

// checkHead checks what every message starts with.
func checkHead(v int, text string) (id.Tx, error) {
	tx, err := id.Parse[id.Tx](text)
	if v != rpcwire.Version {
		return tx, wrong("/v", "v is 1")
	}
	return tx, place(err, "/tx")
}

func parseOptions(in rpcwire.Request, out *dispatch.Request) (err error) {
	if in.DeadlineMS != nil {
		ms := *in.DeadlineMS
		if ms < 1 {
			return wrong("/deadline_ms", "the deadline is at least 1 millisecond")
		}
		if ms > bound.CallDeadline.Max {
			return bound.CallDeadline.Exceeded().With("pointer", "/deadline_ms")
		}
		out.Deadline = time.Duration(ms) * time.Millisecond
	}
	if in.ContractDigest != nil {
		if out.Contract, err = digest.Parse(*in.ContractDigest); err != nil {
			return place(err, "/contract_digest")
		}
	}
	if in.Confirm != nil {
		if out.Confirm, err = id.Parse[id.Confirmation](*in.Confirm); err != nil {
			return place(err, "/confirm")
		}
	}
	if in.Ack != nil {
		out.Ack, err = id.Parse[id.Tx](*in.Ack)
	}
	return place(err, "/ack")
}

func parseLookup(body []byte) (id.Tx, error) {
	var in rpcwire.LookupRequest
	if err := decode(body, &in); err != nil {
		return id.Tx{}, err
	}
	return checkHead(in.V, in.Tx)
}
