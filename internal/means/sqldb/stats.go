package sqldb

import (
	"math/bits"
	"sync/atomic"
)

// Stats are counts since Open, but for Waiting and Full.
type Stats struct {
	Commits         int64     // transactions of the writer that became durable
	Jobs            int64     // jobs that were part of them
	Reruns          int64     // batches that were rolled back and run again without the job that spoiled them
	WriteStatements int64     // statements of jobs, BEGIN and COMMIT not counted
	Reads           int64     // read transactions
	ReadStatements  int64     // statements of those
	Checkpoints     int64     // copies of the log into the main file
	LogPages        int64     // pages in the log at the last of them
	Waiting         int       // jobs in the queue now
	Full            bool      // a commit ended for want of room, and none has succeeded since
	Batches         [12]int64 // commits by size: of 1 job, of 2, up to 4, up to 8, … more than 1024
}

type counters struct {
	commits, jobs, reruns, writeStatements, reads, readStatements, checkpoints, logPages atomic.Int64
	batches                                                                              [12]atomic.Int64
	full                                                                                 atomic.Bool
}

func (c *counters) committed(jobs int) {
	c.commits.Add(1)
	c.full.Store(false)
	c.jobs.Add(int64(jobs))
	c.batches[min(bits.Len(uint(jobs-1)), len(c.batches)-1)].Add(1)
}

// Stats returns the counts. Each is exact; together they are not one moment.
func (db *DB) Stats() Stats {
	c := db.count
	s := Stats{
		Commits: c.commits.Load(), Jobs: c.jobs.Load(), Reruns: c.reruns.Load(),
		WriteStatements: c.writeStatements.Load(), Reads: c.reads.Load(), ReadStatements: c.readStatements.Load(),
		Checkpoints: c.checkpoints.Load(), LogPages: c.logPages.Load(), Waiting: len(db.writer.queue), Full: c.full.Load(),
	}
	for i := range s.Batches {
		s.Batches[i] = c.batches[i].Load()
	}
	return s
}
