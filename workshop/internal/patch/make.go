package patch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sort"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/baseline"
	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

// Made is a patch. Omitted says what it leaves out and why; one that would be too large has the head of every file and
// no content.
type Made struct {
	Text     []byte
	SHA256   string
	Omitted  []string
	Lacking  int
	TooLarge bool
}

// change is one path that differs from the baseline.
type change struct {
	name string
	old  *baseline.Entry
	new  *tree.Item
}

// Make compares the tree below root with the baseline. The patch is at most most bytes.
func Make(ctx context.Context, root *tree.Root, base *baseline.Baseline, most int) (*Made, error) {
	entries, err := base.Entries()
	if err != nil {
		return nil, frame.Faultf(frame.IOError, "%s", err)
	}
	m := &maker{ctx: ctx, root: root, base: base, most: most, omitted: newOmissions()}
	changes, err := m.changes(entries)
	if err != nil {
		return nil, frame.FromErrno(err, ".")
	}
	for _, one := range changes {
		if ctx.Err() != nil {
			return nil, frame.Faultf(frame.Cancelled, "the comparison was cancelled")
		}
		if err := m.write(one); err != nil {
			return nil, err
		}
	}
	return m.made(), nil
}

type maker struct {
	ctx      context.Context
	root     *tree.Root
	base     *baseline.Baseline
	most     int
	out      bytes.Buffer
	heads    bytes.Buffer // the patch without any content
	tooLarge bool
	omitted  *omissions
}

// changes walks the tree and gives what is new, different or gone, in byte order of the paths.
func (m *maker) changes(entries []baseline.Entry) ([]change, error) {
	known := make(map[string]*baseline.Entry, len(entries))
	for i := range entries {
		known[entries[i].Path] = &entries[i]
	}
	var found []change
	complete, err := m.root.Walk(".", func(item *tree.Item) (enter, goOn bool) {
		entry := known[item.Path]
		switch {
		case baseline.Skip(item):
			return false, true
		case item.Kind() == unix.S_IFDIR:
			return true, m.ctx.Err() == nil
		case baseline.ModeOf(&item.Stat) == "":
			m.omitted.add(item.Path, "a FIFO, socket or device")
			return false, true
		}
		delete(known, item.Path)
		switch {
		case entry == nil && cacheOf(item.Path) != "":
			m.omitted.addCache(cacheOf(item.Path))
		case entry == nil || !entry.Untouched(&item.Stat):
			found = append(found, change{item.Path, entry, item})
		}
		return false, m.ctx.Err() == nil
	})
	if err != nil {
		return nil, err
	}
	if !complete && m.ctx.Err() == nil {
		m.omitted.add(".", "parts of the tree could not be read or are beyond the limits")
	}
	for name, entry := range known {
		if !complete && !m.gone(name) {
			continue // not met is not deleted
		}
		found = append(found, change{name, entry, nil})
	}
	sort.Slice(found, func(i, j int) bool { return found[i].name < found[j].name })
	return found, nil
}

// gone says whether nothing git would keep is at name any more.
func (m *maker) gone(name string) bool {
	fd, err := m.root.Open(name, unix.O_PATH)
	if err == nil {
		unix.Close(fd)
	}
	return err == unix.ENOENT || err == unix.ENOTDIR
}

// write adds one change to the patch, or says why it is left out.
func (m *maker) write(one change) error {
	if baseline.GitRuns(one.name) {
		return m.writeGit(one)
	}
	old, new, reason, err := m.sides(one)
	if err != nil {
		return err
	}
	if reason != "" {
		m.omitted.add(one.name, reason)
		return nil
	}
	if old != nil && new != nil && old.mode == new.mode && bytes.Equal(old.data, new.data) {
		return nil
	}
	writeHead(&m.heads, one.name, old, new)
	if m.tooLarge {
		return nil
	}
	before := m.out.Len()
	if (isBinary(old.bytes()) || isBinary(new.bytes())) && len(old.bytes())+len(new.bytes()) > limit.DiffBinaryMaxBytes {
		m.omitted.add(one.name, fmt.Sprintf("binary, %d bytes", len(new.bytes())))
		return nil
	}
	if !writeFile(&m.out, one.name, old, new) {
		m.out.Truncate(before)
		m.omitted.add(one.name, "more changed lines than a patch may show")
	}
	if m.out.Len() > m.most {
		m.tooLarge = true
		m.out.Reset()
	}
	return nil
}

