package patch

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"guildhall.dev/workshop/internal/baseline"
	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

// bench is a workspace with a baseline, and a clean copy of its beginning.
type bench struct {
	t                     *testing.T
	workspace, kept, copy string
	root                  *tree.Root
	base                  *baseline.Baseline
}

func newBench(t *testing.T, build func(dir string)) *bench {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	b := &bench{t: t, workspace: t.TempDir(), kept: t.TempDir(), copy: t.TempDir()}
	build(b.workspace)
	build(b.copy)
	var err error
	if b.root, err = tree.OpenRoot(b.workspace); err != nil {
		t.Fatal(err)
	}
	if _, err = baseline.Take(b.root, b.kept); err != nil {
		t.Fatal(err)
	}
	if b.base, err = baseline.Open(b.kept); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.root.Close)
	return b
}

func (b *bench) make() *Made {
	b.t.Helper()
	made, err := Make(context.Background(), b.root, b.base, limit.PatchMaxBytes)
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

// applies runs real git on the clean copy and compares the trees.
func (b *bench) applies(made *Made, arguments ...string) {
	b.t.Helper()
	command := exec.Command("git", append([]string{"-c", "core.symlinks=true", "apply", "--whitespace=nowarn"}, arguments...)...)
	command.Dir = b.copy
	command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(b.copy), "GIT_CONFIG_NOSYSTEM=1")
	command.Stdin = bytes.NewReader(made.Text)
	if out, err := command.CombinedOutput(); err != nil {
		b.t.Fatalf("git apply: %v\n%s\npatch:\n%.4000s", err, out, made.Text)
	}
}

func (b *bench) same() {
	b.t.Helper()
	if got, want := snapshot(b.t, b.copy), snapshot(b.t, b.workspace); got != want {
		b.t.Fatalf("trees differ\ngot:\n%s\nwant:\n%s", got, want)
	}
}

