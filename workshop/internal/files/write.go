package files

import (
	"crypto/rand"
	"encoding/hex"
	"path"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/edit"
	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

const newFileMode = 0o644

// Write puts a whole file in place at once; a reader sees the old content or the new, never a part.
func (f *Files) Write(request *frame.Write) (*frame.WriteResult, error) {
	name := request.Name()
	if request.MakeParents {
		if err := f.makeParents(name); err != nil {
			return nil, err
		}
	}
	place, err := f.find(name)
	if err != nil {
		return nil, err
	}
	defer place.close()
	switch {
	case place.exists && request.MustCreate:
		return nil, frame.Faultf(frame.Exists, "%q exists already", name)
	case !place.exists && request.ExpectSHA256 != nil:
		return nil, frame.Faultf(frame.Stale, "%q no longer exists; read it again", name)
	}
	if request.ExpectSHA256 != nil {
		if err := f.expectHash(place, *request.ExpectSHA256); err != nil {
			return nil, err
		}
	}
	data, kept := []byte(request.Data), []string(nil)
	if request.Text && place.exists {
		if data, kept, err = f.restyled(place, data); err != nil {
			return nil, err
		}
	}
	if err := place.put(data, request.MustCreate); err != nil {
		return nil, err
	}
	return &frame.WriteResult{Created: !place.exists, Size: int64(len(data)), SHA256: hashOf(data), Kept: kept}, nil
}

// restyled gives text the encoding and line endings of the file it replaces.
func (f *Files) restyled(p *place, text []byte) ([]byte, []string, error) {
	file, _, err := f.openRegular(p.real, p.name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	before, err := piece(file, 0, limit.StyleProbeBytes)
	if err != nil {
		return nil, nil, frame.FromErrno(err, p.name)
	}
	return edit.Restyle(before, text)
}

// Edit replaces text in an existing file.
func (f *Files) Edit(request *frame.Edit) (*frame.EditResult, error) {
	name := request.Name()
	place, err := f.find(name)
	if err != nil {
		return nil, err
	}
	defer place.close()
	if !place.exists {
		return nil, frame.Faultf(frame.NotFound, "%q does not exist", name)
	}
	content, err := f.content(place)
	if err != nil {
		return nil, err
	}
	if request.ExpectSHA256 != nil && hashOf(content) != *request.ExpectSHA256 {
		return nil, stale(name)
	}
	outcome, err := edit.Replace(content, request.Old, request.New, request.All)
	if err != nil {
		return nil, err
	}
	if err := place.put(outcome.Content, false); err != nil {
		return nil, err
	}
	return &frame.EditResult{
		Replacements: outcome.Count, Lines: outcome.Lines,
		Size: int64(len(outcome.Content)), SHA256: hashOf(outcome.Content),
	}, nil
}

func stale(name string) error {
	return frame.Faultf(frame.Stale, "%q changed since it was read; read it again", name)
}

func (f *Files) makeParents(name string) error {
	clean, err := tree.Clean(name)
	if err != nil {
		return err
	}
	return f.root.MakeDirs(path.Dir(clean))
}

// place is where a file is or will be: an open directory without links on the way, and a name in it.
type place struct {
	dir    int
	base   string
	real   string
	name   string // as the caller wrote it
	exists bool
	mode   uint32
}

func (p *place) close() { unix.Close(p.dir) }

// find resolves name to a place that may be written: a new name, or an ordinary writable file (links inside followed).
func (f *Files) find(name string) (*place, error) {
	target := name
	real, err := f.root.Resolve(name)
	if err == nil {
		target = real
	} else if frame.CodeOf(err) != frame.NotFound {
		return nil, err
	}
	dir, base, real, err := f.root.Parent(target)
	if err != nil {
		return nil, frame.FromErrno(err, name)
	}
	found := &place{dir: dir, base: base, real: real, name: name}
	if err := found.look(); err != nil {
		found.close()
		return nil, err
	}
	return found, nil
}

func (p *place) look() error {
	var info unix.Stat_t
	err := unix.Fstatat(p.dir, p.base, &info, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return frame.FromErrno(err, p.name)
	}
	if err := checkRegular(&info, p.name); err != nil {
		return err
	}
	if info.Mode&0o222 == 0 || unix.Faccessat(p.dir, p.base, unix.W_OK, 0) != nil {
		return frame.Faultf(frame.PermissionDenied, "%q is read-only (mode %04o)", p.name, info.Mode&0o7777)
	}
	p.exists, p.mode = true, info.Mode&0o7777
	return nil
}

func (f *Files) content(p *place) ([]byte, error) {
	file, _, err := f.openRegular(p.real, p.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, limit.FileEditMaxBytes, p.name)
}

func (f *Files) expectHash(p *place, hash string) error {
	content, err := f.content(p)
	if err != nil {
		return err
	}
	if hashOf(content) != hash {
		return stale(p.name)
	}
	return nil
}

// put writes data beside the place and renames it there. Whatever fails, the old file is whole and no other is left.
func (p *place) put(data []byte, mustCreate bool) error {
	mode := uint32(newFileMode)
	if p.exists {
		mode = p.mode
	}
	spare := spareName()
	if err := writeNew(p.dir, spare, data, mode); err != nil {
		return frame.FromErrno(err, p.name)
	}
	if err := p.install(spare, mustCreate); err != nil {
		unix.Unlinkat(p.dir, spare, 0)
		return frame.FromErrno(err, p.name)
	}
	return nil
}

func (p *place) install(spare string, mustCreate bool) error {
	if !mustCreate {
		return unix.Renameat(p.dir, spare, p.dir, p.base)
	}
	err := unix.Renameat2(p.dir, spare, p.dir, p.base, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if err := unix.Linkat(p.dir, spare, p.dir, p.base, 0); err != nil {
		return err
	}
	return unix.Unlinkat(p.dir, spare, 0)
}

func spareName() string {
	var random [8]byte
	rand.Read(random[:])
	return ".guildhall-" + hex.EncodeToString(random[:])
}

func writeNew(dir int, base string, data []byte, mode uint32) error {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, base, flags, 0o600)
	if err != nil {
		return err
	}
	err = writeAll(fd, data)
	if err == nil {
		err = unix.Fchmod(fd, mode)
	}
	if closing := unix.Close(fd); err == nil {
		err = closing
	}
	if err != nil {
		unix.Unlinkat(dir, base, 0)
	}
	return err
}

func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		size, err := unix.Write(fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}
