// Command lossyfs is a file system that loses power. It serves a copy of a folder
// under a mount point, keeps everything in memory, and remembers what was flushed.
// When it is told to, it puts back into the folder what a disk could hold after a
// power cut: all that was flushed, and of the rest nothing, some, or torn and
// mixed pieces, as a seed decides (proof, R4).
//
//	lossyfs FOLDER MOUNTPOINT
//
// It prints "mounted" when it serves. A line "lose SEED" on its standard input
// makes it unmount, write the folder and print what was lost; whoever used the
// files must be gone by then. The end of its input means the same with nothing
// lost but what was not flushed.
package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "lossyfs FOLDER MOUNTPOINT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "lossyfs:", err)
		os.Exit(1)
	}
}

func run(from, at string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	d := &disk{}
	top := &root{folder: folder{disk: d, mode: uint32(info.Mode().Perm()), plate: map[string]thing{}, changed: time.Now()}, from: from}
	server, err := fs.Mount(at, top, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "lossyfs", DisableXAttrs: true}})
	if err != nil {
		return fmt.Errorf("no file system may be mounted here: %w", err)
	}
	if top.err != nil {
		_ = server.Unmount() // the reason is the other
		return top.err
	}
	fmt.Println("mounted")
	seed := uint64(0)
	in := bufio.NewScanner(os.Stdin)
	if in.Scan() {
		if _, err := fmt.Sscanf(in.Text(), "lose %d", &seed); err != nil {
			return fmt.Errorf("%q: %w", in.Text(), err)
		}
	}
	if err := server.Unmount(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	lost, err := store(from, &top.folder, rand.New(rand.NewPCG(seed, 4)))
	if err != nil {
		return err
	}
	fmt.Printf("lost %d of %d writes, %d flushes\n", lost, d.writes, d.flushes)
	return nil
}