// snapshot is the tree as git sees it: paths, modes and contents, no directories.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			lines = append(lines, fmt.Sprintf("%q -> %q", name, target))
			return err
		}
		data, err := os.ReadFile(path)
		lines = append(lines, fmt.Sprintf("%q %v %q", name, info.Mode()&0o100 != 0, data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func put(dir, name, text string, mode fs.FileMode) {
	full := filepath.Join(dir, name)
	must(os.MkdirAll(filepath.Dir(full), 0o755))
	os.Remove(full)
	must(os.WriteFile(full, []byte(text), 0o600))
	must(os.Chmod(full, mode))
}

func symlink(dir, name, target string) {
	full := filepath.Join(dir, name)
	os.Remove(full)
	must(os.Symlink(target, full))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestEveryKindOfChangeApplies(t *testing.T) {
	b := newBench(t, func(dir string) {
		put(dir, "text.txt", strings.Repeat("line\n", 50)+"fifty one\n"+strings.Repeat("more\n", 50), 0o644)
		put(dir, "no-end.txt", "a\nb", 0o644)
		put(dir, "gets-end.txt", "a\nb", 0o644)
		put(dir, "run.sh", "#!/bin/sh\n", 0o644)
		put(dir, "gone.txt", "bye\n", 0o644)
		put(dir, "gone-binary", "\x00\x01\x02", 0o755)
		put(dir, "empty-gone", "", 0o644)
		put(dir, "becomes-empty", "text\n", 0o644)
		put(dir, "image.bin", "\x00old binary"+strings.Repeat("z", 1000), 0o644)
		put(dir, "crlf.txt", "one\r\ntwo\r\nthree\r\n", 0o644)
		put(dir, "latin1.txt", "caf\xe9\nbar\n", 0o644)
		put(dir, "sub dir/with space.txt", "x\n", 0o644)
		put(dir, "to-link", "file\n", 0o644)
		put(dir, "folder/inner.txt", "inner\n", 0o644)
		put(dir, "file-to-folder", "x\n", 0o644)
		symlink(dir, "link", "text.txt")
		symlink(dir, "link-to-file", "text.txt")
		symlink(dir, "link-gone", "nowhere")
	})
	w := b.workspace
	put(w, "text.txt", strings.Repeat("line\n", 50)+"FIFTY ONE\n"+strings.Repeat("more\n", 50), 0o644)
	put(w, "no-end.txt", "a\nB", 0o644)
	put(w, "gets-end.txt", "a\nb\n", 0o644)
	put(w, "run.sh", "#!/bin/sh\n", 0o755)
	for _, name := range []string{"gone.txt", "gone-binary", "empty-gone", "link-gone", "to-link", "link-to-file", "file-to-folder"} {
		must(os.Remove(filepath.Join(w, name)))
	}
	put(w, "becomes-empty", "", 0o644)
	put(w, "empty-new", "", 0o644)
	put(w, "empty-run", "", 0o755)
	put(w, "image.bin", "\x00new binary"+strings.Repeat("q", 3000), 0o755)
	put(w, "new.bin", strings.Repeat("\x00\xff\x10random", 999), 0o644)
	put(w, "crlf.txt", "one\r\nTWO\r\nthree\r\n", 0o644)
	put(w, "latin1.txt", "caf\xe9\nbaz\n", 0o644)
	put(w, "sub dir/with space.txt", "y\n", 0o644)
	put(w, "sub dir/new with space", "y\n", 0o755)
	put(w, "unicode é/\u202eevil.txt", "u\n", 0o644)
	put(w, "bad\xffname", "b\n", 0o644)
	put(w, "new\nline\ttab\"quote\\", "n\n", 0o644)
	put(w, "-rf", "dash\n", 0o644)
	put(w, "trailing ", "dot\n", 0o644)
	put(w, "file-to-folder/inside", "x\n", 0o644)
	must(os.RemoveAll(filepath.Join(w, "folder")))
	put(w, "folder", "now a file\n", 0o644)
	symlink(w, "link", "run.sh")
	symlink(w, "to-link", "text.txt")
	put(w, "link-to-file", "real\n", 0o644)
	made := b.make()
	if len(made.Omitted) > 0 {
		t.Fatalf("left out: %v", made.Omitted)
	}
	b.applies(made)
	b.same()
	b.applies(made, "--reverse")
	b.workspace = newCopy(t, b)
	b.same()
}

// newCopy rebuilds the beginning from the baseline, to compare the reversed patch with.
func newCopy(t *testing.T, b *bench) string {
	dir := t.TempDir()
	entries, err := b.base.Entries()
	must(err)
	for _, entry := range entries {
		data, kept, err := b.base.Content(&entry)
		if err != nil || !kept {
			t.Fatal("content not kept")
		}
		switch entry.Mode {
		case baseline.ModeLink:
			symlink(dir, entry.Path, string(data))
		case baseline.ModeExecutable:
			put(dir, entry.Path, string(data), 0o755)
		default:
			put(dir, entry.Path, string(data), 0o644)
		}
	}
	return dir
}

func TestUnchangedTreeGivesEmptyPatch(t *testing.T) {
	b := newBench(t, func(dir string) { put(dir, "a", "a\n", 0o644); symlink(dir, "l", "a") })
	must(os.Chtimes(filepath.Join(b.workspace, "a"), fixed, fixed)) // touched, not changed
	if made := b.make(); len(made.Text) > 0 || len(made.Omitted) > 0 {
		t.Fatalf("patch %q, left out %v", made.Text, made.Omitted)
	}
	put(b.workspace, "a", "b\n", 0o644) // the control: a change of the same size is seen
	if made := b.make(); !bytes.Contains(made.Text, []byte("+b\n")) {
		t.Fatalf("patch %q", made.Text)
	}
}

func TestRandomTreesApply(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	names := []string{"a", "b", "dir/a", "dir/b", "dir/sub/c", "x y", "é", "dir2/z"}
	for range 60 {
		start, change := random.Uint64(), random.Uint64()
		b := newBench(t, func(dir string) { scatter(dir, names, rand.New(rand.NewPCG(start, 1)), false) })
		scatter(b.workspace, names, rand.New(rand.NewPCG(change, 2)), true)
		made := b.make()
		if len(made.Text) > 0 {
			b.applies(made)
		}
		b.same()
	}
}

func scatter(dir string, names []string, random *rand.Rand, remove bool) {
	for _, name := range names {
		switch random.IntN(6) {
		case 0:
			if remove {
				os.Remove(filepath.Join(dir, name))
			}
		case 1:
			put(dir, name, string(randomText(random, 30, 4)), 0o755)
		case 2:
			must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			symlink(dir, name, fmt.Sprint("t", random.IntN(3)))
		case 3:
			put(dir, name, "\x00"+string(randomText(random, 9, 9)), 0o644)
		case 4:
			put(dir, name, string(randomText(random, 60, 5)), 0o644)
		}
	}
}
