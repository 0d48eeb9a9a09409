package frame

import (
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// ProgressToken gives what the client wants to be told of progress under, nil for
// not at all.
func ProgressToken(p Params) (strictjson.Raw, *Problem) {
	raw, given := p.Meta["progressToken"]
	if !given {
		return nil, nil
	}
	if _, ok := ParseID(raw); !ok {
		return nil, &Problem{Code: BadParams, Message: "a progress token is a string or an integer"}
	}
	return raw, nil
}

// Tx reads a tx out of _meta; an absent one is zero.
func Tx(p Params, member string) (id.Tx, *Problem) {
	raw, given := p.Meta[member]
	if !given {
		return id.Tx{}, nil
	}
	s, _ := Text(raw)
	tx, err := id.Parse[id.Tx](s)
	if err != nil {
		return id.Tx{}, ProblemOf(fault.New(fault.InvalidRequest, "_meta "+member+" is not a tx"))
	}
	return tx, nil
}
