// Package files does the file operations of the protocol; every path goes through package tree.
package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/tree"
)

// Files is the doer of all file operations below one root.
type Files struct{ root *tree.Root }

// New makes the doer for root.
func New(root *tree.Root) *Files { return &Files{root: root} }

// openRegular opens an existing regular file by its resolved name, for reading.
func (f *Files) openRegular(real, name string) (*os.File, unix.Stat_t, error) {
	var info unix.Stat_t
	look, err := f.root.Open(real, unix.O_PATH)
	if err != nil {
		return nil, info, frame.FromErrno(err, name)
	}
	err = unix.Fstat(look, &info)
	unix.Close(look)
	if err != nil {
		return nil, info, frame.FromErrno(err, name)
	}
	if err := checkRegular(&info, name); err != nil {
		return nil, info, err
	}
	fd, err := f.root.Open(real, unix.O_RDONLY)
	if err != nil {
		return nil, info, frame.FromErrno(err, name)
	}
	file := os.NewFile(uintptr(fd), "file")
	if err := unix.Fstat(fd, &info); err != nil {
		file.Close()
		return nil, info, frame.FromErrno(err, name)
	}
	if err := checkRegular(&info, name); err != nil {
		file.Close()
		return nil, info, err
	}
	return file, info, nil
}

func checkRegular(info *unix.Stat_t, name string) error {
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return frame.Faultf(frame.IsDirectory, "%q is a directory", name)
	case unix.S_IFLNK:
		return frame.Faultf(frame.PermissionDenied, "%q is a symbolic link that may not be followed", name)
	default:
		return frame.Faultf(frame.NotRegular, "%q is a FIFO, socket or device, not a regular file", name)
	}
	if info.Nlink > 1 {
		return frame.Faultf(frame.PermissionDenied, "%q is a hard link with %d names; copy it to a file of its own first",
			name, info.Nlink)
	}
	return nil
}

// readAll reads at most most bytes; a longer file is too_large.
func readAll(file *os.File, most int64, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, frame.FromErrno(err, name)
	}
	if int64(len(data)) > most {
		return nil, frame.Faultf(frame.TooLarge, "%q is larger than %d bytes", name, most)
	}
	return data, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
