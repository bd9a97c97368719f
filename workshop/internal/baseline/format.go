// Package baseline keeps the tree as it was when the Run began, so that the change set needs no git and trusts none.
//
// Two files in one directory. `content` is the kept file contents and link texts, one after another. `manifest` is
// text: the line "guildhall-baseline 1", one line for each file in byte order of its path,
//
//	<git mode> <size> <sha256 or -> <offset in content or -> <inode> <mtime ns> <ctime ns> <path, Go-quoted>
//
// and the line "end <number of files>". A file whose content is not kept has "-" as its offset; one that could not be
// read has "-" as its hash too.
package baseline

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/tree"
)

const (
	header       = "guildhall-baseline 1"
	manifestName = "manifest"
	contentName  = "content"
)

// Git's modes of what a tree may hold.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeLink       = "120000"
)

// Entry is one file or link of the tree at the start. Offset is -1 when its content was not kept.
type Entry struct {
	Path    string
	Mode    string
	Size    int64
	SHA256  string
	Offset  int64
	Inode   uint64
	Changed Times
}

// Times are the nanoseconds of a file's last changes of content and of anything.
type Times struct{ Modified, Changed int64 }

// ModeOf is git's mode for a file, "" for what git does not keep.
func ModeOf(info *unix.Stat_t) string {
	switch {
	case info.Mode&unix.S_IFMT == unix.S_IFLNK:
		return ModeLink
	case info.Mode&unix.S_IFMT != unix.S_IFREG:
		return ""
	case info.Mode&0o100 != 0:
		return ModeExecutable
	}
	return ModeFile
}

// TimesOf are the times in info.
func TimesOf(info *unix.Stat_t) Times { return Times{info.Mtim.Nano(), info.Ctim.Nano()} }

// Untouched says that info is the very file of the entry and nothing in it changed: a changed time cannot be set back.
func (e *Entry) Untouched(info *unix.Stat_t) bool {
	return e.Inode == info.Ino && e.Size == info.Size && e.Changed == TimesOf(info) && e.Mode == ModeOf(info)
}

const gitFolder = ".git"

// Skip says whether an entry is no part of a change set and nothing below it is: git's own, but for what git runs.
func Skip(item *tree.Item) bool {
	at := inGit(item.Path)
	if at == "" || item.Kind() == unix.S_IFDIR && (at == gitFolder || at == "hooks" || at == "info") {
		return false
	}
	return !GitRuns(item.Path)
}

// GitRuns says whether the file at name is one of git's own that names or is a program: a hook, a configuration, an
// attribute. No patch can hold such a file.
func GitRuns(name string) bool {
	at := inGit(name)
	switch at {
	case gitFolder, "config", "config.worktree", "info/attributes": // the first is a file that points elsewhere
		return true
	}
	return path.Dir(at) == "hooks" && !strings.HasSuffix(at, ".sample")
}

// inGit is the part of name below its first .git, ".git" for that itself, "" when there is none.
func inGit(name string) string {
	if name == gitFolder || strings.HasSuffix(name, "/"+gitFolder) && !strings.Contains("/"+name, "/"+gitFolder+"/") {
		return gitFolder
	}
	_, inside, _ := strings.Cut("/"+name, "/"+gitFolder+"/")
	return inside
}

func (e *Entry) line() string {
	offset, hash := "-", "-"
	if e.Offset >= 0 {
		offset = strconv.FormatInt(e.Offset, 10)
	}
	if e.SHA256 != "" {
		hash = e.SHA256
	}
	return fmt.Sprintf("%s %d %s %s %d %d %d %s\n", e.Mode, e.Size, hash, offset, e.Inode, e.Changed.Modified,
		e.Changed.Changed, strconv.Quote(e.Path))
}

func parseLine(line string) (Entry, error) {
	fields := strings.SplitN(line, " ", 8)
	if len(fields) != 8 {
		return Entry{}, fmt.Errorf("baseline line has %d fields, not 8", len(fields))
	}
	numbers := make([]int64, 0, 4)
	for _, at := range []int{1, 4, 5, 6} {
		number, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return Entry{}, fmt.Errorf("baseline field %d is not a number", at)
		}
		numbers = append(numbers, number)
	}
	name, err := strconv.Unquote(fields[7])
	if err != nil {
		return Entry{}, fmt.Errorf("baseline path is not quoted")
	}
	entry := Entry{
		Path: name, Mode: fields[0], Size: numbers[0], Offset: -1,
		Inode: uint64(numbers[1]), Changed: Times{numbers[2], numbers[3]},
	}
	if fields[2] != "-" {
		entry.SHA256 = fields[2]
	}
	if fields[3] != "-" {
		if entry.Offset, err = strconv.ParseInt(fields[3], 10, 64); err != nil || entry.Offset < 0 {
			return Entry{}, fmt.Errorf("baseline offset is not a number")
		}
	}
	return entry, nil
}
