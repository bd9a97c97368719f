package tree

import (
	"errors"
	"io"
	"os"
	"path"
	"sort"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/limit"
)

// Item is one directory entry as lstat sees it; Path is relative to the root.
type Item struct {
	Path string
	Stat unix.Stat_t
}

// Kind is the file type bits.
func (i *Item) Kind() uint32 { return i.Stat.Mode & unix.S_IFMT }

// Names lists directory real in byte order, at most DirectoryMaxNames of it; complete is false when there were more.
func (r *Root) Names(real string) (names []string, complete bool, err error) {
	fd, err := r.Open(real, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, false, err
	}
	return namesOf(fd)
}

// namesOf closes fd.
func namesOf(fd int) (names []string, complete bool, err error) {
	dir := os.NewFile(uintptr(fd), "directory")
	defer dir.Close()
	names, err = dir.Readdirnames(limit.DirectoryMaxNames + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	sort.Strings(names)
	if len(names) > limit.DirectoryMaxNames {
		return names[:limit.DirectoryMaxNames], false, err
	}
	return names, true, err
}

// Visit is called for every entry; it answers whether to go into a directory and whether to go on at all.
type Visit func(item *Item) (enter, goOn bool)

// Walk visits everything below directory real in byte order without following a link, the reserved directory left out.
// An entry that vanishes or cannot be read on the way is passed over. complete is false when a bound was met.
func (r *Root) Walk(real string, visit Visit) (complete bool, err error) {
	fd, err := r.Open(real, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false, err
	}
	w := &walker{visit: visit, left: limit.WalkMaxEntries, complete: true}
	w.directory(fd, real, 0)
	return w.complete, nil
}

type walker struct {
	visit    Visit
	left     int
	complete bool
}

// directory closes fd and answers whether to go on.
func (w *walker) directory(fd int, at string, depth int) bool {
	keep, err := unix.Dup(fd)
	if err != nil {
		unix.Close(fd)
		w.complete = false
		return true
	}
	unix.CloseOnExec(keep)
	defer unix.Close(keep)
	names, complete, err := namesOf(fd)
	if err != nil || !complete {
		w.complete = false
	}
	for _, name := range names {
		if at == "." && name == Reserved {
			continue
		}
		if !w.entry(keep, at, name, depth) {
			return false
		}
	}
	return true
}

func (w *walker) entry(dir int, at, name string, depth int) bool {
	if w.left--; w.left < 0 {
		w.complete = false
		return false
	}
	item := &Item{Path: path.Join(at, name)}
	if unix.Fstatat(dir, name, &item.Stat, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return true
	}
	enter, goOn := w.visit(item)
	if !goOn {
		return false
	}
	if !enter || item.Kind() != unix.S_IFDIR {
		return true
	}
	if depth >= 200 || len(item.Path) > limit.PathMaxChars {
		w.complete = false
		return true
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		w.complete = false
		return true
	}
	return w.directory(fd, item.Path, depth+1)
}
