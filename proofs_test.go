package steward_test

// proofs is the table behind docs/reference/proof.md.
var proofs = []proven{
	{"I43", "allowed if and only if everything holds", at(authorityT, "TestACallIsAllowedOnlyIfEverythingHolds", storeT, "TestTheStoreIsTheModel"), "contributions of producers: not built"},
	{"I44", "removing anything never allows more", at(storeT, "TestTheStoreIsTheModel"), ""},
	{"I45", "nothing but the owner's command adds a row", at(storeT, "TestTheStoreIsTheModel"), "collections, preferences: not built"},
	{"I46", "revocation is linearizable with checks", at(storeT, "TestNoDispatchAfterARevocation", crashT, "TestNoCallIsDispatchedAfterARevocation"), ""},
	{"I47", "recorded answers pass the same check", at(authorityT, "TestARecordedAnswerNeedsLiveAuthority", storeT, "TestAuthorityIsLookedAtAgainWhenTheAnswerIsGiven", doorsT, "TestTranscripts"), ""},
	{"I48", "unknown effects deny", at(authorityT, "TestACallIsAllowedOnlyIfEverythingHolds"), ""},
	{"I49", "a confirmation is for one input, once, five minutes, over restarts", at(authorityT, "TestACallIsAllowedOnlyIfEverythingHolds", storeT, "TestTheStoreIsTheModel"), ""},
	{"I50", "reserved and spent stay within the limit, and a doubt keeps its part", at(storeT, "TestADoubtKeepsItsPartOfTheDay", storeT, "TestAGrantGivenAgainKeepsItsDay", storeT, "TestParallelCallsStayWithinTheBudget", budgetT, "TestEachBoundHoldsAtItsEdge"), ""},
	{"I51", "absent and not yours look the same", at(doorsT, "TestUnknownAndUnseenAreTheSameBytes", storeT, "TestAbsentAndInvisibleLookAlike", authorityT, "TestAbsentAndForeignAreTheSame", mcpdoorT, "TestGuessedNamesReachNobody"), ""},
	{"I52", "one digest for a tx", at(doorsT, "TestTranscripts", storeT, "TestTheStoreIsTheModel"), ""},
	{"I53", "at most one dispatch for a row", at(invocationT, "TestMovesNeverLoseAnOutcomeNorDispatchTwice", storeT, "TestTheStoreIsTheModel", crashT, "TestKilledAtRandomNothingIsLostOrDoubled", storeT, "TestARestoredStoreRevivesNothing"), ""},
	{"I54", "the mark is durable before the dispatch", at(crashT, "TestEveryFaultPointTellsTheTruthAfterwards"), ""},
	{"I55", "a final reply is durable and stays the same bytes", at(doorsT, "TestRecordedAnswersAreTheSameBytes", crashT, "TestEveryFaultPointTellsTheTruthAfterwards", crashT, "TestKilledAtRandomNothingIsLostOrDoubled"), ""},
	{"I56", "settled rows change by reconciliation only", at(invocationT, "TestMovesNeverLoseAnOutcomeNorDispatchTwice", authorityT, "TestEveryStateMeetsEveryCommand", storeT, "TestAnAttemptIsSettledOnce"), ""},
	{"I57", "a dead process leaves no row open behind an open door", at(storeT, "TestADeadProcessesCallsAreClassified", storeT, "TestManyLeftBehindAreClassifiedInBatches", crashT, "TestKilledAtRandomNothingIsLostOrDoubled"), ""},
	{"I58", "nothing causes a second dispatch", at(upstreamT, "TestEvents", upstreamT, "TestGivingUp", crashT, "TestOneTxManyTimesAtOnceHasOneEffect", bridgeT, "TestACallGoesOutOnce"), ""},
	{"I59", "not dispatched means that no byte went out", at(portT, "TestAFencedStoreTakesBackNothing", portT, "TestAnUnreadableStoreKnowsOfNothing", portT, "TestARefusalForItsFormTellsOfTheTx", authorityT, "TestARefusalIsTrueOfWhatWasSent", doorsT, "TestTranscripts", upstreamT, "TestCallThatMustNotGoOutIsUnreached", crashT, "TestKilledAtRandomNothingIsLostOrDoubled"), ""},
	{"I60", "an unknown tx outside its age is refused", at(storeT, "TestTheAgeOfATxIsBounded", storeT, "TestResultsGoAfterAWeekRowsAfterNinetyDaysAndDoubtsNever", authorityT, "TestACallIsAllowedOnlyIfEverythingHolds"), ""},
	{"I61", "results a week, rows ninety days, doubts for ever", at(storeT, "TestResultsGoAfterAWeekRowsAfterNinetyDaysAndDoubtsNever", storeT, "TestASweepTakesWhatIsDueWhereverItStands", storeT, "TestQuestionsGoInTheTimeOfWhatTheyLetThrough",
		storeT, "TestConsentsGoWhenNothingRestsOnThem"), ""},
	{"I62", "an unknown journal write acknowledges nothing", at(portT, "TestAnOutcomeThatCannotBeWrittenIsOwed"), ""},
	{"I63", "every attempt has an audit row, and the chain verifies", at(doorsT, "TestEveryAttemptHasOneAuditRow", storeT, "TestEveryAttemptHasOneRowInTheTrail", storeT, "TestTamperingIsNamed", auditT, "TestTheChainNamesTheFirstRowThatDoesNotHold"), ""},
	{"I64", "effects get better by reconciliation only", at(portT, "TestAnOutcomeThatCannotBeWrittenIsOwed", portT, "TestADoubtAboutABuiltInStays", authorityT, "TestEveryStateMeetsEveryCommand", storeT, "TestTheStoreIsTheModel"), ""},
	{"I65", "parallel sends of a tx see one outcome", at(doorsT, "TestParallelSendsAreOneExecution", storeT, "TestParallelSendsOfOneTxDispatchOnce", crashT, "TestOneTxManyTimesAtOnceHasOneEffect",
		portT, "TestSendsAroundACommitOfUnknownFateAgree"), ""},
	{"FP1 to FP8", "killed, failed, hung or panicking at each point", at(crashT, "TestEveryFaultPointTellsTheTruthAfterwards"), "struck at /rpc/v1; /mcp shares every point but the last"},
	{"FP16", "a migration half done", at(sqldbT, "TestMigrations"), ""},
	{"R1", "killed at random, nothing that was told is lost and nothing happens twice", at(crashT, "TestKilledAtRandomNothingIsLostOrDoubled"), ""},
	{"R2", "each fault point, killed, failing, hung, panicking", at(crashT, "TestEveryFaultPointTellsTheTruthAfterwards"), "FP9 to FP15: not built; FP17 and FP18 have rows of their own"},
	{"R3", "any system call may fail or kill", at(crashT, "TestAnySystemCallMayFail", crashT, "TestAnySystemCallMayFailAtTheFirstStart"), "with the tag machine"},
	{"R4", "a power cut loses nothing that was told", at(crashT, "TestPowerLossLosesNothingThatWasTold"), "with the tag machine; needs /dev/fuse"},
	{"R5", "a full disk is told and outlived", at(crashT, "TestAFullDiskIsToldAndOutlived", sqldbT, "TestFullDiskIsNoFence"), "with the tag machine"},
	{"R6", "the first failed flush fences the store", at(sqldbT, "TestFirstFailedSyncFences", sqldbT, "TestFailedCheckpointFences", crashT, "TestAnySystemCallMayFail"), ""},
	{"R7", "damage is named and never silently wrong", at(crashT, "TestAFlippedBitIsNoticed", crashT, "TestDamageIsNamed", crashT, "TestADamagedLogIsNamed", storeT, "TestALostLastCommitIsNoticed", storeT, "TestEveryColumnOfARightIsPinned", crashT, "TestFilesOfOthersAreRefused", crashT, "TestAFileThatIsTakenAwayEndsTheHost"), ""},
	{"R8, A22", "a hundred sends of one tx have one effect", at(crashT, "TestOneTxManyTimesAtOnceHasOneEffect",
		portT, "TestSendsAroundACommitOfUnknownFateAgree"), ""},
	{"R9", "no jump of a clock and no pause makes anybody lie", at(storeT, "TestTheClockNeverGoesBehindWhatIsStored", storeT, "TestTheStoreIsTheModel", crashT, "TestAPauseOverTheDeadlineMakesNobodyLie"), ""},
	{"R15", "a host whose files are all taken goes on, and lets others in when there is room", at(crashT, "TestAHostWithoutFilesGoesOn"), ""},
	{"R16", "a host that runs out of memory loses nothing", at(crashT, "TestAHostWithoutMemoryLosesNothing"), ""},
	{"R17", "parsers under fuzzing", at(strictjsonT, "FuzzParse", socketT, "FuzzRecord"), "every target runs in make fuzz, which finds them by name, and 30 s each in make gate"},
	{"R18", "mixed load and the race detector", at(crashT, "TestMixedLoadHasNoRace"), "ten minutes of a host with the race detector in make gate; the whole suite under it is make race"},
	{"R19", "the store is a simple model, step by step", at(storeT, "TestTheStoreIsTheModel", sqldbT, "TestBatchesEqualTheModel"), ""},
	{"R21", "nested programs come to what they say", at(crashT, "TestNestedProgramsComeToWhatTheySay"), ""},
	{"R20", "journal and rights are linearizable", at(linearT, "TestJournalIsLinearizable", linearT, "TestRightsAreLinearizable"), "a module of its own: make linear"},
	{"R22", "no guard of the table can go unnoticed", nil, "a program, not a test: test/mutants, by make gate"},
	{"R24", "every unresolved row is classified before the doors open", at(storeT, "TestAFullJournalIsReadyAfterAKill", storeT, "TestCostDoesNotGrowWithTheJournal", storeT, "TestManyLeftBehindAreClassifiedInBatches"), "the time with 100,000 rows is in make bench"},
	{"R27", "the conformance suite, both revisions", at("test/conformance", "TestServerRole", "test/conformance", "TestClientRole"), "with the tag npm; the authorization server's role: see its own row"},
	{"FP17, FP18", "a commit of unknown fate dispatches nothing and is told as a doubt", at(portT, "TestAnOutcomeThatCannotBeWrittenIsOwed", storeT, "TestAnUnknownCommitIsNoSuccess", crashT, "TestAnySystemCallMayFail"), "reading the row back is the next start's: with one engine in the process there is no other connection to ask"},
	{"FF1, FF2, A49", "tools of one name are two, also after a restart", at(mcpdoorT, "TestToolsOfOneNameAreTwo", resourceT, "TestMergeGivesSafeDistinctIDsThatStay"), "a clash is not named in a console: there is none yet"},
	{"FF6, FF7", "names are safe, distinct and stable, the exact one goes out", at(projectionT, "TestNamesStay", upstreamT, "TestArgumentsGoOutAsTheyAre"), ""},
	{"FF9, A59", "what results of imported servers point to is read by the app that it was given to, of that server, while it holds a grant", at(linkT, "TestAnAddressIsForOneReader", linkT, "TestContentKeepsItsOtherBytes", linksT, "TestAnAddressIsReadByItsAppAlone", linksT, "TestReadsAreBounded", upstreamsT, "TestWhatAResultPointsToIsReadBack", serversT, "TestTheSameServerOverHTTP"), "capsules: see their own row; the cursor of a list is a place in the caller's own list, and there is no requestState"},
	{"FF11, FF12", "schemas are shown as approved, and refused visibly where they do not fit", at(narrowingT, "TestPropose", toolsetT, "TestSchemasAreShownAsApproved", importerT, "FuzzListing"), ""},
	{"FF13", "what is withheld of a tool is listed", at(importerT, "TestAToolThatCannotBeImportedIsShownWithTheReason"), "the _meta around a whole result is withheld on purpose: clients act on it, and it is the host's place"},
	{"FF15 to FF17", "arguments and results keep their bytes", at(mcpdoorT, "TestArgumentsAndResultsKeepTheirBytes", upstreamT, "TestArgumentsGoOutAsTheyAre", invocationT, "TestShapeKeepsBytesAndHoldsStructuredContentToTheSchema"), ""},
	{"FF18", "a failing upstream ends no session", at(mcpdoorT, "TestFailuresKeepTheSession"), ""},
	{"FF20", "a large result is whole or refused", at(mcpdoorT, "TestALargeResultIsWhole"), ""},
	{"FF21, FF24", "an upstream that restarts or dies in a call", at(upstreamT, "TestKilledProcessIsToldAndStartedAgain", upstreamT, "TestAnUpstreamIsKeptOpen", upstreamsT, "TestAServerThatExits"), ""},
	{"FF25", "nothing is asked of a server but its start, its tools and their calls, and of its resources nothing but what the agent of a daemon asks, or an app that was pointed to one", at(upstreamT, "TestWhatASessionSays", upstreamT, "TestWhatIsSaidOfResources"), ""},
	{"FF27, FF29", "a slow server slows nobody else, and lists need no server", at(upstreamsT, "TestASlowServerSlowsNobodyElse", mcpdoorT, "TestListsNeedNoUpstream"), ""},
	{"FF28, FF30", "one of five is down: seen in status with its exit code, back by itself", at(upstreamsT, "TestOneOfFiveIsDown", upstreamT, "TestAnUpstreamIsKeptOpen", upstreamT, "TestPauseGrowsWithFailures", upstreamT, "TestAVisitEndsAgain", lookoutT, "TestServersAreLookedAtInTurn"), "one that nobody has asked for is seen within ten minutes of the start"},
	{"FF31, FF35", "a stubborn child ends with its host, however that ends", at(upstreamsT, "TestAStubbornServerEndsWithItsHost", childT, "TestStubbornCommandIsKilledWithinTheGrace", childT, "TestNothingStaysAfterTheHostWasKilled", upstreamT, "TestResultDoesNotWaitForAStubbornProcess"), "Linux; on darwin a process that was orphaned outside its group is not found"},
	{"FF32", "one process an entry, however many ask", at(upstreamT, "TestCallersShareOneSlowStart", upstreamT, "TestNextStartWaitsForTheFormerProcess"), "there is no pool of more than one: a second entry is a second process"},
	{"FF37", "each app concerned is told of a grant, a revocation and a drift, and no other", at(mcpdoorT, "TestFromGrantToDisconnection", doorT, "TestClientsSeeWhatTheyMayCall", doorT, "TestStreamsAndCallsTakeTheirTime", upstreamsT, "TestDriftSuspendsThatMethodOnly"), ""},
	{"FF39, FF40, A48", "what an upstream changes is staged within seconds and not callable", at(upstreamsT, "TestDriftSuspendsThatMethodOnly", upstreamsT, "TestAToolThatChangedWhileTheHostWasDownIsNotCalled", upstreamT, "TestALivingSessionIsListedAgainInTime", lookoutT, "TestServersAreLookedAtInTurn", resourceT, "TestWordsAreToldFromTheRest"), ""},
	{"FF41, FF43", "all pages or none, of an upstream's list and of ours", at(upstreamT, "TestListGivesAllOrAFault", toolsetT, "TestPagesHoldEveryToolOnce"), ""},
	{"FF45, FF47", "an upstream that stops reading, and a limit of its own for each method and call", at(upstreamT, "TestUpstreamThatStopsReadingHoldsNobody", upstreamsT, "TestAServerThatStopsReading", upstreamsT, "TestEachMethodHasItsLimit"), ""},
	{"FF44, FF48", "giving up, in both eras: the server hears of it, a late answer reconciles, open streams stay alive", at(upstreamT, "TestGivingUp", upstreamT, "TestCancellationGoesOutAtOnce", upstreamsT, "TestACancelledCall", workbenchT, "TestALateAnswerIsOffered", capsulehostT, "TestACallThatIsOverMayStillBeAnswered", portT, "TestALateAnswerWaitsForTheDoubt", busdoorT, "TestACallOfACapsuleEndsAsTheTableSays", doorT, "TestCancelling", doorT, "TestAnOpenStreamIsKeptAlive", remoteT, "TestGivingUp", remoteT, "TestAReaderThatGivesUp"), ""},
	{"FF62, FF66", "a result over its bound is one clean answer, each byte counted once", at(upstreamT, "TestEvents", mcpdoorT, "TestALargeResultIsWhole"), ""},
	{"FF63, FF64", "large listings and lines without an end cost little and leave nothing", at(upstreamT, "TestLargeListing", upstreamT, "TestEndlessLineCostsNoMemory", upstreamT, "TestEndlessLineIsTold", upstreamsT, "TestAHostileListingCostsLittle"), "4 MiB of tools that can all be imported cost 50 MiB for a moment, when they are imported or shown, and 35 when they are listed again"},
	{"FF67", "state belongs to an entry", at(upstreamsT, "TestStateBelongsToAnEntry"), "apps that share an entry share its one process, by decision; separate counters need an entry each"},
	{"FF68", "equal ids of many clients never meet", at(upstreamsT, "TestEqualIDsNeverMeet", upstreamT, "TestAnswersFindTheirCalls", doorT, "TestEqualIDsOfManyClients"), "64 clients at the door without sockets; 8 over sockets"},
	{"FF72, FF73", "sessions and calls leave nothing behind", at(upstreamsT, "TestManySessionsLeaveNothing", doorT, "TestIdleSessionsEnd"), "2,000 calls in 100 sessions; 20,000 sessions are not run"},
	{"FF74", "a full door says that it is busy and when to come again", at(doorT, "TestNothingGrowsOverItsBound"), ""},
	{"FF75, FF76", "every change of a tool is drift, and no spelling is; old rows hold for exactly their definition", at(upstreamsT, "TestDriftSuspendsThatMethodOnly", authorityT, "TestReaffirming", resourceT, "TestWordsAreToldFromTheRest", importerT, "TestTheDigestPinsTheWholeToolAndNothingOfItsSpelling", resourceT, "TestMergeTurnsOffWhatDriftedAndNothingElse"), ""},
	{"A47", "models are told the approved words, and what an upstream asks for is not done", at(importerT, "TestModelsAreToldWhatTheOwnerSaw", toolsetT, "TestSchemasAreShownAsApproved", upstreamT, "TestUpstreamGetsNothingButThePing"), ""},
	{"A50, A51", "header keywords, foreign references and exploding schemas are refused by name", at(importerT, "TestAToolThatCannotBeImportedIsShownWithTheReason", narrowingT, "TestPropose", importerT, "FuzzListing"), ""},
	{"A55, A58", "lists are private, and a cached one opens nothing", at(mcpdoorT, "TestFromGrantToDisconnection", mcpdoorT, "TestGuessedNamesReachNobody", doorT, "TestClientsSeeWhatTheyMayCall"), "no caching proxy stands between"},
	{"A56", "header and body say the same", at(doorT, "TestAHeaderHasOneValue", doorT, "TestTheDoorAnswersLikeTheSDK"), ""},
	{"FF78", "every refusal names a command, which is run and helps", at(liveT, "TestWhatIsToldToDoNextHelps", liveT, "TestWhatTheDoctorSaysHelps", settingsT, "TestWhatIsWrongIsRefusedAndMended", sheetT, "TestRefusalsSayWhatHelps"), "the console is not built"},
	{"I12", "the manifest and the text fit their budget; what does not is refused before it is accepted", at(socketT, "TestTheManifestIsBounded", sessionsT, "TestTranscripts", turnsT, "TestTurnsEnd"), ""},
	{"I22, FF104, FF106", "a call runs once, and its outcome comes by the connection that there is now", at(callbackT, "TestCallsAreTheirModel", sessionsT, "TestTranscripts", sessionsT, "TestRandomSequencesKeepThePromises", lendingT, "TestALostConnectionRunsNothingAgain", lendingT, "TestAnApplicationKilledAtEveryPointIsSettledByItsSuccessor", lendingT, "TestACallThatTheResumeDoesNotKnowIsNotForgotten"), ""},
	{"I27", "records come before effects, and results before the model", at(turnsT, "TestRecordsComeBeforeEffects", sessionsT, "TestTranscripts", lendingT, "TestADaemonKilledAtEveryPointTellsTheTruthAfterwards"), ""},
	{"FP11, FP12", "killed around an executor's result", at(lendingT, "TestADaemonKilledAtEveryPointTellsTheTruthAfterwards", sessionsT, "TestTranscripts"), "by kill; an error and a hang of the store in transcripts"},
	{"A65, FF109", "captures follow no link and never hold foreign bytes", at(captureT, "TestOnlyPlainFilesOfTheWorkspaceAreCaptured", captureT, "TestRacingRenamesNeverCaptureForeignBytes", captureT, "TestAFileThatChangesIsRefused"), ""},
	{"FF96, FF100", "a confirmation shows the whole input, and outlives a restart", at(liveT, "TestWhatIsToldToDoNextHelps"), "in the terminal; the console is not built"},
	{"FF79, A9", "hidden characters are seen", at(resourceT, "TestHiddenCharactersAreSeen", importerT, "TestModelsAreToldWhatTheOwnerSaw"), ""},
	{"FF81", "a filtered tool cannot be called by name", at(mcpdoorT, "TestGuessedNamesReachNobody"), ""},
	{"FF82, FF83", "revoked and disconnected at once", at(mcpdoorT, "TestFromGrantToDisconnection"), ""},
	{"FF85", "exactly one audit row for each kind of attempt", at(doorsT, "TestEveryAttemptHasOneAuditRow"), ""},
	{"FF102", "killed at six points, the effect happens at most once", at(crashT, "TestEveryFaultPointTellsTheTruthAfterwards", crashT, "TestKilledAtRandomNothingIsLostOrDoubled"), ""},
	{"FF103", "a tx belongs to one app and one request", at(crashT, "TestOneTxOfTwoAppsIsTwoCalls", doorsT, "TestTranscripts"), ""},
	{"FF111", "a looping agent meets its budget, and is told until when", at(liveT, "TestBudgetsAreGivenShownAndMet", storeT, "TestALoopingAgentIsStopped", storeT, "TestARefusalForTheBudgetConsumesNothing"), ""},
	{"A4", "doors do not interchange", at(doorsT, "TestTranscripts", authorityT, "TestACallIsAllowedOnlyIfEverythingHolds"), ""},
	{"A20", "revocation races", at(crashT, "TestNoCallIsDispatchedAfterARevocation"), ""},
	{"A25, A26", "smuggled documents and colliding numbers", at(strictjsonT, "TestSmuggledDocumentsAreRefused", strictjsonT, "TestCanonicalForms"), ""},
	{"A28", "an equal call after a doubt is held back", at(authorityT, "TestACallIsAllowedOnlyIfEverythingHolds", doorsT, "TestTranscripts", portT, "TestAnOutcomeThatCannotBeWrittenIsOwed"), ""},
	{"A29", "time does not refund", at(storeT, "TestADoubtKeepsItsPartOfTheDay"), ""},
	{"A30", "parallel calls do not pass the budget", at(storeT, "TestParallelCallsStayWithinTheBudget"), ""},
	{"A31", "a moved clock revives nothing and deletes nothing", at(storeT, "TestTheClockNeverGoesBehindWhatIsStored", storeT, "TestNoClockThatWasSetDeletesAnything"), "set forward past midnight, it begins a new day of a budget"},
	{"A32, R29", "a restored copy revives no right and executes nothing again", at(storeT, "TestARestoredStoreRevivesNothing", storeT, "TestARestoreReplacesAStoreForGood", storeT, "TestCapsulesAreOffAfterARestore", busdoorT, "TestToolsOfCapsulesAreOffAfterARestore", busdoorT, "TestAHostRestoredElsewhereIsAnotherToItsServers", authorityT, "TestARestoredRowIsOverOrInDoubt", crashT, "TestARestoreExecutesNothingAgain"), ""},
	{"A33, FF87", "no form of an address leads inside", at(egressT, "TestNoFormOfAnAddressLeadsInside", egressT, "TestPublicAddressesAreLetOut", egressT, "FuzzParse"), ""},
	{"A34, FF88, R25", "names that lie", at(egressT, "TestScriptedNames", egressT, "TestNoFormOfAnAddressLeadsInside"), "the canary is on this machine's own addresses, not in a network namespace"},
	{"A35, A38", "no proxy, no cookie, no pool; nothing in an answer is followed", at(egressT, "TestOneSendIsOneRequest"), ""},
	{"A27", "nothing sends a call again", at(remoteT, "TestUpstreamsOfAllKinds", egressT, "TestOneSendIsOneRequest", remotesT, "TestTheJournalSaysWhatIsKnown"), ""},
	{"A37, A52, R10", "hostile upstreams over HTTP, both eras", at(remoteT, "TestUpstreamsOfAllKinds", remoteT, "TestReadingOverHTTP"), "time is held against an idle wait of the same run; over lines the grace is fake time: see FF44"},
	{"A54, FF93", "nothing of a consumer goes to an upstream", at(remoteT, "TestWhatGoesOut", remotesT, "TestAnAddressIsImportedAndCalled", doctorT, "TestCapsulesAndExceptionsAreNamed"), ""},
	{"FF21, FF22", "a session that was lost, and that of another server beside it", at(remoteT, "TestALostSessionIsOpenedAgain", remotesT, "TestOneSessionExpires"), ""},
	{"FF68, FF73", "many callers over HTTP", at(remoteT, "TestManyAtOnce"), ""},
	{"A3", "an answer of another issuer has no code; steward as client", at(credentialT, "TestOnlyTheIssuersOwnAnswerHasACode"), "steward as server: see the authorization server's own row"},
	{"A53", "discovery is not led astray, and another issuer needs a new yes", at(issuerT, "TestDiscoveryIsNotLedAstray", remotesT, "TestAnotherIssuerNeedsANewYes"), ""},
	{"FF50", "tokens are renewed once, ahead of their end", at(signinT, "TestATokenIsRenewedOnceAheadOfItsEnd", signinT, "TestARenewalIsNobodysToCutOff", remotesT, "TestAGuardedServer"), ""},
	{"FF51, FF52", "a refused renewal says what mends it, and is mended", at(signinT, "TestOnlyTheOwnerMendsARefusal", remotesT, "TestAGuardedServer"), ""},
	{"FF51, FF78", "a server that wants a wider authorization is not asked again by itself: what it wants and the command are told, and one sign-in asks for all; a client is known by its document", at(remotesT, "TestAWiderAuthorizationIsTheOwners", credentialT, "TestWhatAServerWants", remoteT, "TestARefusedCredentialIsTold"), ""},
	{"FF57, FF60", "metadata in each of their places, tokens from their issuer only", at(issuerT, "TestMetadataAreFoundInEachPlace"), ""},
	{"A36", "a server that does not prove its name gets no byte", at(egressT, "TestBadTLSServersGetNothing"), "no key is pinned"},
	{"A39", "an exception opens nothing else", at(egressT, "TestAnExceptionOpensNothingElse", remotesT, "TestAnAddressIsImportedAndCalled"), ""},
	{"A57, FF90", "foreign hosts and pages do not get through, on any path", at(guardT, "TestOnlyOwnNamesAndPagesGetThrough", liveT, "TestEveryPathIsGuarded"), "the console is not built"},
	{"A76", "a stolen database tells no secret", at(vaultT, "TestASealedValueOpensInItsPlaceOnly", storeT, "TestTheDatabaseAloneTellsNoSecret", storeT, "TestResultsAreSealedToTheirRows", storeT, "TestArgumentsAreSealedAndKeptForTheOwner",
		storeT, "TestArgumentsOfAnotherRowDoNotOpen"), ""},
	{"A77", "logs tell no secret and no text breaks a line of them; profiles are not at the doors", at(doorsT, "TestLogsTellNoSecret", canaryT, "TestNoTextBreaksALineOfTheLog", metricsT, "TestOnlyMetricsAndProfilesAreServed", metricsT, "TestNobodyChoosesALabel"), ""},
	{"A18, A44, FF94, R26", "canary secrets stay where they belong", at(canaryT, "TestCanariesStayWhereTheyBelong", mcpfileT, "TestAWordThatIsWrongIsNotRepeated", childT, "TestGivenSecretsAreMasked", clientconfigT, "TestASecretInsideAValueDoesNotLeave", clientconfigT, "TestAValueFromElsewhereIsNotTold", clientconfigT, "TestTheEntryThatIsThereIsShownWithoutItsSecrets"), "proposals, OAuth and the console: not built"},
	{"A78", "an edited trail is named", at(storeT, "TestTamperingIsNamed", storeT, "TestAThiefIsNoSweep"), ""},
}

