package main

// The tests of most rows are the whole suite of one package: which of its cases
// holds the guard is the suite's affair.
var (
	authorityTests = []string{"./internal/domain/pool/authority"}
	sqldbTests     = []string{"./internal/means/sqldb/..."}
)

// of names one test of the store, whose suite takes long.
func of(test string) []string { return []string{"./internal/adapters/store", "-run", "^" + test + "$"} }

// in names the suite of a noun of the sessions wing, door one transcript of its door.
func in(noun string) []string { return []string{"./internal/domain/sessions/" + noun} }
func door(transcript string) []string {
	return []string{"./test/sessiondoor", "-run", "^TestTranscripts$/^" + transcript + "$"}
}

// atDoor names another test of that door.
func atDoor(test string) []string { return []string{"./test/sessiondoor", "-run", "^" + test + "$"} }

const (
	callbackFile = "internal/domain/sessions/callback/callback.go"
	executorFile = "internal/domain/sessions/executor/executor.go"

	callFile   = "internal/domain/pool/authority/call.go"
	settleFile = "internal/domain/pool/authority/settle.go"
	standing   = "internal/domain/pool/authority/standing.go"
)

// guards are what stands between a call and an effect that nobody allowed, a
// second one, or one of which nobody is told.
var guards = []guard{
	// One tx, one request, one effect.
	{"another request under a tx", callFile, "f.Row.Request != c.Request {", "f.Row.Request != c.Request && false {", authorityTests},
	{"a tx that is being executed", callFile, "f.Row != nil && f.Row.State.Unresolved()", "false", authorityTests},
	{"a doubt is replayed", callFile, "f.Row.State != invocation.NotDispatched {", "f.Row.State != invocation.NotDispatched && f.Row.State != invocation.Indeterminate {", authorityTests},
	{"a tx that is too old", callFile, "now.Sub(at) >= bound.TxBack.Duration()", "false", authorityTests},
	{"a tx from the future", callFile, "at.Sub(now) > bound.TxAhead.Duration()", "false", authorityTests},
	{"an equal call while the first is in doubt", callFile, "if h == nil || h.Tx == c.Tx ||", "if h == nil || h.Tx != c.Tx ||", authorityTests},
	{"only the owner releases a message or a payment", callFile, "if !ownerOnly && (!young || c.Ack == h.Tx) {", "if !young || c.Ack == h.Tx {", authorityTests},

	// Nothing without live authority.
	{"rights before a replay", callFile, "if bad := Authorize(f.Standing, c.Caller, now); bad != nil {", "if bad := Authorize(f.Standing, c.Caller, now); bad != nil && f.Row == nil {", authorityTests},
	{"rights right before the mark", settleFile, "bad := Authorize(s, c, now)\n\tif bad == nil && !now", "bad := Authorize(s, c, now)\n\tbad = nil\n\tif bad == nil && !now", authorityTests},
	{"rights before a recorded answer", settleFile, "if bad := Authorize(s, c, now); bad != nil {\n\t\teffects", "if bad := Authorize(s, c, now); bad != nil && false {\n\t\teffects", authorityTests},
	{"a revoked grant", "internal/domain/pool/grant/grant.go", "case r.State == Revoked:", "case r.State == Revoked && false:", []string{"./internal/domain/pool/grant"}},
	{"a grant of another definition", "internal/domain/pool/grant/grant.go", "case r.Pin != current:", "case r.Pin != current && false:", []string{"./internal/domain/pool/grant"}},
	{"a revoked token", standing, "t == nil || t.Revoked || t.Audience", "t == nil || t.Audience", authorityTests},
	{"a token of another door", "internal/service/access/access.go", "!found || caller.Audience != d.audience", "!found", []string{"./test/doors", "-run", "/doors_do_not_interchange"}},
	{"a definition that drifted", callFile, "if s.pin().Method != c.CheckedAgainst {", "if false {", authorityTests},
	{"arguments against the schema", callFile, "if c.ArgsFault != nil {", "if false {", authorityTests},
	{"a precondition that is missing", callFile, "s.Method.Definition.Precondition && !c.HasIf", "false", authorityTests},
	{"a confirmation of another input", "internal/domain/pool/confirmation/confirmation.go", "return unused && r.Input == input && ", "return unused && ", []string{"./internal/domain/pool/confirmation"}},
	{"a confirmation that was used", "internal/domain/pool/confirmation/confirmation.go", "r.State == Used && r.UsedBy == retake && !retake.IsZero()", "r.State == Used", []string{"./internal/domain/pool/confirmation"}},

	// A row moves once, by the attempt that it is about.
	{"the mark of another attempt", settleFile, "row.State != invocation.Reserved || AttemptOf(row) != a {", "row.State != invocation.Reserved {", authorityTests},
	{"the outcome of another attempt", settleFile, "if AttemptOf(row) != c.Attempt {", "if false {", authorityTests},
	{"an outcome twice", settleFile, "if !row.State.Unresolved() || !invocation.CanMove(row.State, c.Verdict.State) {", "if false {", authorityTests},
	{"a late error is no end of a doubt", settleFile, "if c.Verdict.State != invocation.Succeeded || !invocation", "if !invocation", authorityTests},
	{"a dead process leaves a doubt", settleFile, "row.State, row.SettledAt = invocation.Indeterminate, now", "row.State, row.SettledAt = invocation.NotDispatched, now", of("TestADeadProcessesCallsAreClassified")},
	{"a result against its schema", "internal/domain/pool/invocation/shape.go", "if !ok || !fits(structured, output) {", "if !ok {", []string{"./internal/domain/pool/invocation"}},

	// What is bounded is not passed, and what is kept is not lost early.
	{"a day that is used up", "internal/domain/pool/budget/budget.go", "l.PerDay > 0 && today >= l.PerDay", "false", []string{"./internal/domain/pool/budget"}},
	{"a doubt's part of a day", "internal/adapters/store/journal/count.go", "r.State != invocation.NotDispatched && r.State", "r.State != invocation.Indeterminate && r.State != invocation.NotDispatched && r.State",
		of("TestADoubtKeepsItsPartOfTheDay")},
	{"the minute before a start", "internal/adapters/store/tally/tally.go", "if before && n.Metered() {", "if before && false {", of("TestTheMinuteSlides")},
	{"a result that is young", "internal/adapters/store/retention/sweep.go", "at.row.State.Unresolved() || at.told > due", "at.row.State.Unresolved()", of("TestResultsGoAfterAWeekRowsAfterNinetyDaysAndDoubtsNever")},
	{"a sweep that the trail does not tell of", "internal/adapters/store/witness/witness.go", " && t.entry <= w.swept.results", "", of("TestAThiefIsNoSweep")},
	{"a result in another row", "internal/adapters/store/record/invocation.go", `Row: r.Owner.String() + " " + r.ID.String(), Column: "result"`, `Column: "result"`, of("TestResultsAreSealedToTheirRows")},

	// A copy of an older time revives nothing.
	{"a tx that is older than a restore", callFile, "if at.IsZero() || c.Minted ||", "if true || at.IsZero() || c.Minted ||", of("TestARestoredStoreRevivesNothing")},
	{"what was not sent when a copy was made", settleFile, "func Restored(row invocation.Row, now time.Time) invocation.Row {\n\tif row.State.Settled() {", "func Restored(row invocation.Row, now time.Time) invocation.Row {\n\tif row.State.Settled() || row.State == invocation.NotDispatched {", authorityTests},
	{"grants of a copy", "internal/adapters/store/holdings/restore.go", "SET state = 'needs_consent' WHERE state IN ('active', 'suspended')", "SET state = 'needs_consent' WHERE state IN ('suspended')", of("TestARestoredStoreRevivesNothing")},

	{"a right that is not what the trail says", "internal/adapters/store/witness/witness.go", "if p, told := w.pins[owner.String()]; !told || p.sum != sum.String() {",
		"if p, told := w.pins[owner.String()]; (!told || p.sum != sum.String()) && false {", of("TestEveryColumnOfARightIsPinned")},
	{"the last commit of a killed process", "internal/adapters/store/ledger/ledger.go", "if err := before.check(tx, node); err != nil {", "if err := before.check(tx, node); err != nil && false {",
		of("TestALostLastCommitIsNoticed")},
	{"a secret that a command prints", "internal/means/childprocess/tail.go", "if t.mask != nil {", "if t.mask != nil && false {", []string{"./internal/means/childprocess", "-run", "Masked"}},

	// What is written is written, and what was changed is seen.
	{"the calls of a dead process, before the doors", "cmd/steward/up.go", "recovery.Run(ctx, p.store.Recover, p.log)", "recovery.Run(ctx, func(context.Context) (view.Recovery, error) { return view.Recovery{}, nil }, p.log)",
		[]string{"./test/crash", "-run", "TestEveryFaultPointTellsTheTruthAfterwards/FP4_kill"}},
	{"a clock that is set back", "internal/adapters/store/ledger/clock.go", "time.UnixMilli(max(wall, floor))", "time.UnixMilli(max(wall, min(wall, floor)))", of("TestTheClockNeverGoesBehindWhatIsStored")},
	{"a row of the trail that was changed", "internal/domain/pool/audit/audit.go", "if e.Hash != e.sum() {", "if false {", []string{"./internal/domain/pool/audit"}},
	{"a call that was changed", "internal/adapters/store/witness/witness.go", "&& sum == t.row.Digest()", "", of("TestTamperingIsNamed")},
	{"a database that is not the newest", "internal/adapters/store/ledger/ledger.go", "if err := l.identity.check(tx, last.Epoch, newest > 0); err != nil {",
		"if err := l.identity.check(tx, last.Epoch, newest > 0); err != nil && false {", of("(TestALostDatabaseIsNoNewOne|TestAnOlderDatabaseIsNotTakenForTheNewest)")},
	{"the fence after a failed commit", "internal/means/sqldb/writer.go", `w.refuse(w.fence.raise("a commit failed", unknown(err)))`, "w.refuse(noRoom(err))", sqldbTests},
	{"a database that was replaced", "internal/means/sqldb/writer.go", "if err := w.names.Check(); err != nil {", "if err := w.names.Check(); err != nil && false {", sqldbTests},
	{"a log that is damaged in its middle", "internal/means/sqldb/logfile/logfile.go", "if commits == 2 {", "if commits == 2 && false {", []string{"./internal/means/sqldb", "-run", "TestADamagedLogIsNotTakenForAShorterOne"}},
	{"one process for one store", "internal/means/sqldb/lockedfile/lockedfile.go", "err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)", "err := error(nil)", sqldbTests},
	{"a commit reaches the disk", "internal/means/sqldb/sqlite.go", `{"synchronous", "FULL", "2"}`, `{"synchronous", "OFF", "0"}`,
		[]string{"-tags", "machine", "./test/crash", "-run", "TestPowerLoss"}},

	// What an upstream's results point to.
	{"a link of another app", "internal/domain/pool/link/link.go", "digest.Join(r.Owner.String(), r.Client.String(), which", "digest.Join(r.Owner.String(), which", []string{"./internal/domain/pool/link"}},
	{"a link of another server", "internal/domain/pool/link/link.go", "r.Client.String(), which.String(), uri)", "r.Client.String(), uri)", []string{"./internal/domain/pool/link"}},
	{"a grant before a link is read", "internal/service/links/links.go", "case !ok || !may:", "case !ok || !may && false:", []string{"./internal/service/links"}},
	{"links in the catalog of rights", "internal/adapters/store/catalog/catalog.go", "if authority.Authorize(l.Standing, c, tx.Now) != nil {", "if authority.Authorize(l.Standing, c, tx.Now) != nil && false {", of("TestTheStoreIsTheModel")},
	{"what is known of a tx that is used for something else", callFile, "CallChanges{Known: effectsOf(f, c, now)}, fault.New(fault.TxMismatch", "CallChanges{}, fault.New(fault.TxMismatch", []string{"./test/port", "-run", "TestARefusalForItsFormTellsOfTheTx"}},
	{"an entry that is in use is not replaced", "internal/adapters/store/holdings/entries.go", "if err == nil && a.State != view.Disabled {", "if false {", of("TestTheCatalogIsWhatMayBeCalledNow")},

	// The doors.
	{"a name that is not this host's", "internal/faces/httpguard/httpguard.go", "if !g.knowsHost(r.Host) {", "if false {", []string{"./internal/faces/httpguard"}},
	{"a page of another origin", "internal/faces/httpguard/httpguard.go", "if !g.knowsOrigin(r) || g.cross.Check(r) != nil {", "if false {", []string{"./internal/faces/httpguard"}},
	{"another user at the owner's socket", "internal/means/localsocket/localsocket.go", "if err == nil && uid == l.uid {", "if err == nil {", []string{"./internal/means/localsocket"}},
	{"nothing outlives the host", "internal/means/childprocess/supervise.go", "_, _ = io.Copy(io.Discard, lifeline) // its end is the news, however it comes\n", "_, _ = io.Copy(io.Discard, lifeline)\n\t\treturn\n", []string{"./internal/means/childprocess"}},

	// An application's calls: sent once, settled by who holds them, told when durable.
	{"a call is sent once", callbackFile, "if c.Status != Waiting || !c.bound {", "if c.Settled() || !c.bound {", in("callback")},
	{"a call is durable before it is sent", callbackFile, "if c.Status != Waiting || !c.bound {", "if c.Status != Waiting {", in("callback")},
	{"a deadline spares what is being made durable", callbackFile, "case c.Settled() || c.settling:", "case c.Settled():", in("callback")},
	{"a result of another revision", "internal/domain/sessions/callback/result.go", "s.Revision != c.Tool.Revision || s.Hash != c.Tool.Hash", "s.Revision != c.Tool.Revision", in("callback")},
	{"a result that could not be made durable", "internal/service/sessions/errand/errand.go", "d.Settle(c, err)", "d.Settle(c, nil)", door("durable")},
	{"who hands a result in", "internal/service/sessions/calls.go", "return s.books.Executors.Authority(c.Submission.Executor, c.Generation, r.Connection)", "return nil", door("resume")},
	{"the connection before a resume", executorFile, "delete(b.byConn, e.Connection)\n\te.Generation++", "e.Generation++", in("executor")},
	{"a candidate that is over", executorFile, "if over(e.pending, now) {", "if false {", in("executor")},
	{"a grant on another connection", "internal/domain/sessions/control/control.go", "s.connection != connection || ", "", in("control")},
	{"control after a capture", "internal/service/sessions/resources.go", "err = s.books.Control.Check(r.Session, r.Connection, *r.Control)", "err = nil", door("capture")},
	{"authority at admission", "internal/service/sessions/start.go", "err = s.authority(w.request, w)", "err = nil", door("preparing")},
	{"control for a connection that is gone", "internal/service/sessions/seats.go", "if s.peers[r.Connection] == nil {", "if false {", atDoor("TestAClaimWaitsUntilTheSessionIsMended")},
	{"a claim that waits for ever", "internal/service/sessions/stored.go", "s.inbox.SpawnUntil(now.Add(bound.RequestTime.Duration()), lapse,", "s.inbox.SpawnUntil(now.Add(time.Hour), lapse,", atDoor("TestDeadlinesAreExact")},
	{"a memory of a file that was touched", "internal/adapters/sessionlog/recall.go", " && m.file.ModTime().Equal(now.ModTime())", "", []string{"./internal/adapters/sessionlog", "-run", "^TestAMemoryIsDroppedOnDoubt$"}},
	{"an acknowledged line that is damaged", "internal/adapters/sessionlog/sessionlog.go", " || !torn(line) {", " {", []string{"./internal/adapters/sessionlog", "-run", "^TestDamageThatNoCrashMakesIsAFault$"}},
	{"work protects a registry", "internal/domain/sessions/registry/retention.go", "case b.work[session] == 0:", "default:", in("registry")},
	{"evidence of another session", "internal/domain/sessions/evidence/evidence.go", "t == nil || t.session != session", "t == nil", in("evidence")},
}
