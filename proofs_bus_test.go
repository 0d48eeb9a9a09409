package steward_test

// busProofs are the rows of the bus wing.
var busProofs = []proven{
	{"I77", "nothing acts without a principal from a verified token", at(brokerT, "TestWhoMayNotAskAsksNothing", natsbusT, "TestDenialsAreTypedFaults", calloutT, "TestOnlyTheHostsOwnAreLetIn", capsulehostT, "TestACapsuleAnswersForTheOneItRunsFor"), ""},
	{"I78", "what is built for a principal comes from messages of that principal", at(describeT, "TestWhatDoesNotCountIsDroppedWithAReason", brokerT, "TestAnswersThatCrossOverAreDropped", brokerT, "TestTheBrokerIsTheModel"), ""},
	{"I79", "a flood costs nobody else", at(natsbusT, "TestAFloodDelaysNobodyElseAndIsTold", natsbusT, "TestAFloodCostsOthersLittle", natsbusT, "TestASeatSaysNoMoreThanItWasAsked", natsbusT, "TestAnswersArePaced", brokerT, "TestOpenReadsAreBounded"), ""},
	{"I80", "an answer counts once, from its owner, to an open question", at(readT, "TestOnlyTheOwnerOfAListedURICounts", natsbusT, "TestARawClientForgesNothing", capsulehostT, "TestAnAnswerCountsOnceForTheRequestThatItNames", brokerT, "TestTheBrokerIsTheModel"), ""},
	{"I81", "a failed read is an error", at(readT, "TestAReadEndsInTime", libraryT, "TestFailuresAreErrorsOfTheirRevision", brokerT, "TestTheBrokerIsTheModel", upstreamT, "TestAReadGivesAllOrAFault", busdoorT, "TestTheAgentOfADaemonReadsResources"), ""},
	{"I82", "collisions end the same way whatever arrives first and after an upgrade", at(describeT, "TestTheResultDoesNotDependOnTheOrderOfArrival", brokerT, "TestACollisionIsAnEventEachTime", topicT, "TestSourcesOutliveBuildsAndBelongToATenant", readT, "TestWhoMayAnswer", busdoorT, "TestASquatterNeverWins", busdoorT, "TestANewCapsuleWorksAsItIsWritten"), ""},
	{"I83", "what was dropped is told, and a lossy round is not complete", at(describeT, "TestCapsOverAllMembersAreNeverSilent", natsbusT, "TestAFloodDelaysNobodyElseAndIsTold", brokerT, "TestAFloodOfStraysIsCounted"), ""},
	{"I84", "no subscription reaches another principal", at(natsbusT, "TestTheServerAndGoAgree", natsbusT, "TestSubscriptionsStayInside", topicT, "TestCoversIsSubset"), ""},
	{"I85", "after unload or revocation entries vanish and reads fail", at(natsbusT, "TestNothingGetsThroughAClosedGate", natsbusT, "TestServersOfOthersHoldTheRights", brokerT, "TestUnloadingEndsWhatWaitsForIt", storeT, "TestACapsuleIsReadableWithAGrantOfRead", busdoorT, "TestFromInstallationToRemoval", busdoorT, "TestTheAgentOfADaemonReadsResources"), ""},
	{"A70, A71, A73, A75", "payload principals, crossed and forged answers, wide subscriptions", at(natsbusT, "TestARawClientForgesNothing", natsbusT, "TestSubscriptionsStayInside", brokerT, "TestAnswersThatCrossOverAreDropped"), ""},
	{"I77, I80, A73, A75", "a tool of a capsule is called in the principal's name, by one capsule, and answered by that one", at(natsbusT, "TestACallReachesOneCapsuleAlone", natsbusT, "TestToolAnswersAreNotForged", toolT, "TestAnAnswerCountsForItsQuestionAlone", workbenchT, "TestACallEndsAsWhatHappened", busdoorT, "TestACapsulesToolsAreMethods", busdoorT, "TestACallOfACapsuleEndsAsTheTableSays", busdoorT, "TestACallThatIsNotPassedOnIsNotSent", capsulehostT, "TestNoMoreCallsRunThanTheManifestSays"), ""},
	{"A48, I34", "a tool of a capsule that drifted is off before any call meets it", at(workbenchT, "TestNoCallBeforeTheToolsAreMerged", busdoorT, "TestADriftedToolOfACapsuleIsOff"), ""},
	{"A74, bus 5.10", "a module that loops, traps, grows, floods or points into nowhere ends at its bounds and takes nobody along", at(sandboxT, "TestHostileModulesEnd", sandboxT, "TestModulesThatAreNotTaken", sandboxT, "TestRunsAreApart", sandboxT, "TestPlacesAreBounded", sandboxT, "TestWhatWasCompiledIsKeptAndMadeAgain", sandboxT, "TestWhatIsKeptIsBounded", busdoorT, "TestAModuleIsACapsule"), "compile time is bounded by what is compiled, not by a clock"},
	{"A72", "a squatter never wins, and is told of", at(brokerT, "TestACollisionIsAnEventEachTime", busdoorT, "TestASquatterNeverWins", brokerT, "TestACapsuleThatMayNotBeReadIsNotThere"), ""},
	{"A74", "floods and large answers end at their caps", at(describeT, "TestWhatDoesNotCountIsDroppedWithAReason", capsulewireT, "TestReadAnswers", capsulehostT, "TestACapsuleThatMisbehavesIsEnded"), ""},
	{"R11", "a partition fails closed, and heals within three seconds", at(natsbusT, "TestAPartitionFailsClosedAndHeals", natsbusT, "TestTheBrokerComesBackAfterItsConnectionIsCut", natsbusT, "TestAFloodDelaysNobodyElseAndIsTold", natsbusT, "TestTheServerGoesAwayAndComesBack", natsbusT, "TestManyPrincipalsShareABus", brokerT, "TestASeveredBusIsToldAtOnce", busdoorT, "TestServersOfSomebodyElseCarryTheBus"), ""},
	{"BF1, BF38", "the first list is whole or says what it lacks, and nobody to ask is no wait", at(brokerT, "TestTheFirstListWaitsForWhoWarmsUp", brokerT, "TestWhoIsMissingIsToldOnce", capsulehostT, "TestAModuleThatIsCompiledWarmsUp", libraryT, "TestAListSaysWhatItLacks", busdoorT, "TestANewModuleWorksAsItIsWritten", brokerT, "TestNobodyToAskIsNoWait", busdoorT, "TestCapsulesLiveAndDieWithTheHost"), ""},
	{"BF2", "who was admitted is reached by the first question, at a far server too", at(natsbusT, "TestAnAdmittedCapsuleIsReachedByTheFirstQuestion", brokerT, "TestNobodyToAskIsNoWait"), ""},
	{"BF3, BF4, BF6", "a client is answered at once, and told when there is something", at(busdoorT, "TestServersOfSomebodyElseCarryTheBus"), ""},
	{"BF7, BF8", "a session outlives its host, a call is not made twice, and the client is told to look again", at(bridgeT, "TestASessionOutlivesTheHost", liveT, "TestAClientReachesTheHostOverItsStandardStreams"), ""},
	{"BF11, BF36", "a bridge ends with its parent, and not for silence", at(bridgeT, "TestItEndsWithItsParentAndNotForSilence", liveT, "TestABridgeEndsWithItsParent"), ""},
	{"BF17, BF18, BF40", "what is gone is gone from lists and at call time, and who did not answer is missing and not empty", at(busdoorT, "TestFromInstallationToRemoval", describeT, "TestARoundEndsWhenAllHaveAnsweredOrTheWindowCloses", busdoorT, "TestTheAgentOfADaemonReadsResources"), ""},
	{"BF19, BF20, BF24, BF28", "an answer is of the principal that it is for, and nobody is a principal by default", at(brokerT, "TestAnswersThatCrossOverAreDropped", capsulehostT, "TestACapsuleAnswersForTheOneItRunsFor", brokerT, "TestWhoMayNotAskAsksNothing"), ""},
	{"BF25", "nothing stays in a module between two requests", at(sandboxT, "TestRunsAreApart"), ""},
	{"BF26, BF30, BF31", "what an app may not see is not there, at once, and asks its owner nothing", at(libraryT, "TestAnAppListsTheCapsulesThatItMayRead", brokerT, "TestACapsuleThatMayNotBeReadIsNotThere", mcpdoorT, "TestGuessedNamesReachNobody"), ""},
	{"BF32", "that a call was lost is never its result", at(workbenchT, "TestACallEndsAsWhatHappened"), ""},
	{"BF33", "ids outlive builds", at(topicT, "TestSourcesOutliveBuildsAndBelongToATenant"), ""},
	{"BF34, BF35", "a change is of one principal, and one start", at(brokerT, "TestAChangeIsOfOnePrincipal", capsulehostT, "TestAChangeStartsACapsuleOnce"), ""},
	{"BF37, BF39", "sessions of one app have their own answers, and nobody waits for the slow", at(doorT, "TestEqualIDsOfManyClients", brokerT, "TestASlowReadKeepsNobodyWaiting"), ""},
	{"BF43", "a second host on a live one is refused", at(liveT, "TestWithoutAHostTheWayToOneIsTold"), ""},
	{"bus 4", "a client that gives up ends the capsule's work", at(brokerT, "TestAReadIsCalledOffWithItsAsker", capsulehostT, "TestACancelledReadEndsAtTheCapsule", busdoorT, "TestAClientThatGivesUpEndsTheCapsulesWork"), ""},
	{"bus 7", "the shipped capsule shows the owner's grants, budgets, calls and capsules", at("internal/service/introspection", "TestAnOwnerReadsWhatTheHostDoes", busdoorT, "TestAnAppReadsWhatItsOwnerGave"), ""},
	{"BF5", "a change is told once and never swallowed", at(brokerT, "TestAListAsksWhoWasThereWhenItWasAskedFor", describeT, "TestAnyChangeThatIsShownIsAnotherDigest", libraryT, "TestAChangeIsToldOnceAndNeverSwallowed", brokerT, "TestALateAnswerIsAChange"), ""},
	{"BF9, BF14 to BF16", "a manifest that cannot work is refused with what would be right", at(capsulefileT, "TestARefusalSaysWhatWouldBeRight", topicT, "TestClaimsReachWhatIsTheHostsOnlyByName"), ""},
	{"BF10, BF11, BF22, BF44", "stuck, dead and orphaned capsules", at(capsulehostT, "TestACapsuleThatStopsReadingIsEnded", capsulehostT, "TestADeadCapsuleIsStartedAgainWithANewSeat", busdoorT, "TestCapsulesLiveAndDieWithTheHost"), ""},
	{"BF12", "a daemon ends once it is idle, and connections and work keep it up and nothing else does", at(sessionsT, "TestDeadlinesAreExact"), "a host of the pool ends when it is told to and never by itself"},
	{"BF13, BF21, BF23", "two hundred answer and none is lost", at(natsbusT, "TestTwoHundredAnswerAndNoneIsLost"), ""},
	{"BF29", "servers that would not protect the bus are refused, with what mends it", at(natsbusT, "TestServersThatAreNotSetUpAreRefused", natsbusT, "TestServersProveWhoTheyAre", calloutT, "TestKeysAreKept"), ""},
	{"BF27", "an answer matches source and question", at(readT, "TestOnlyTheOwnerOfAListedURICounts"), ""},
	{"BF41", "a strict client is asked nothing that it refuses", nil, "nothing to test: neither a capsule nor a server can ask a person through steward, so no schema of such a question goes out"},
	{"bus 6", "resources of capsules, by the suite and by the inspector", at("test/servers", "TestResourcesForTheInspector", "test/conformance", "TestServerRole"), "with the tag npm"},
	{"BF42, BF45", "results of 2026-07-28 say what may keep them; deadlines nest", at(busdoorT, "TestFromInstallationToRemoval", brokerT, "TestReadsEndInTimeAndSayWhy", capsulehostT, "TestAManifestNarrowsTheBounds", workbenchT, "TestACallHasTheTimeOfTheManifest", busdoorT, "TestACallHasTheTimeOfTheManifest"), ""},
	{"FF9", "one resource of two capsules", at(describeT, "TestTheResultDoesNotDependOnTheOrderOfArrival", readT, "TestAConflictHasTheSameWinnerInEachOrder"), ""},
}

// Of the bus wing.
const (
	brokerT      = "internal/service/broker"
	natsbusT     = "internal/adapters/natsbus"
	calloutT     = "internal/adapters/natsbus/callout"
	capsulehostT = "internal/adapters/capsulehost"
	capsulefileT = "internal/adapters/capsulehost/capsulefile"
	capsulewireT = "protocol/capsulewire"
	sandboxT     = "internal/adapters/capsulehost/sandbox"
	toolT        = "internal/domain/bus/tool"
	workbenchT   = "internal/service/workbench"
	topicT       = "internal/domain/bus/topic"
	describeT    = "internal/domain/bus/describe"
	readT        = "internal/domain/bus/read"
	libraryT     = "internal/faces/mcp/library"
	busdoorT     = "test/busdoor"
)
