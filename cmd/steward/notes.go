package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/stewardhost/steward/examples/notes"
)

// notesServer runs the shipped example server, so that the demo needs nothing
// but this binary.
func notesServer(args []string) int {
	flags := flag.NewFlagSet("notes-server", flag.ContinueOnError)
	dir := flags.String("dir", "", "folder that holds the notes")
	pidFile := flags.String("pid-file", "", "file to write the process id into")
	if err := flags.Parse(args); err != nil || *dir == "" {
		return 2
	}
	if *pidFile != "" {
		if err := os.WriteFile(*pidFile, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := notes.Serve(ctx, *dir, os.Stdin, os.Stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
