package files

import (
	"bytes"
	"context"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/edit"
	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

const (
	batchFiles       = 512
	binaryProbeBytes = 8_000
)

// Search finds matching lines in the regular files below a path, in path order, UTF-16 with a mark as the text it is.
// .git, binary, hard-linked and very large files are passed over. It gives up after SearchWallSeconds and says
// truncated.
func (f *Files) Search(ctx context.Context, request *frame.Search) (*frame.SearchResult, error) {
	name := request.Name()
	pattern, err := compile(request)
	if err != nil {
		return nil, err
	}
	wanted, err := newGlob(request.Glob)
	if err != nil {
		return nil, err
	}
	real, err := f.root.Resolve(name)
	if err != nil {
		return nil, err
	}
	within, stop := context.WithTimeout(ctx, limit.SearchWallSeconds*time.Second)
	defer stop()
	hunt := &hunt{files: f, ctx: within, pattern: pattern, most: request.Limit, result: &frame.SearchResult{Matches: []frame.Match{}}}
	if err := hunt.run(real, name, wanted); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, frame.Faultf(frame.Cancelled, "the search was cancelled")
	}
	return hunt.result, nil
}

// hunt is one search under way.
type hunt struct {
	files   *Files
	ctx     context.Context
	pattern *matcher
	most    int
	used    int
	batch   []string
	result  *frame.SearchResult
}

func (h *hunt) run(real, name string, wanted *glob) error {
	if file, _, err := h.files.openRegular(real, name); err == nil {
		file.Close()
		h.batch = []string{real}
		h.flush()
		return nil
	} else if frame.CodeOf(err) != frame.IsDirectory {
		return err
	}
	complete, err := h.files.root.Walk(real, func(item *tree.Item) (enter, goOn bool) {
		if item.Kind() == unix.S_IFDIR {
			return path.Base(item.Path) != ".git", h.ctx.Err() == nil
		}
		if item.Kind() == unix.S_IFREG && item.Stat.Nlink == 1 && wanted.wants(below(item.Path, real)) {
			h.consider(item)
		}
		return false, len(h.batch) < batchFiles || h.flush()
	})
	if err != nil {
		return frame.FromErrno(err, name)
	}
	if !h.result.Truncated {
		h.flush()
	}
	h.result.Truncated = h.result.Truncated || !complete || h.ctx.Err() != nil
	return nil
}

func below(real, top string) string {
	if top == "." {
		return real
	}
	return strings.TrimPrefix(real, top+"/")
}

func (h *hunt) consider(item *tree.Item) {
	if item.Stat.Size > limit.SearchFileMaxBytes {
		h.result.FilesTooLarge++
		return
	}
	h.batch = append(h.batch, item.Path)
}

// flush scans the batch on all cores and takes its hits in order; false means that the limit is met.
func (h *hunt) flush() bool {
	found := make([][]hit, len(h.batch))
	searched := make([]bool, len(h.batch))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4) {
		workers.Go(func() {
			var room buffers
			for at := range next {
				found[at], searched[at] = h.scanFile(h.batch[at], &room)
			}
		})
	}
	for at := range h.batch {
		if h.ctx.Err() != nil {
			break
		}
		next <- at
	}
	close(next)
	workers.Wait()
	return h.take(found, searched)
}

func (h *hunt) take(found [][]hit, searched []bool) bool {
	for at, hits := range found {
		if searched[at] {
			h.result.FilesSearched++
		}
		shown, exact := tree.Show(h.batch[at])
		for _, one := range hits {
			h.used += len(shown)*2 + len(exact) + escapedLength(one.text) + 80
			if len(h.result.Matches) == h.most || h.used > limit.ReplyListMaxBytes {
				h.result.Truncated = true
				return false
			}
			h.result.Matches = append(h.result.Matches, frame.Match{Path: shown, PathB64: exact, Line: one.line, Text: one.text})
		}
	}
	h.batch = h.batch[:0]
	return h.ctx.Err() == nil
}

// escapedLength bounds what text takes as a JSON string.
func escapedLength(text string) int {
	size := len(text)
	for _, char := range []byte(text) {
		if char < 0x20 || char == '"' || char == '\\' || char == '<' || char == '>' || char == '&' || char == 0xe2 {
			size += 5
		}
	}
	return size
}

// buffers are one worker's: a file's content, the same as UTF-8 where it is UTF-16, and in lower case.
type buffers struct{ content, text, lower []byte }

func (h *hunt) scanFile(real string, room *buffers) ([]hit, bool) {
	fd, err := h.files.root.Open(real, unix.O_RDONLY)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	content := fillFrom(fd, room.content[:0], binaryProbeBytes)
	wide := edit.IsUTF16(content)
	if !wide && isBinary(content) {
		return nil, false
	}
	room.content = fillFrom(fd, content, limit.SearchFileMaxBytes)
	text := edit.Text(room.content, room.text)
	if wide {
		room.text = text
	}
	if isBinary(text) {
		return nil, false
	}
	if !h.pattern.quick.mayMatch(text, &room.lower) {
		return nil, true
	}
	return scanBlocks(h.ctx, text, h.pattern.Regexp, h.most+1), true
}

func isBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), binaryProbeBytes)], 0) >= 0
}

// fillFrom appends what fd gives until content has most bytes. Plain reads: the runtime's poller costs more than a
// small file does.
func fillFrom(fd int, content []byte, most int) []byte {
	for len(content) < most {
		if cap(content)-len(content) < 4*limit.KiB {
			content = append(content, make([]byte, max(32*limit.KiB, len(content)))...)[:len(content)]
		}
		room := content[len(content):min(cap(content), most)]
		size, err := unix.Read(fd, room)
		if err == unix.EINTR {
			continue
		}
		if err != nil || size <= 0 {
			break
		}
		content = content[:len(content)+size]
	}
	return content
}
