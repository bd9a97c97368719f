package files

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

// Mkdir makes a directory; with parents an existing one is success.
func (f *Files) Mkdir(request *frame.Mkdir) error {
	name := request.Name()
	if request.Parents {
		return f.root.MakeDirs(name)
	}
	dir, base, _, err := f.root.Parent(name)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := unix.Mkdirat(dir, base, 0o755); err != nil {
		return frame.FromErrno(err, name)
	}
	return nil
}

// Delete removes a file, an empty directory, or with recursive a whole one. A link that leaves the workspace or leads
// nowhere is refused; one that stays inside is removed itself, never its target.
func (f *Files) Delete(request *frame.Delete) error {
	name := request.Name()
	dir, base, _, err := f.root.Parent(name)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	var info unix.Stat_t
	if err := unix.Fstatat(dir, base, &info, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return frame.FromErrno(err, name)
	}
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		if _, err := f.root.Resolve(name); err != nil {
			return frame.Faultf(frame.PermissionDenied, "%q is a symbolic link that leads nowhere in the workspace", name)
		}
	case unix.S_IFDIR:
		return f.deleteDirectory(dir, base, name, request.Recursive)
	}
	if err := unix.Unlinkat(dir, base, 0); err != nil {
		return frame.FromErrno(err, name)
	}
	return nil
}

func (f *Files) deleteDirectory(dir int, base, name string, recursive bool) error {
	err := unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
	if err == unix.ENOTEMPTY && recursive {
		left := limit.WalkMaxEntries
		if err = empty(dir, base, &left, 0); err == nil {
			err = unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
		}
	} else if err == unix.ENOTEMPTY {
		return frame.Faultf(frame.InvalidArgument, "%q is a directory that is not empty; say recursive to remove it whole", name)
	}
	if err != nil {
		return frame.FromErrno(err, name)
	}
	return nil
}

// empty removes everything in directory base of dir without following a link.
func empty(dir int, base string, left *int, depth int) error {
	if depth > 200 {
		return unix.ENAMETOOLONG
	}
	fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	inside := os.NewFile(uintptr(fd), "directory")
	defer inside.Close()
	for {
		names, err := inside.Readdirnames(1_000)
		if len(names) == 0 {
			return endOf(err)
		}
		for _, name := range names {
			if *left--; *left < 0 {
				return unix.EFBIG
			}
			if err := removeEntry(fd, name, left, depth); err != nil {
				return err
			}
		}
		if _, err := inside.Seek(0, io.SeekStart); err != nil { // entries may have moved under the reader
			return err
		}
	}
}

func removeEntry(dir int, name string, left *int, depth int) error {
	err := unix.Unlinkat(dir, name, 0)
	if err != unix.EISDIR && err != unix.EPERM {
		return err
	}
	if err := empty(dir, name, left, depth+1); err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}
