package record

import (
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/digest"
)

// Telling is the row of the trail that pins an outcome. Its detail is the state,
// the digest of the row, and the code of the refusal that the caller got instead
// of the outcome, if so.
func Telling(kind audit.Kind, r invocation.Row, withheld string) audit.Entry {
	detail := string(r.State) + " " + r.Digest().String()
	if withheld != "" {
		detail += " " + withheld
	}
	return audit.Entry{Owner: r.Owner, Client: r.Client, Kind: kind, Subject: r.ID.String(), Detail: detail}
}

// Pinned gives the digest that a row of the trail pins an outcome with; false
// where it tells of something else.
func Pinned(e audit.Entry) (digest.Digest, bool) {
	switch e.Kind {
	case audit.Called, audit.Reconciled, audit.Interrupted:
	default:
		return digest.Digest{}, false
	}
	words := strings.Fields(e.Detail)
	if len(words) < 2 {
		return digest.Digest{}, true // no row has it
	}
	sum, err := digest.Parse(words[1])
	if err != nil {
		return digest.Digest{}, true
	}
	return sum, true
}

// LateAnswer is the detail of the row of the trail about a call of which a late answer
// says that it did happen, after the owner had ended the doubt in another way.
const LateAnswer = "a late answer says that it happened"

// What a sweep takes, as the trail names it.
const (
	SweptResults   = "results"
	SweptCalls     = "calls"
	SweptArguments = "arguments" // of questions
	SweptQuestions = "questions"
	SweptConsents  = "consents"
)
