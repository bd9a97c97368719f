// Package unpack guards the workspace from its own source: an archive's names, links, kinds and sizes are not believed.
package unpack

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

// File unpacks one archive (tar, tar.gz, tar.bz2 or zip, told by content) below root. strip leaves out that many first
// parts of every name; when it does, all entries must share them.
func File(root *tree.Root, name string, strip int) error {
	source, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("the archive cannot be opened: %w", err)
	}
	defer source.Close()
	w := &writer{root: root, strip: strip, left: limit.ArchiveUnpackedMaxBytes, entriesLeft: limit.ArchiveMaxEntries}
	if err := unpackAny(w, source); err != nil {
		return fmt.Errorf("archive %s: %w", filepath.Base(name), err)
	}
	if w.written == 0 {
		return fmt.Errorf("archive %s: it holds no file", filepath.Base(name))
	}
	return nil
}

func unpackAny(w *writer, source *os.File) error {
	buffered := bufio.NewReaderSize(source, 64*limit.KiB)
	head, _ := buffered.Peek(512)
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return unpackZip(w, source)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("it is not a whole gzip file: %w", err)
		}
		return unpackTar(w, unpacked)
	case bytes.HasPrefix(head, []byte("BZh")):
		return unpackTar(w, bzip2.NewReader(buffered))
	case len(head) == 512 && bytes.Equal(head[257:262], []byte("ustar")):
		return unpackTar(w, buffered)
	}
	return errors.New("it is neither tar, tar.gz, tar.bz2 nor zip")
}

func unpackTar(w *writer, source io.Reader) error {
	archive := tar.NewReader(&bounded{source: source, left: limit.ArchiveUnpackedMaxBytes + 256*limit.MiB})
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, ErrTooLarge) {
			return errTooManyBytes
		}
		if err != nil {
			return fmt.Errorf("it is damaged or cut off: %w", err)
		}
		one := entry{
			name: header.Name, executable: header.Mode&0o111 != 0, modified: header.ModTime,
			target: header.Linkname, size: header.Size,
		}
		switch header.Typeflag {
		case tar.TypeReg:
			one.kind = regular
		case tar.TypeDir:
			one.kind = directory
		case tar.TypeSymlink:
			one.kind = link
		case tar.TypeLink:
			one.kind = copyOf
		case tar.TypeXGlobalHeader:
			continue
		default:
			return fmt.Errorf("%q is a device, FIFO or other special file", header.Name)
		}
		if err := w.put(one, archive); err != nil {
			return err
		}
	}
}

func unpackZip(w *writer, source *os.File) error {
	info, err := source.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(source, info.Size())
	if err != nil {
		return fmt.Errorf("it is not a whole zip file: %w", err)
	}
	for _, file := range archive.File {
		if err := putZip(w, file); err != nil {
			return err
		}
	}
	return nil
}

func putZip(w *writer, file *zip.File) error {
	one := entry{name: file.Name, executable: file.Mode()&0o111 != 0, modified: file.Modified, kind: regular}
	if one.size = int64(file.UncompressedSize64); one.size < 0 {
		return errTooManyBytes
	}
	content, err := file.Open()
	if err != nil {
		return fmt.Errorf("%q cannot be read: %w", file.Name, err)
	}
	defer content.Close()
	switch mode := file.Mode(); {
	case mode.IsDir():
		one.kind = directory
	case mode&os.ModeSymlink != 0:
		target, err := io.ReadAll(io.LimitReader(content, limit.PathMaxChars))
		if err != nil {
			return fmt.Errorf("%q cannot be read: %w", file.Name, err)
		}
		one.kind, one.target = link, string(target)
	case !mode.IsRegular():
		return fmt.Errorf("%q is a device, FIFO or other special file", file.Name)
	}
	return w.put(one, content)
}

// bounded ends a decompression bomb, whatever the headers say.
type bounded struct {
	source io.Reader
	left   int64
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooManyBytes
	}
	size, err := b.source.Read(into[:min(int64(len(into)), b.left)])
	b.left -= int64(size)
	return size, err
}
