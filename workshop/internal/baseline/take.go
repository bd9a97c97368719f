package baseline

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

// Summary is what was found and kept.
type Summary struct {
	Files          int
	ContentBytes   int64
	HashedOnly     int
	ManifestSHA256 string
}

// Take writes the baseline of root into directory dir. A tree with more than WalkMaxEntries entries is an error.
func Take(root *tree.Root, dir string) (Summary, error) {
	t := &taker{root: root, left: limit.BaselineContentMaxBytes, hash: sha256.New()}
	manifest, err := create(dir, manifestName)
	if err != nil {
		return Summary{}, err
	}
	defer manifest.Close()
	content, err := create(dir, contentName)
	if err != nil {
		return Summary{}, err
	}
	defer content.Close()
	t.content = bufio.NewWriterSize(content, 256*limit.KiB)
	t.manifest = bufio.NewWriterSize(io.MultiWriter(manifest, t.hash), 64*limit.KiB)
	if err := t.run(); err != nil {
		return Summary{}, err
	}
	t.found.ManifestSHA256 = hex.EncodeToString(t.hash.Sum(nil))
	return t.found, nil
}

// create makes the file anew: what an attempt that was cut off left is read-only, and so cannot be written over.
func create(dir, name string) (*os.File, error) {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o444)
}

// Taken is the summary of a baseline that was taken before, if it is whole: its manifest ends with its count and all the
// content it names is there.
func Taken(dir string) (Summary, error) {
	base, err := Open(dir)
	if err != nil {
		return Summary{}, err
	}
	defer base.content.Close()
	entries, err := base.Entries()
	if err != nil {
		return Summary{}, err
	}
	found := Summary{Files: len(entries)}
	for _, entry := range entries {
		if entry.Offset < 0 {
			found.HashedOnly++
			continue
		}
		found.ContentBytes = max(found.ContentBytes, entry.Offset+entry.Size)
	}
	info, err := base.content.Stat()
	if err != nil || info.Size() < found.ContentBytes {
		return Summary{}, fmt.Errorf("the baseline's content is cut off")
	}
	manifest, err := os.ReadFile(base.manifest)
	if err != nil {
		return Summary{}, err
	}
	sum := sha256.Sum256(manifest)
	found.ManifestSHA256 = hex.EncodeToString(sum[:])
	return found, nil
}

type taker struct {
	root     *tree.Root
	manifest *bufio.Writer
	content  *bufio.Writer
	hash     hash.Hash
	at, left int64
	found    Summary
	failed   error
}

func (t *taker) run() error {
	fmt.Fprintln(t.manifest, header)
	complete, err := t.root.Walk(".", func(item *tree.Item) (enter, goOn bool) {
		if Skip(item) {
			return false, true
		}
		if ModeOf(&item.Stat) != "" {
			t.failed = t.entry(item)
		}
		return true, t.failed == nil
	})
	switch {
	case err != nil:
		return err
	case t.failed != nil:
		return t.failed
	case !complete:
		return fmt.Errorf("the workspace holds more than %d entries, is nested too deep, or has directories that cannot be read",
			limit.WalkMaxEntries)
	}
	if err := t.content.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(t.manifest, "end %d\n", t.found.Files)
	return t.manifest.Flush()
}

// entry records one file. A file that cannot be read is recorded without a hash; only a failing baseline is an error.
func (t *taker) entry(item *tree.Item) error {
	entry := Entry{
		Path: item.Path, Mode: ModeOf(&item.Stat), Size: item.Stat.Size, Offset: -1,
		Inode: item.Stat.Ino, Changed: TimesOf(&item.Stat),
	}
	t.found.Files++
	source, err := OpenContent(t.root, item)
	if err == nil {
		defer source.Close()
		if err := t.copy(&entry, source); err != nil {
			return err
		}
	}
	if entry.Offset < 0 {
		t.found.HashedOnly++
	}
	_, err = t.manifest.WriteString(entry.line())
	return err
}

func (t *taker) copy(entry *Entry, source io.Reader) error {
	sum := sha256.New()
	if entry.Size > limit.BaselineFileMaxBytes || entry.Size > t.left {
		if _, err := io.Copy(sum, source); err == nil {
			entry.SHA256 = hex.EncodeToString(sum.Sum(nil))
		}
		return nil
	}
	size, err := io.Copy(io.MultiWriter(sum, t.content), io.LimitReader(source, entry.Size))
	if err != nil {
		return err
	}
	entry.Offset, entry.Size, entry.SHA256 = t.at, size, hex.EncodeToString(sum.Sum(nil))
	t.at += size
	t.left -= size
	t.found.ContentBytes += size
	return nil
}

// OpenContent opens a regular file, or gives the text of a link as if it were one.
func OpenContent(root *tree.Root, item *tree.Item) (io.ReadCloser, error) {
	if item.Kind() == unix.S_IFLNK {
		text, err := linkText(root, item.Path)
		return io.NopCloser(text), err
	}
	fd, err := root.Open(item.Path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, unix.EINVAL
	}
	return &plainFile{fd}, nil
}
