package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stewardhost/steward/protocol/sessionwire"
)

// Bytes of an outcome (guide, Callback bounds).
const (
	errorRoom = 512
	valueRoom = 16 << 10
)

const (
	misfit = "the call ran, but its result does not fit the tool's output schema"
	tooBig = "the call ran, but its result is too large"
)

var errMisfit = errors.New(misfit)

func failure(code, text string) sessionwire.ResultOutcome {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
	for len(text) > errorRoom {
		cut := errorRoom
		for cut > 0 && text[cut]&0xC0 == 0x80 {
			cut--
		}
		text = text[:cut]
	}
	return sessionwire.ResultOutcome{Status: "error", Code: &code, Message: &text}
}

// outcomeOf runs a handler. One that panics has failed; the application goes on.
func outcomeOf(ctx context.Context, h Handler, call Call) (out sessionwire.ResultOutcome) {
	if h == nil {
		return failure("execution_failed", "the application has no handler of this name")
	}
	defer func() {
		if p := recover(); p != nil {
			out = failure("execution_failed", "the application's handler panicked; the call may have happened")
		}
	}()
	value, err := h(ctx, call)
	if errors.Is(err, ErrDenied) {
		return failure("permission_denied", err.Error())
	}
	if err != nil {
		return failure("execution_failed", err.Error())
	}
	raw, err := encode(value)
	if err != nil {
		return failure("execution_failed", fmt.Sprintf("the call ran, but its result is no JSON: %v", err))
	}
	if raw, err = flat(raw); err != nil {
		return failure("execution_failed", err.Error())
	}
	if len(raw) > valueRoom {
		return failure("execution_failed", tooBig)
	}
	return sessionwire.ResultOutcome{Status: "success", Value: raw}
}

// flat spells a value anew that an output schema can fit at all: an object of
// scalars, no name twice (guide, Callback bounds). Anything else could be no record
// of the protocol, for which the daemon ends the connection, and so the next one.
func flat(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, errMisfit
	}
	members := map[string]any{}
	for d.More() {
		name, err := d.Token()
		text, _ := name.(string)
		_, twice := members[text]
		if err != nil || twice {
			return nil, errMisfit
		}
		value, err := d.Token()
		if _, nests := value.(json.Delim); err != nil || nests {
			return nil, errMisfit
		}
		members[text] = value
	}
	return encode(members)
}
