package tree

import (
	"strings"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/limit"
)

// walk is a position below the root held as open directories, so that ".." is ours and never the kernel's.
type walk struct {
	fds   []int // fds[0] is the root and not ours to close
	names []string
}

func (w *walk) here() int { return w.fds[len(w.fds)-1] }

func (w *walk) up() error {
	if len(w.names) == 0 {
		return unix.EXDEV
	}
	unix.Close(w.here())
	w.fds, w.names = w.fds[:len(w.fds)-1], w.names[:len(w.names)-1]
	return nil
}

func (w *walk) down(fd int, name string) {
	w.fds, w.names = append(w.fds, fd), append(w.names, name)
}

func (w *walk) close() {
	for _, fd := range w.fds[1:] {
		unix.Close(fd)
	}
}

// followByStep is Resolve without openat2: one part at a time, each link read and its text walked in turn.
func (r *Root) followByStep(clean string) (string, error) {
	at := &walk{fds: []int{r.fd}}
	defer at.close()
	rest, links := strings.Split(clean, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if err := at.up(); err != nil {
				return "", err
			}
			continue
		}
		target, err := at.step(part, len(rest) > 0)
		if err != nil {
			return "", err
		}
		if target == "" {
			continue
		}
		if links++; links > limit.LinksMaxCount || strings.HasPrefix(target, "/") {
			return "", unix.EXDEV
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if len(at.names) == 0 {
		return ".", nil
	}
	return strings.Join(at.names, "/"), nil
}

// step enters part, or gives the text of the link it is.
func (w *walk) step(part string, more bool) (string, error) {
	fd, err := unix.Openat(w.here(), part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		unix.Close(fd)
		return "", err
	}
	switch kind := info.Mode & unix.S_IFMT; {
	case kind == unix.S_IFLNK:
		defer unix.Close(fd)
		return ReadLink(fd, "")
	case kind != unix.S_IFDIR && more:
		unix.Close(fd)
		return "", unix.ENOTDIR
	}
	w.down(fd, part)
	return "", nil
}

// openByStep is Open without openat2.
func (r *Root) openByStep(real string, flags int) (int, error) {
	parts := strings.Split(real, "/")
	at, err := unix.Openat(r.fd, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { unix.Close(at) }()
	for _, part := range parts[:len(parts)-1] {
		if part == ".." {
			return -1, unix.EXDEV
		}
		next, err := unix.Openat(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		unix.Close(at)
		at = next
	}
	last := parts[len(parts)-1]
	if last == ".." {
		return -1, unix.EXDEV
	}
	return unix.Openat(at, last, flags|unix.O_CLOEXEC, 0)
}

// ReadLink gives the text of link base in directory dir, at most PathMaxChars bytes of it.
func ReadLink(dir int, base string) (string, error) {
	buffer := make([]byte, limit.PathMaxChars)
	size, err := unix.Readlinkat(dir, base, buffer)
	if err != nil {
		return "", err
	}
	return string(buffer[:size]), nil
}
