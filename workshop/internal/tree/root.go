// Package tree guards the path: no name, link or race makes the workshop touch a file outside its workspace or the
// reserved top-level directory.
package tree

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

// Reserved is the top-level name that belongs to the product and is refused to everybody else.
const Reserved = ".orchestration"

const (
	following = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
	straight  = following | unix.RESOLVE_NO_SYMLINKS
)

// Root is a directory nothing may leave. It is safe for use by many goroutines.
type Root struct {
	fd      int
	openat2 bool
}

// OpenRoot opens the directory at host path dir.
func OpenRoot(dir string) (*Root, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	root := &Root{fd: fd}
	probe, err := unix.Openat2(fd, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: straight})
	if err == nil {
		root.openat2 = true
		unix.Close(probe)
	}
	return root, nil
}

// WithoutOpenat2 is the same root resolved step by step, as on a kernel that lacks openat2.
func (r *Root) WithoutOpenat2() *Root { return &Root{fd: r.fd} }

// HasOpenat2 says whether the kernel's own bounded lookup is in use.
func (r *Root) HasOpenat2() bool { return r.openat2 }

// HostPath is where the kernel says the root is now. Never show it to a caller.
func (r *Root) HostPath() (string, error) { return os.Readlink(procFD(r.fd)) }

// Close releases the root.
func (r *Root) Close() { unix.Close(r.fd) }

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Clean checks a name lexically and gives its shortest form; "" and "." are the root, "." in the result.
func Clean(name string) (string, error) {
	switch {
	case strings.ContainsRune(name, 0):
		return "", frame.Faultf(frame.InvalidArgument, "the path holds a NUL byte")
	case len(name) > limit.PathMaxChars:
		return "", frame.Faultf(frame.InvalidArgument, "the path is longer than %d bytes", limit.PathMaxChars)
	case strings.HasPrefix(name, "/"):
		return "", frame.Faultf(frame.PermissionDenied, "%q is absolute; paths are relative to the workspace", name)
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", frame.Faultf(frame.PermissionDenied, "%q leaves the workspace", name)
	}
	for _, part := range strings.Split(clean, "/") {
		if len(part) > 255 {
			return "", frame.Faultf(frame.InvalidArgument, "a part of the path is longer than 255 bytes")
		}
	}
	return clean, checkReserved(clean, name)
}

func checkReserved(clean, name string) error {
	if clean == Reserved || strings.HasPrefix(clean, Reserved+"/") {
		return frame.Faultf(frame.PermissionDenied, "%q lies in %s, which is reserved", name, Reserved)
	}
	return nil
}

// Resolve follows the links of an existing name and gives the name it really has below the root, free of links.
func (r *Root) Resolve(name string) (string, error) {
	clean, err := Clean(name)
	if err != nil {
		return "", err
	}
	real, err := r.follow(clean)
	if err != nil {
		return "", frame.FromErrno(err, name)
	}
	return real, checkReserved(real, name)
}

func (r *Root) follow(clean string) (string, error) {
	if !r.openat2 {
		return r.followByStep(clean)
	}
	fd, err := r.beneath(clean, unix.O_PATH, following)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	top, err := r.HostPath()
	if err != nil {
		return "", err
	}
	at, err := os.Readlink(procFD(fd))
	if err != nil {
		return "", err
	}
	if at == top {
		return ".", nil
	}
	inside, found := strings.CutPrefix(at, strings.TrimSuffix(top, "/")+"/")
	if !found {
		return "", unix.EXDEV
	}
	return inside, nil
}

func (r *Root) beneath(clean string, flags int, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	for range 16 { // EAGAIN: somebody renamed on the way
		if fd, err = unix.Openat2(r.fd, clean, &how); err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
	return -1, unix.ELOOP
}

// Open opens a name that Resolve gave. A link anywhere in it (planted since) is refused; a FIFO does not block.
func (r *Root) Open(real string, flags int) (int, error) {
	flags |= unix.O_NOFOLLOW
	if flags&unix.O_PATH == 0 { // openat2 refuses flags that mean nothing with O_PATH
		flags |= unix.O_NONBLOCK | unix.O_NOCTTY
	}
	if r.openat2 {
		return r.beneath(real, flags, straight)
	}
	return r.openByStep(real, flags)
}

// Parent resolves the directory of name and opens it (O_PATH). base is the last part, not looked at; real is the whole
// name as it would be below the root. The root itself has no parent and is refused.
func (r *Root) Parent(name string) (dir int, base, real string, err error) {
	clean, err := Clean(name)
	if err != nil {
		return -1, "", "", err
	}
	if clean == "." {
		return -1, "", "", frame.Faultf(frame.InvalidArgument, "the path names the workspace itself")
	}
	above, err := r.Resolve(path.Dir(clean))
	if err != nil {
		return -1, "", "", frame.FromErrno(err, name)
	}
	base = path.Base(clean)
	real = path.Join(above, base)
	if err := checkReserved(real, name); err != nil {
		return -1, "", "", err
	}
	dir, err = r.Open(above, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, "", "", frame.FromErrno(err, name)
	}
	return dir, base, real, nil
}

// MakeDirs creates the missing directories of name, mode 0755, following links only among those that exist.
func (r *Root) MakeDirs(name string) error {
	clean, err := Clean(name)
	if err != nil {
		return err
	}
	if real, err := r.Resolve(clean); err == nil {
		return r.expectDirectory(real, name)
	} else if frame.CodeOf(err) != frame.NotFound {
		return err
	}
	if err := r.MakeDirs(path.Dir(clean)); err != nil {
		return err
	}
	dir, base, _, err := r.Parent(clean)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := unix.Mkdirat(dir, base, 0o755); err != nil {
		if err == unix.EEXIST && isLink(dir, base) {
			return frame.Faultf(frame.PermissionDenied, "%q is a symbolic link to nothing", name)
		}
		if err != unix.EEXIST {
			return frame.FromErrno(err, name)
		}
	}
	return nil
}

func (r *Root) expectDirectory(real, name string) error {
	fd, err := r.Open(real, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return frame.FromErrno(err, name)
	}
	unix.Close(fd)
	return nil
}

func isLink(dir int, base string) bool {
	var info unix.Stat_t
	err := unix.Fstatat(dir, base, &info, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && info.Mode&unix.S_IFMT == unix.S_IFLNK
}