const (
	remoteT       = "internal/adapters/mcpupstream/remote"
	remotesT      = "test/remotes"
	credentialT   = "internal/domain/pool/credential"
	issuerT       = "internal/adapters/issuer"
	signinT       = "internal/service/signin"
	egressT       = "internal/means/egress"
	authorityT    = "internal/domain/pool/authority"
	budgetT       = "internal/domain/pool/budget"
	auditT        = "internal/domain/pool/audit"
	invocationT   = "internal/domain/pool/invocation"
	narrowingT    = "internal/domain/pool/narrowing"
	projectionT   = "internal/domain/pool/projection"
	resourceT     = "internal/domain/pool/resource"
	strictjsonT   = "internal/ground/strictjson"
	sqldbT        = "internal/means/sqldb"
	vaultT        = "internal/means/vault"
	storeT        = "internal/adapters/store"
	upstreamT     = "internal/adapters/mcpupstream"
	importerT     = "internal/service/importer"
	toolsetT      = "internal/faces/mcp/toolset"
	guardT        = "internal/faces/httpguard"
	crashT        = "test/crash"
	linearT       = "test/linear"
	canaryT       = "test/canary"
	clientconfigT = "internal/adapters/clientconfig"
	mcpfileT      = "internal/faces/cli/mcpfile"
	doctorT       = "internal/faces/cli/doctor"
	metricsT      = "internal/faces/admin/metrics"
	childT        = "internal/means/childprocess"
	doorsT        = "test/doors"
	mcpdoorT      = "test/mcpdoor"
	doorT         = "internal/faces/mcp"
	upstreamsT    = "test/upstreams"
	linkT         = "internal/domain/pool/link"
	sheetT        = "internal/faces/cli/sheet"
	serversT      = "test/servers"
	lookoutT      = "internal/service/importer/lookout"
	linksT        = "internal/service/links"
	portT         = "test/port"
	liveT         = "test/cli/live"
	bridgeT       = "internal/faces/cli/bridge"
	settingsT     = "internal/faces/cli/settings"
	turnsT        = "internal/service/turns"
	lendingT      = "test/lending"
	captureT      = "internal/adapters/workspacecapture"
	sessionsT     = "test/sessiondoor"
	socketT       = "internal/faces/unixsocket"
	localT        = "internal/means/localsocket"
	registryT     = "internal/domain/sessions/registry"
	executorT     = "internal/domain/sessions/executor"
	callbackT     = "internal/domain/sessions/callback"
	controlT      = "internal/domain/sessions/control"
	evidenceT     = "internal/domain/sessions/evidence"
	operationT    = "internal/domain/sessions/operation"
)

// at reads its words as folders, each followed by a test in it.
func at(words ...string) (tests []string) {
	for i := 0; i+1 < len(words); i += 2 {
		tests = append(tests, words[i]+" "+words[i+1])
	}
	return tests
}
