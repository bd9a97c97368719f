package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

var stamp = time.Unix(1_600_000_000, 0)

func tarOf(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, header := range headers {
		content := header.PAXRecords["GUILDHALL.content"]
		header.PAXRecords = nil
		header.Size, header.ModTime = int64(len(content)), stamp
		if header.Typeflag != tar.TypeReg {
			header.Size = 0
		}
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			writer.Write([]byte(content))
		}
	}
	writer.Close()
	return out.Bytes()
}

func file(name, content string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, PAXRecords: map[string]string{"GUILDHALL.content": content}}
}

func special(kind byte, name, target string) tar.Header {
	return tar.Header{Typeflag: kind, Name: name, Linkname: target, Mode: 0o777}
}

// unpackInto gives the workspace, the directory around it, and what went wrong.
func unpackInto(t *testing.T, archive []byte, strip int) (dir, around string, err error) {
	t.Helper()
	around = t.TempDir()
	dir = filepath.Join(around, "workspace")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(name, archive, 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := tree.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	return dir, around, File(root, name, strip)
}

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	writer.Write(data)
	writer.Close()
	return out.Bytes()
}

func zipped(t *testing.T, names map[string]fs.FileMode) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := zip.NewWriter(&out)
	for name, mode := range names {
		header := &zip.FileHeader{Name: name}
		header.SetMode(mode)
		into, err := writer.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		into.Write([]byte("../outside"))
	}
	writer.Close()
	return out.Bytes()
}

func TestOrdinaryArchive(t *testing.T) {
	plain := tarOf(t, special(tar.TypeDir, "pkg-1.0/", ""), file("pkg-1.0/README", "hello\n", 0o6600), file("pkg-1.0/bin/run", "#!\n", 0o755),
		special(tar.TypeSymlink, "pkg-1.0/bin/link", "../README"), special(tar.TypeLink, "pkg-1.0/hard", "pkg-1.0/bin/run"),
		file("pkg-1.0/README", "again\n", 0o644), file("pkg-1.0/bad\xff name", "x", 0o644))
	for name, archive := range map[string][]byte{"tar": plain, "tar.gz": gzipped(plain)} {
		dir, _, err := unpackInto(t, archive, 1)
		if err != nil {
			t.Fatal(name, err)
		}
		for file, want := range map[string]string{"README": "again\n", "bin/run": "#!\n", "bin/link": "again\n", "hard": "#!\n", "bad\xff name": "x"} {
			if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
				t.Errorf("%s: %q holds %q (%v)", name, file, got, err)
			}
		}
		run, _ := os.Stat(filepath.Join(dir, "hard"))
		readme, _ := os.Stat(filepath.Join(dir, "README"))
		if run.Mode() != 0o755 || readme.Mode() != 0o644 || !readme.ModTime().Equal(stamp) {
			t.Errorf("%s: modes %v %v, time %v", name, run.Mode(), readme.Mode(), readme.ModTime())
		}
	}
	dir, _, err := unpackInto(t, zipped(t, map[string]fs.FileMode{"a/": fs.ModeDir | 0o755, "a/b": 0o755, "c": 0o600}), 0)
	if info, statErr := os.Stat(filepath.Join(dir, "a/b")); err != nil || statErr != nil || info.Mode() != 0o755 {
		t.Errorf("zip: %v %v", err, statErr)
	}
}

