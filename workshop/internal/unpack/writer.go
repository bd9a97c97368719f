package unpack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

type kind int

const (
	regular kind = iota
	directory
	link
	copyOf // a hard link in the archive; unpacked as a file of its own
)

// entry is one member of an archive, as it calls itself.
type entry struct {
	kind       kind
	name       string
	target     string
	size       int64
	executable bool
	modified   time.Time
}

// ErrTooLarge is in every error about an archive that is larger than a workspace may be.
var ErrTooLarge = errors.New("larger than a workspace may be")

var (
	errTooManyBytes = fmt.Errorf("it unpacks to more than %d bytes (%d MiB): %w",
		limit.ArchiveUnpackedMaxBytes, limit.ArchiveUnpackedMaxBytes/limit.MiB, ErrTooLarge)
	errTooManyEntries = fmt.Errorf("it holds more than %d entries: %w", limit.ArchiveMaxEntries, ErrTooLarge)
)

// writer puts entries below root within the bounds of one archive.
type writer struct {
	root        *tree.Root
	strip       int
	prefix      string // what strip leaves out, the same for all
	left        int64
	entriesLeft int
	written     int
}

func (w *writer) put(one entry, content io.Reader) error {
	if w.entriesLeft--; w.entriesLeft < 0 {
		return errTooManyEntries
	}
	name, err := w.place(one.name)
	if err != nil || name == "" {
		return err
	}
	if one.kind == regular && one.size > w.left {
		return errTooManyBytes // it says so itself: no need to fill the disk first
	}
	if err := w.root.MakeDirs(path.Dir(name)); err != nil {
		return fmt.Errorf("%q: %w", one.name, err)
	}
	switch one.kind {
	case directory:
		err = w.root.MakeDirs(name)
	case link:
		err = w.link(name, one.target)
	case copyOf:
		err = w.copy(name, one)
	default:
		err = w.file(name, one, content)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", one.name, err)
	}
	w.written++
	return nil
}

// place is the name below the root, "" for an entry that strip leaves out whole.
func (w *writer) place(name string) (string, error) {
	if strings.HasPrefix(name, "/") || strings.Contains("/"+name+"/", "/../") {
		return "", fmt.Errorf("%q is absolute or holds \"..\"", name)
	}
	parts := strings.Split(path.Clean(name), "/")
	if w.strip > 0 {
		if len(parts) <= w.strip {
			return "", nil
		}
		prefix := strings.Join(parts[:w.strip], "/")
		if w.prefix == "" {
			w.prefix = prefix
		}
		if prefix != w.prefix {
			return "", fmt.Errorf("%q does not lie in %q as the entries before it; unpack without stripping", name, w.prefix)
		}
		parts = parts[w.strip:]
	}
	clean, err := tree.Clean(strings.Join(parts, "/"))
	if clean == "." {
		clean = ""
	}
	return clean, err
}

// slot opens the directory of name and clears the way for a new file there.
func (w *writer) slot(name string) (dir int, base string, err error) {
	dir, base, _, err = w.root.Parent(name)
	if err != nil {
		return -1, "", err
	}
	if err := unix.Unlinkat(dir, base, 0); err != nil && err != unix.ENOENT {
		unix.Close(dir)
		return -1, "", fmt.Errorf("a directory is in its place")
	}
	return dir, base, nil
}

func (w *writer) file(name string, one entry, content io.Reader) error {
	dir, base, err := w.slot(name)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	mode := uint32(0o644)
	if one.executable {
		mode = 0o755
	}
	fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	target := os.NewFile(uintptr(fd), base)
	size, err := io.Copy(target, io.LimitReader(content, w.left+1))
	if closing := target.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return withoutPath(err)
	}
	if w.left -= size; w.left < 0 {
		return errTooManyBytes
	}
	setTime(dir, base, one.modified)
	return nil
}

// withoutPath keeps the reason of a system error and drops the place on the host.
func withoutPath(err error) error {
	var number unix.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

// setTime keeps the archive's time, which make and the like go by. Failing is harmless.
func setTime(dir int, base string, modified time.Time) {
	if modified.Year() < 1980 || modified.Year() > 2100 {
		return
	}
	stamp := unix.NsecToTimespec(modified.UnixNano())
	unix.UtimesNanoAt(dir, base, []unix.Timespec{stamp, stamp}, unix.AT_SYMLINK_NOFOLLOW)
}

// link makes a symbolic link whose text stays inside the workspace wherever it is read from.
func (w *writer) link(name, target string) error {
	if target == "" || path.IsAbs(target) || strings.ContainsRune(target, 0) {
		return fmt.Errorf("it is a link to an absolute path, which leaves the workspace")
	}
	landing := path.Join(path.Dir(name), target)
	if landing == ".." || strings.HasPrefix(landing, "../") {
		return fmt.Errorf("it is a link that leaves the workspace")
	}
	if _, err := tree.Clean(landing); err != nil {
		return err
	}
	dir, base, err := w.slot(name)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Symlinkat(target, dir, base)
}

// copy unpacks a hard link as a copy of the file unpacked before.
func (w *writer) copy(name string, one entry) error {
	target, err := w.place(one.target)
	if err != nil {
		return err
	}
	fd, err := w.root.Open(target, unix.O_RDONLY)
	if err != nil {
		return fmt.Errorf("it is a hard link to %q, which was not unpacked before it", one.target)
	}
	source := os.NewFile(uintptr(fd), "source")
	defer source.Close()
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil || info.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("it is a hard link to something that is not a file")
	}
	one.executable = info.Mode&0o100 != 0
	return w.file(name, one, source)
}
