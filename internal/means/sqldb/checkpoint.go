package sqldb

// The log is copied into the main file in the background, where it holds nobody
// up. Under steady load the writer is always a little ahead of the copy, and the
// log can only start over when the copy has caught up; so when it has grown
// long, the writer copies the small rest itself between two batches.
//
// Long is a little less than the room that the log has, and the copy begins when
// half of that has been written.
func (w *writer) long() int { return int(w.room/pageBytes) * 15 / 16 }

const pageBytes = 4096 // the engine's, and of no consequence if it were another

// askForCheckpoint wakes the checkpointer when enough has been written, and at once
// where it had no room the last time: a log that goes on growing until the next
// time may take the very room that the copy needs.
func (w *writer) askForCheckpoint() {
	n, err := pagesWritten(w.session.conn)
	if err != nil {
		n = 1 // a commit writes at least one
	}
	w.pages += n
	if w.pages < w.long()/2 && !w.noRoom.Swap(false) {
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
	switch judge(err, false) {
	case fatal:
		_ = w.fence.raise("a checkpoint failed", err)
	case full:
		w.noRoom.Store(true)
	}
	return err == nil && held >= w.long()
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
