package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

var errTooFar = errors.New("the line is too far from the beginning")

const seekBufferBytes = 256 * limit.KiB

// lineStart gives the offset a request means, and how many whole lines lie before its line. When the file has fewer
// lines, it is the file's end.
func lineStart(ctx context.Context, file *os.File, request *frame.Read) (offset, before int64, err error) {
	if request.Line == nil || *request.Line == 1 {
		return request.Offset, 0, nil
	}
	at, left := int64(0), *request.Line-1
	buffer := make([]byte, seekBufferBytes)
	for {
		if ctx.Err() != nil || at > limit.LineSeekMaxBytes {
			return 0, 0, errTooFar
		}
		size, err := file.ReadAt(buffer, at)
		if found := int64(bytes.Count(buffer[:size], lineFeed)); found < left {
			left -= found
			at += int64(size)
		} else {
			return at + int64(afterNth(buffer[:size], left)) + request.Offset, *request.Line - 1, nil
		}
		if errors.Is(err, io.EOF) || size == 0 && err == nil {
			return at, *request.Line - 1 - left, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

var lineFeed = []byte("\n")

// afterNth is the index behind the n-th line feed, which data holds.
func afterNth(data []byte, n int64) int {
	at := 0
	for ; n > 0; n-- {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	return at
}

// countLines gives the number of lines of the file, of which before lie before start; nil when its end is too far away.
func countLines(ctx context.Context, file *os.File, before, start int64) *int64 {
	lines, last := before, byte('\n')
	buffer := make([]byte, seekBufferBytes)
	if start > 0 { // whether the file ends in a line without an ending
		if _, err := file.ReadAt(buffer[:1], start-1); err != nil {
			return nil
		}
		last = buffer[0]
	}
	for at := start; at-start <= limit.LineCountMaxBytes && ctx.Err() == nil; {
		size, err := file.ReadAt(buffer, at)
		if size > 0 {
			lines += int64(bytes.Count(buffer[:size], lineFeed))
			last = buffer[size-1]
			at += int64(size)
		}
		if errors.Is(err, io.EOF) {
			if last != '\n' {
				lines++
			}
			return &lines
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

func fromSeek(err error, name string) error {
	if errors.Is(err, errTooFar) {
		return frame.Faultf(frame.TooLarge, "%q has that line more than %d bytes from its beginning; use a command",
			name, int64(limit.LineSeekMaxBytes))
	}
	return frame.FromErrno(err, name)
}
