// Command bench measures what steward costs and prints one table: each figure
// beside its bar and beside what the same machine does without steward in the
// same run (quality page, section 1). Times differ from machine to machine and
// from minute to minute, so the bars are ratios wherever they can be.
//
// The rounds of all measurements alternate, and a figure is the median of its
// rounds. The client is a process of its own, and so is each upstream. Nothing
// outside of a temporary folder is written and everything is on loopback. The
// operator's ceilings are raised, and the table says so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	"github.com/stewardhost/steward/bench/echo"
	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// The verbs of this program's own child processes.
const (
	echoVerb = "echo" // and the number of tools
	loadVerb = "load"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		// What a fault hides from clients is of use here.
		var f *fault.Fault
		if errors.As(err, &f) && f.Unwrap() != nil {
			fmt.Fprintln(os.Stderr, "bench: because", f.Unwrap())
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case childprocess.Verb:
			os.Exit(childprocess.Supervise(args[1:]))
		case loadVerb:
			return load.Serve(os.Stdin, os.Stdout)
		case echoVerb:
			tools, err := strconv.Atoi(args[1])
			if len(args) > 2 && args[2] == echo.FarArg {
				return errors.Join(err, echo.Far(os.Stdin, os.Stdout, tools))
			}
			return errors.Join(err, echo.Serve(os.Stdin, os.Stdout, tools))
		}
	}
	return measure(args)
}

func measure(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var o options
	flags.StringVar(&o.steward, "steward", "bin/steward", "the program to measure")
	flags.StringVar(&o.migrations, "migrations", "internal/adapters/store/migrations", "the store's migrations")
	flags.StringVar(&o.dir, "dir", "", "where to put the temporary folder; its file system is what is measured")
	flags.IntVar(&o.rounds, "rounds", 9, "rounds of each measurement")
	flags.IntVar(&o.calls, "calls", 2500, "calls of a round with many callers; a fifth of it with one")
	flags.IntVar(&o.rows, "rows", 100_000, "rows of the journal for the start of a full one")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp(o.dir, "steward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"starts", b.starts}, {"streams", b.streams}, {"rounds", b.measureRounds}, {"from inside", b.inside}, {"lists", b.lists}, {"capsules", b.crowd}, {"an agent", b.agent}, {"a full journal", b.fullJournal},
	} {
		b.note("%s", part.name)
		if err := part.run(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	b.note("")
	b.table(os.Stdout)
	return nil
}
