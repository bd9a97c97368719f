package files

import (
	"path"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

// List names what lies in a directory, depth levels deep, in byte order; what is inside a .git is left out.
func (f *Files) List(request *frame.List) (*frame.ListResult, error) {
	name := request.Name()
	real, err := f.root.Resolve(name)
	if err != nil {
		return nil, err
	}
	result := &frame.ListResult{Entries: []frame.Entry{}}
	used, base := 0, depthOf(real)
	complete, err := f.root.Walk(real, func(item *tree.Item) (enter, goOn bool) {
		entry := f.entry(item)
		used += sizeOf(entry)
		if len(result.Entries) == request.Limit || used > limit.ReplyListMaxBytes {
			result.Truncated = true
			return false, false
		}
		result.Entries = append(result.Entries, entry)
		return depthOf(item.Path)-base < request.Depth && path.Base(item.Path) != ".git", true
	})
	if err != nil {
		return nil, frame.FromErrno(err, name)
	}
	result.Truncated = result.Truncated || !complete
	return result, nil
}

// depthOf counts the parts of a resolved name; the root has none.
func depthOf(real string) int {
	if real == "." {
		return 0
	}
	count := 1
	for _, char := range []byte(real) {
		if char == '/' {
			count++
		}
	}
	return count
}

func sizeOf(entry frame.Entry) int {
	return len(entry.Path)*2 + len(entry.PathB64) + len(entry.Target)*2 + 120
}

// Stat describes one name; a link is described, not followed.
func (f *Files) Stat(request *frame.Stat) (*frame.StatResult, error) {
	name := request.Name()
	clean, err := tree.Clean(name)
	if err != nil {
		return nil, err
	}
	item := &tree.Item{Path: "."}
	if clean == "." {
		err = f.statRoot(item)
	} else {
		err = f.statBelow(item, clean)
	}
	if err != nil {
		return nil, frame.FromErrno(err, name)
	}
	entry := f.entry(item)
	if clean == "." {
		entry.Path = ""
	}
	return &frame.StatResult{Entry: entry}, nil
}

func (f *Files) statRoot(item *tree.Item) error {
	fd, err := f.root.Open(".", unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fstat(fd, &item.Stat)
}

func (f *Files) statBelow(item *tree.Item, clean string) error {
	dir, base, real, err := f.root.Parent(clean)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	item.Path = real
	return unix.Fstatat(dir, base, &item.Stat, unix.AT_SYMLINK_NOFOLLOW)
}

func (f *Files) entry(item *tree.Item) frame.Entry {
	shown, exact := tree.Show(item.Path)
	entry := frame.Entry{Path: shown, PathB64: exact, Size: item.Stat.Size, Mode: item.Stat.Mode & 0o7777}
	switch item.Kind() {
	case unix.S_IFREG:
		entry.Kind = "file"
	case unix.S_IFDIR:
		entry.Kind, entry.Size = "directory", 0
	case unix.S_IFLNK:
		entry.Kind = "symlink"
		entry.Target = f.linkText(item.Path)
	default:
		entry.Kind = "other"
	}
	return entry
}

func (f *Files) linkText(real string) string {
	dir, err := f.root.Open(path.Dir(real), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return ""
	}
	defer unix.Close(dir)
	target, err := tree.ReadLink(dir, path.Base(real))
	if err != nil {
		return ""
	}
	shown, _ := tree.Show(target)
	return shown
}
