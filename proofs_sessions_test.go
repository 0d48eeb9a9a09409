package steward_test

// sessionProofs are the rows of the session daemon's core.
var sessionProofs = []proven{
	{"I1", "control is looked at before the registry", at(controlT, "TestControlIsItsModel", sessionsT, "TestTranscripts"), ""},
	{"I2, I3, I6, I7, I11", "revisions, IDs, accounts and snapshots of registries", at(registryT, "TestTheRegistryIsItsModel", registryT, "TestBoundsOfRegistries", sessionsT, "TestTranscripts"), "unpredictable by construction: 128 random bits"},
	{"I4", "one name, not the catalog's, at registration and at preparation", at(registryT, "TestTheRegistryIsItsModel", sessionsT, "TestTranscripts"), ""},
	{"I5", "a client can recompute both hashes", at(registryT, "TestHashesAreAsPublished"), ""},
	{"I8, A66", "one capture, published only if everything still holds", at(sessionsT, "TestTranscripts", sessionsT, "TestDeadlinesAreExact"), "a read that hangs is a channel, not a file system"},
	{"I9", "what is protected does not expire, and expiry beats a claim", at(registryT, "TestTheRegistryIsItsModel", sessionsT, "TestDeadlinesAreExact"), ""},
	{"I10, I15, I21, A63, A68", "no body, path, token or proof is told again", at(sessionsT, "TestSecretsStayWhereTheyBelong", sessionsT, "TestTranscripts"), ""},
	{"I13, I14, I16 to I20, A64", "executors, their generations and proofs, whichever reply is lost", at(executorT, "TestExecutorsAreTheirModel", sessionsT, "TestTranscripts", sessionsT, "TestDeadlinesAreExact"), ""},
	{"I23 to I26, I28, I30", "the life of a call", at(callbackT, "TestCallsAreTheirModel", callbackT, "TestCallsAreBounded", sessionsT, "TestOneCallTooManyIsNotDispatched", sessionsT, "TestDeadlinesAreExact"), ""},
	{"I29", "evidence fits, is the controller's, and ends with the outcome", at(evidenceT, "TestAnAnswerFitsItsReserve", evidenceT, "TestEvidenceIsOfOneSessionAndBounded", sessionsT, "TestDeadlinesAreExact"), ""},
	{"A60", "the socket is its user's alone", at(localT, "TestOnDiskNobodyElseGetsIn", localT, "TestUnsafePlacesAreRefused"), ""},
	{"A61, A62", "a token counts on its connection, until it is outlived", at(controlT, "TestControlIsItsModel", sessionsT, "TestTranscripts"), ""},
	{"A67", "a full queue disconnects and dispatches nothing again", at(sessionsT, "TestAFullQueueDisconnectsAndNeverRedispatches"), ""},
	{"A69, R14", "floods, halves and giants cost the others nothing", at(sessionsT, "TestConnectionsAndRequestsHaveLimits", sessionsT, "TestRecordsHaveALimit", lendingT, "TestAStaleCrowdCostsTheOthersNothing", sessionsT, "TestDeadlinesAreExact"), "R14 of the host's HTTP doors"},
	{"schemas", "every record of the daemon has the form that is published", at(sessionsT, "TestTranscripts", sessionsT, "TestTranscriptsHaveEveryShape"), ""},
	{"vendors", "the models' clients ask and understand as the vendors' own do", at("test/vendors", "TestQuestionsAreTheVendorsOwn", "test/vendors", "TestAnswersAreUnderstoodAlike", "test/vendors", "TestFurtherStreamsAreUnderstoodAlike"), "a module of its own: make vendors"},
	{"R19, sessions", "registry, executor, callback, control and operations equal their models, and nothing that the door tells contradicts I1 to I30", at(registryT, "TestTheRegistryIsItsModel", executorT, "TestExecutorsAreTheirModel", callbackT, "TestCallsAreTheirModel", controlT, "TestControlIsItsModel", operationT, "TestOperationsAreTheirModel", sessionsT, "TestRandomSequencesKeepThePromises"), ""},
}
