package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/frame"
)

// Read gives a piece of a regular file, from a byte or from a line on, and the hash of the file when the piece is the
// whole of it. A line behind the last gives no bytes and says how many lines there are.
func (f *Files) Read(ctx context.Context, request *frame.Read) (*frame.ReadResult, error) {
	name := request.Name()
	real, err := f.root.Resolve(name)
	if err != nil {
		return nil, err
	}
	file, info, err := f.openRegular(real, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	start, before, err := lineStart(ctx, file, request)
	if err != nil {
		return nil, fromSeek(err, name)
	}
	data, err := piece(file, start, request.Limit)
	if err != nil {
		return nil, frame.FromErrno(err, name)
	}
	result := &frame.ReadResult{Data: data, Size: info.Size, Mode: info.Mode & 0o7777, Offset: start}
	if request.Line != nil && request.Offset == 0 {
		result.Lines = countLines(ctx, file, before, start)
	}
	result.UTF8 = utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
	if start == 0 && int64(len(data)) >= info.Size {
		result.Size = int64(len(data))
		result.SHA256 = hashOf(data)
	}
	return result, nil
}

func piece(file *os.File, offset int64, most int) ([]byte, error) {
	data := make([]byte, most)
	size, err := file.ReadAt(data, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:size], err
}
