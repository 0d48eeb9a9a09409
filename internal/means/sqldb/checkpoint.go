package sqldb

// The log is copied into the main file in the background, where it holds nobody
// up. Under steady load the writer is always a little ahead of the copy, and the
// log can only start over when the copy has caught up; so when it has grown
// long, the writer copies the small rest itself between two batches.
const (
	tidyPages = 1000 // written since the last copy began: 4 MiB
	longLog   = 1900 // pages in the log: what reserveLog reserves
)

// askForCheckpoint wakes the checkpointer when enough has been written.
func (w *writer) askForCheckpoint() {
	n, err := pagesWritten(w.session.conn)
	if err != nil {
		n = 1 // a commit writes at least one
	}
	w.pages += n
	if w.pages < tidyPages {
		return
	}
	w.pages = 0
	select {
	case w.tidy <- struct{}{}:
	default:
	}
}

// copyRest finishes what the checkpointer began.
func (w *writer) copyRest() {
	if w.fence.fault() == nil {
		w.checkpointed(runCheckpoint(w.session.conn, checkpoint))
	}
}

// checkpointed counts a checkpoint and raises the fence if it failed in earnest.
// A full disk or a lock leaves the log as it is, for the next time.
func (w *writer) checkpointed(held int, err error) (rest bool) {
	w.count.checkpoints.Add(1)
	w.count.logPages.Store(int64(held))
	if judge(err, false) == fatal {
		_ = w.fence.raise("a checkpoint failed", err)
	}
	return err == nil && held >= longLog
}

// keepTidy is the checkpointer.
func (db *DB) keepTidy(s *session) {
	defer func() { _ = s.close() }()
	for range db.tidy {
		if db.Fenced() != nil {
			continue
		}
		if db.writer.checkpointed(runCheckpoint(s.conn, checkpoint)) {
			db.writer.finish.Store(true)
		}
	}
}
