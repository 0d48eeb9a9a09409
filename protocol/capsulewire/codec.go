package capsulewire

import (
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

var (
	payload = strictjson.Limits{Bytes: bound.CapsuleBytes, Depth: bound.CapsuleDepth, Nodes: bound.CapsuleNodes}
	frame   = strictjson.Limits{Bytes: bound.CapsuleFrameBytes, Depth: bound.CapsuleDepth, Nodes: bound.CapsuleNodes}
)

// Definition is one resource of a reply, or why it could not be read.
type Definition struct {
	ResourceDefinition
	Err error
}

// DecodeDescribe reads the answer to a describe request. More resources than
// bound.ReplyDefinitions are the fault of that bound, with nothing read of them.
func DecodeDescribe(raw []byte) ([]Definition, error) {
	var list struct {
		Resources []Raw `json:"resources"`
	}
	if err := strictjson.Decode(raw, payload, &list); err != nil {
		return nil, err
	}
	if err := bound.ReplyDefinitions.Check(len(list.Resources)); err != nil {
		return nil, err
	}
	out := make([]Definition, len(list.Resources))
	for i, one := range list.Resources {
		if err := required(one, "uri", "name"); err != nil {
			out[i].Err = err
		} else if err := strictjson.Decode(one, payload, &out[i].ResourceDefinition); err != nil {
			out[i] = Definition{Err: err}
		}
	}
	return out, nil
}

// DecodeRead reads the answer to a read request.
func DecodeRead(raw []byte) (ReadResponse, error) {
	var r struct {
		URI      string  `json:"uri"`
		Contents []Raw   `json:"contents"`
		Error    *string `json:"error"`
		Meta     *string `json:"meta"`
	}
	if err := strictjson.Decode(raw, payload, &r); err != nil {
		return ReadResponse{}, err
	}
	if err := required(raw, "uri"); err != nil {
		return ReadResponse{}, err
	}
	if r.Error != nil && len(r.Contents) > 0 {
		return ReadResponse{}, fault.New(fault.InvalidRequest, "an error and contents exclude each other")
	}
	if err := bound.ReadChunks.Check(len(r.Contents)); err != nil {
		return ReadResponse{}, err
	}
	out := ReadResponse{URI: r.URI, Error: r.Error, Meta: r.Meta}
	size := 0
	for _, one := range r.Contents {
		c, err := decodeContents(one)
		if err != nil {
			return ReadResponse{}, err
		}
		if c.Text != nil {
			size += len(c.Text.Text)
		} else {
			size += len(c.Blob.Blob)
		}
		if err := bound.ReadContentBytes.Check(size); err != nil {
			return ReadResponse{}, err
		}
		out.Contents = append(out.Contents, c)
	}
	return out, nil
}

func decodeContents(raw Raw) (ResourceContents, error) {
	arms, err := strictjson.Members(raw, payload)
	if err != nil {
		return ResourceContents{}, err
	}
	var c ResourceContents
	if err := strictjson.Decode(raw, payload, &c); err != nil {
		return ResourceContents{}, err
	}
	if len(arms) != 1 {
		return ResourceContents{}, fault.New(fault.InvalidRequest, "contents have one arm, text or blob")
	}
	switch {
	case c.Text != nil:
		err = required(arms["text"], "uri", "text")
	case c.Blob != nil:
		err = required(arms["blob"], "uri", "blob")
	default:
		err = fault.New(fault.InvalidRequest, "an arm of contents is an object")
	}
	if err != nil {
		return ResourceContents{}, err
	}
	return c, nil
}

// DecodeReadRequest reads a question, on the capsule's side.
func DecodeReadRequest(raw []byte) (ReadRequest, error) {
	var r ReadRequest
	if err := strictjson.Decode(raw, payload, &r); err != nil {
		return ReadRequest{}, err
	}
	return r, required(raw, "uri", "correlation-id")
}

// Encode writes a record, at most bound.CapsuleBytes.
func Encode(record any) (Raw, error) {
	out, err := strictjson.Encode(record)
	if err != nil {
		return nil, err
	}
	return out, bound.CapsuleBytes.Check(len(out))
}

// required refuses an object in which one of the names is absent or null.
func required(raw Raw, names ...string) error {
	members, err := strictjson.Members(raw, payload)
	if err != nil {
		return err
	}
	for name, value := range members {
		if string(value) == "null" {
			return fault.New(fault.InvalidRequest, "null where a value is needed").With("member", name)
		}
	}
	for _, name := range names {
		if _, ok := members[name]; !ok {
			return fault.New(fault.InvalidRequest, "a member is missing").With("member", name)
		}
	}
	return nil
}