// writeGit names a file that git runs and no patch can hold.
func (m *maker) writeGit(one change) error {
	old, new, reason, err := m.sides(one)
	if err != nil || reason == unchanged || reason == "" && old != nil && new != nil && old.mode == new.mode && bytes.Equal(old.data, new.data) {
		return err
	}
	what := "changed"
	switch {
	case one.old == nil:
		what = "added"
	case one.new == nil:
		what = "deleted"
	}
	m.omitted.first(one.name, what+"; git runs or obeys it here, and no patch can hold it")
	return nil
}

// sides reads both versions; reason says why that cannot be. Both nil means unchanged after all.
func (m *maker) sides(one change) (old, new *side, reason string, err error) {
	if one.new != nil {
		if new, reason = m.now(one); reason != "" {
			return nil, nil, reason, nil
		}
	}
	if one.old == nil {
		return nil, new, "", nil
	}
	if one.old.Size > limit.DiffFileMaxBytes {
		return nil, nil, m.largeReason(one), nil
	}
	data, kept, err := m.base.Content(one.old)
	if err != nil {
		return nil, nil, "", frame.Faultf(frame.IOError, "%s", err)
	}
	if kept {
		return &side{one.old.Mode, data}, new, "", nil
	}
	if new != nil && one.old.SHA256 == hashOf(new.data) && one.old.Mode == new.mode {
		return new, new, "", nil
	}
	return nil, nil, "changed, and the baseline kept only its hash", nil
}

func (m *maker) largeReason(one change) string {
	if one.new == nil {
		return "deleted, and too large for a patch"
	}
	return "changed, and too large for a patch"
}

// now reads the present version.
func (m *maker) now(one change) (*side, string) {
	source, err := baseline.OpenContent(m.root, one.new)
	if err != nil {
		return nil, "cannot be read"
	}
	defer source.Close()
	data, err := io.ReadAll(io.LimitReader(source, limit.DiffFileMaxBytes+1))
	if err != nil {
		return nil, "cannot be read"
	}
	if len(data) > limit.DiffFileMaxBytes {
		if m.sameLarge(one, data, source) {
			return nil, unchanged
		}
		return nil, "too large for a patch"
	}
	return &side{baseline.ModeOf(&one.new.Stat), data}, ""
}

// unchanged is the reason of a large file whose hash is as it was: nothing is left out.
const unchanged = "unchanged"

func (m *maker) sameLarge(one change, head []byte, rest io.Reader) bool {
	if one.old == nil || one.old.Size != one.new.Stat.Size || one.old.Mode != baseline.ModeOf(&one.new.Stat) {
		return false
	}
	sum := sha256.New()
	sum.Write(head)
	if _, err := io.Copy(sum, rest); err != nil {
		return false
	}
	return hex.EncodeToString(sum.Sum(nil)) == one.old.SHA256
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (m *maker) made() *Made {
	text := m.out.Bytes()
	if m.tooLarge {
		if text = m.heads.Bytes(); len(text) > m.most {
			m.omitted.add(".", "so many files changed that not all are listed")
			text = text[:bytes.LastIndex(text[:m.most], []byte("\ndiff --git "))+1]
		}
	}
	return &Made{Text: text, SHA256: hashOf(text), Omitted: m.omitted.list(), Lacking: m.omitted.lacking, TooLarge: m.tooLarge}
}