func TestHostileArchivesAreRefusedAndLeaveNothingOutside(t *testing.T) {
	many := strings.Repeat("x", 100)
	for name, archive := range map[string][]byte{
		"absolute":              tarOf(t, file("/tmp/guildhall-evil", "x", 0o644)),
		"climbing":              tarOf(t, file("a/../../evil", "x", 0o644)),
		"climbing plainly":      tarOf(t, file("../evil", "x", 0o644)),
		"absolute link":         tarOf(t, special(tar.TypeSymlink, "l", "/etc")),
		"climbing link":         tarOf(t, special(tar.TypeSymlink, "a/l", "../../evil")),
		"link to reserved":      tarOf(t, special(tar.TypeSymlink, "l", ".orchestration/x")),
		"reserved":              tarOf(t, file(".orchestration/x", "x", 0o644)),
		"reserved, spelled":     tarOf(t, file("./a/../.orchestration", "x", 0o644)),
		"through a link":        tarOf(t, special(tar.TypeDir, "d", ""), special(tar.TypeSymlink, "l", "d"), special(tar.TypeSymlink, "d/l2", "../.."), file("l/l2/evil", "x", 0o644)),
		"file over a directory": tarOf(t, special(tar.TypeDir, "d", ""), file("d", "x", 0o644)),
		"hard link outside":     tarOf(t, special(tar.TypeLink, "h", "/etc/passwd")),
		"hard link climbing":    tarOf(t, special(tar.TypeLink, "h", "../source")),
		"hard link to nothing":  tarOf(t, special(tar.TypeLink, "h", "none")),
		"hard link to a link":   tarOf(t, file("a", "x", 0o644), special(tar.TypeSymlink, "l", "a"), special(tar.TypeLink, "h", "l")),
		"device":                tarOf(t, special(tar.TypeChar, "c", "")),
		"block device":          tarOf(t, special(tar.TypeBlock, "b", "")),
		"fifo":                  tarOf(t, special(tar.TypeFifo, "f", "")),
		"long name":             tarOf(t, file(strings.Repeat("n", 300), "x", 0o644)),
		"cut off":               tarOf(t, file("a", many, 0o644))[:600],
		"cut off gzip":          gzipped(tarOf(t, file("a", many, 0o644)))[:60],
		"no archive":            []byte("hello"),
		"empty":                 {},
		"empty tar":             tarOf(t),
		"zip climbing":          zipped(t, map[string]fs.FileMode{"../evil": 0o644}),
		"zip with a link":       zipped(t, map[string]fs.FileMode{"l": fs.ModeSymlink | 0o777}),
		"zip with a device":     zipped(t, map[string]fs.FileMode{"d": fs.ModeDevice | 0o777}),
	} {
		_, around, err := unpackInto(t, archive, 0)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), around) {
			t.Errorf("%s: shows a host path: %v", name, err)
		}
		if entries, _ := os.ReadDir(around); len(entries) != 1 {
			t.Errorf("%s: left outside: %v", name, entries)
		}
	}
	if _, err := os.Lstat("/tmp/guildhall-evil"); err == nil {
		t.Error("an absolute name was unpacked")
	}
}

func TestStripNeedsOneCommonTop(t *testing.T) {
	if _, _, err := unpackInto(t, tarOf(t, file("a/x", "x", 0o644), file("b/y", "y", 0o644)), 1); err == nil {
		t.Error("two tops were merged")
	}
	if dir, _, err := unpackInto(t, tarOf(t, file("a/x", "x", 0o644), file("b/y", "y", 0o644)), 0); err != nil {
		t.Error(err)
	} else if _, err := os.Stat(filepath.Join(dir, "b/y")); err != nil {
		t.Error(err)
	}
}

func TestBombsEndAtTheBounds(t *testing.T) {
	w := &writer{left: 10, entriesLeft: 2}
	root, err := tree.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w.root = root
	if err := w.put(entry{name: "a"}, strings.NewReader("1234567890")); err != nil {
		t.Error(err)
	}
	if err := w.put(entry{name: "b"}, strings.NewReader("1")); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
	if err := w.put(entry{name: "c"}, strings.NewReader("")); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "entries") {
		t.Errorf("%v", err)
	}
	stream := &bounded{source: zeros{}, left: 3 * limit.MiB}
	total := 0
	for {
		size, err := stream.Read(make([]byte, limit.MiB))
		if total += size; err != nil {
			break
		}
	}
	if total != 3*limit.MiB {
		t.Errorf("%d bytes", total)
	}
}

func TestWhatIsTooLargeSaysSoWhereverItIsFound(t *testing.T) {
	root, err := tree.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	honest := &writer{root: root, left: 10, entriesLeft: 9}
	if err := honest.put(entry{name: "honest", size: 10}, strings.NewReader("1234567890")); err != nil {
		t.Error("control: ", err)
	}
	read := &counted{}
	if err := honest.put(entry{name: "honest-too", size: 1}, read); !errors.Is(err, ErrTooLarge) || read.bytes != 0 {
		t.Errorf("%v after %d bytes", err, read.bytes)
	}
	lying := &writer{root: root, left: 10, entriesLeft: 9}
	if err := lying.put(entry{name: "lying", size: 1}, zeros{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if _, _, err := unpackInto(t, tarOf(t, file("a", strings.Repeat("x", 100), 0o644))[:600], 0); err == nil || errors.Is(err, ErrTooLarge) {
		t.Errorf("control: a damaged archive is not a large one: %v", err)
	}
}

type counted struct{ bytes int }

func (c *counted) Read(into []byte) (int, error) { c.bytes += len(into); return len(into), nil }

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { return len(into), nil }
