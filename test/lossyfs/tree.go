package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// thing is what a name stands for: one of the two.
type thing struct {
	file   *file
	folder *folder
}

// naming is one change of a folder's names; a zero thing takes the name away.
type naming struct {
	name string
	it   thing
}

// folder is a folder with its names as they are and as they are on the plate.
type folder struct {
	fs.Inode
	disk    *disk
	mode    uint32
	changed time.Time
	plate   map[string]thing
	pending []naming
}

// lose keeps the names of the plate and the first of those that were changed.
func (f *folder) lose(chance *rand.Rand) (map[string]thing, int) {
	names := maps.Clone(f.plate)
	keep := chance.IntN(len(f.pending) + 1)
	for _, n := range f.pending[:keep] {
		if n.it == (thing{}) {
			delete(names, n.name)
		} else {
			names[n.name] = n.it
		}
	}
	return names, len(f.pending) - keep
}

func (f *folder) note(name string, it thing) {
	f.pending = append(f.pending, naming{name, it})
	f.changed = time.Now()
}

func (f *folder) flush() {
	for _, n := range f.pending {
		if n.it == (thing{}) {
			delete(f.plate, n.name)
		} else {
			f.plate[n.name] = n.it
		}
	}
	f.pending = nil
}

func (f *folder) attr(out *fuse.Attr) {
	out.Mode, out.Uid, out.Gid = syscall.S_IFDIR|f.mode, uint32(os.Getuid()), uint32(os.Getgid())
	out.SetTimes(nil, &f.changed, &f.changed)
}

func (f *folder) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.attr(&out.Attr)
	return 0
}

func (f *folder) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	if mode, ok := in.GetMode(); ok {
		f.mode = mode & 0o7777
	}
	f.disk.mu.Unlock()
	return f.Getattr(ctx, h, out)
}

// Fsync flushes the names.
func (f *folder) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.flush()
	f.disk.flushes++
	return 0
}

func (f *folder) add(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*file, *fs.Inode) {
	n := &file{disk: f.disk, mode: mode, body: &body{}, changed: time.Now()}
	inode := f.NewPersistentInode(ctx, n, fs.StableAttr{Mode: mode & syscall.S_IFMT})
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.note(name, thing{file: n})
	n.attr(&out.Attr)
	return n, inode
}

func (f *folder) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n, inode := f.add(ctx, name, syscall.S_IFREG|mode&0o7777, out)
	return inode, n, 0, 0
}

func (f *folder) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	_, inode := f.add(ctx, name, mode, out)
	return inode, 0
}

func (f *folder) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n := &folder{disk: f.disk, mode: mode & 0o7777, plate: map[string]thing{}, changed: time.Now()}
	inode := f.NewPersistentInode(ctx, n, fs.StableAttr{Mode: syscall.S_IFDIR})
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.note(name, thing{folder: n})
	n.attr(&out.Attr)
	return inode, 0
}

func (f *folder) Unlink(_ context.Context, name string) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.note(name, thing{})
	return 0
}

func (f *folder) Rmdir(ctx context.Context, name string) syscall.Errno { return f.Unlink(ctx, name) }

func (f *folder) Link(_ context.Context, to fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n, ok := to.(*file)
	if !ok {
		return nil, syscall.EPERM
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.note(name, thing{file: n})
	n.attr(&out.Attr)
	return n.EmbeddedInode(), 0
}

// Rename takes both names at once, as the rename of a journalling file system does,
// as long as they are in one folder.
func (f *folder) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	child := f.GetChild(name)
	if to.EmbeddedInode() != f.EmbeddedInode() || flags != 0 || child == nil {
		return syscall.ENOTSUP
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	it := thing{}
	switch n := child.Operations().(type) {
	case *file:
		it.file = n
	case *folder:
		it.folder = n
	}
	f.note(newName, it)
	f.note(name, thing{})
	return 0
}

// file is a file, or a socket.
type file struct {
	fs.Inode
	disk    *disk
	mode    uint32
	changed time.Time
	body    *body
}

func (n *file) regular() bool { return n.mode&syscall.S_IFMT == syscall.S_IFREG }

func (n *file) attr(out *fuse.Attr) {
	out.Mode, out.Uid, out.Gid = n.mode, uint32(os.Getuid()), uint32(os.Getgid())
	out.Size, out.Nlink = uint64(len(n.body.now)), 1
	out.SetTimes(nil, &n.changed, &n.changed)
}

func (n *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.attr(&out.Attr)
	return 0
}

func (n *file) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.disk.mu.Lock()
	if mode, ok := in.GetMode(); ok {
		n.mode = n.mode&syscall.S_IFMT | mode&0o7777
	}
	if size, ok := in.GetSize(); ok {
		n.body.do(change{at: int64(size), cut: true})
		n.changed = time.Now()
	}
	n.disk.mu.Unlock()
	return n.Getattr(ctx, h, out)
}

func (n *file) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		n.disk.mu.Lock()
		n.body.do(change{cut: true})
		n.disk.mu.Unlock()
	}
	return n, 0, 0
}

func (n *file) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	got := 0
	if off < int64(len(n.body.now)) {
		got = copy(dest, n.body.now[off:])
	}
	return fuse.ReadResultData(dest[:got]), 0
}

func (n *file) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.body.do(change{at: off, data: append([]byte(nil), data...)})
	n.changed = time.Now()
	n.disk.writes++
	return uint32(len(data)), 0
}

// Fsync flushes the bytes, and not the name.
func (n *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.body.flush()
	n.disk.flushes++
	return 0
}

// Flush is the close of a descriptor, which makes nothing durable.
func (n *file) Flush(context.Context, fs.FileHandle) syscall.Errno { return 0 }

// root is the folder that is mounted.
type root struct {
	folder
	from string
	err  error
}

// OnAdd fills the tree when it is mounted.
func (r *root) OnAdd(ctx context.Context) { r.err = r.load(ctx, r.from) }

// load reads a folder; what is there is on the plate.
func (f *folder) load(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		path, mode := filepath.Join(dir, e.Name()), uint32(info.Mode().Perm())
		switch {
		case e.IsDir():
			n := &folder{disk: f.disk, mode: mode, plate: map[string]thing{}, changed: info.ModTime()}
			f.AddChild(e.Name(), f.NewPersistentInode(ctx, n, fs.StableAttr{Mode: syscall.S_IFDIR}), true)
			f.plate[e.Name()] = thing{folder: n}
			if err := n.load(ctx, path); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n := &file{disk: f.disk, mode: syscall.S_IFREG | mode, changed: info.ModTime(), body: &body{now: content}}
			n.body.flush()
			f.AddChild(e.Name(), f.NewPersistentInode(ctx, n, fs.StableAttr{Mode: syscall.S_IFREG}), true)
			f.plate[e.Name()] = thing{file: n}
		}
	}
	return nil
}
