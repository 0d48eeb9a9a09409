package trouble

import "github.com/stewardhost/steward/internal/ground/fault"

const (
	nextDaemon   = "steward daemon status"
	nextSessions = "steward session list"
	nextVersions = "use the steward that the daemon was started with"
)

// sessionOutcomes has a row for every code of the sessions wing.
var sessionOutcomes = map[fault.Code]outcome{
	fault.MalformedRecord:       {Failed, nextVersions},
	fault.RecordTooLarge:        {Failed, "send less"},
	fault.InvalidEnvelope:       {Failed, nextVersions},
	fault.UnsupportedVersion:    {Failed, nextVersions},
	fault.NotInitialized:        {Failed, nextVersions},
	fault.AlreadyInitialized:    {Failed, nextVersions},
	fault.StaleConnection:       {Failed, nextDaemon},
	fault.DuplicateRequest:      {Failed, nextVersions},
	fault.UnknownMethod:         {Failed, nextVersions},
	fault.UnsupportedCapability: {Failed, nextVersions},
	fault.InvalidPayload:        {Failed, theHelp},
	fault.OperationAlreadyKnown: {Failed, nextSessions},
	fault.UnknownSession:        {Unknown, nextSessions},
	fault.SessionBusy:           {Later, nextAgain},
	fault.StaleControl:          {Failed, nextSessions},
	fault.ResourceNotFound:      {Unknown, theList},
	fault.UnknownTurn:           {Unknown, nextSessions},
	fault.ConfigurationBusy:     {Later, nextAgain},
	fault.LimitExceeded:         {Failed, nextDaemon},
	fault.PersistenceFailed:     {Later, nextDaemon},
	fault.ShuttingDown:          {Later, nextAgain},
	fault.InternalError:         {Failed, nextDaemon},
}

// outcomeOf reads the row of a code.
func outcomeOf(code fault.Code) outcome {
	if o, ok := outcomes[code]; ok {
		return o
	}
	return sessionOutcomes[code]
}
