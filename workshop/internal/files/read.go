package files

import (
	"bytes"
	"errors"
	"io"
	"os"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/frame"
)

// Read gives a piece of a regular file, and the hash of the file when the piece is the whole of it.
func (f *Files) Read(request *frame.Read) (*frame.ReadResult, error) {
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
	data, err := piece(file, request.Offset, request.Limit)
	if err != nil {
		return nil, frame.FromErrno(err, name)
	}
	result := &frame.ReadResult{Data: data, Size: info.Size, Mode: info.Mode & 0o7777}
	result.UTF8 = utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
	if request.Offset == 0 && int64(len(data)) >= info.Size {
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
