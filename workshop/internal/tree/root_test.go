package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
)

// workspaceOf builds outside/, workspace/ and a few links, and gives the root resolved both ways.
func workspaceOf(t *testing.T) (dir string, roots map[string]*Root) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "workspace")
	for _, one := range []string{"outside", "workspace/sub/deep", "workspace/.orchestration", "workspace-evil"} {
		must(t, os.MkdirAll(filepath.Join(base, one), 0o755))
	}
	for _, one := range []string{"outside/secret", "workspace/file", "workspace/sub/inner", "workspace/.orchestration/journal", "workspace-evil/x"} {
		must(t, os.WriteFile(filepath.Join(base, one), []byte(one), 0o644))
	}
	for name, target := range map[string]string{
		"absolute": filepath.Join(base, "outside/secret"), "relative-out": "../outside/secret", "folder-out": "../outside",
		"chain1": "chain2", "chain2": "chain3", "chain3": "../outside/secret", "loop1": "loop2", "loop2": "loop1",
		"proc": "/proc/self/environ", "dangling": "sub/nothing", "inside": "sub/inner", "folder-in": "sub/deep",
		"up-and-in": "sub/../file", "to-reserved": ".orchestration", "to-journal": "sub/../.orchestration/journal",
		"absolute-in": filepath.Join(dir, "file"), "inside-chain": "inside", "sub/up": "../file", "evil": "../workspace-evil/x",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	root, err := OpenRoot(dir)
	must(t, err)
	t.Cleanup(root.Close)
	if !root.HasOpenat2() {
		t.Log("this kernel has no openat2; only the step-by-step resolver is tested")
	}
	return dir, map[string]*Root{"openat2": root, "steps": root.WithoutOpenat2()}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	_, roots := workspaceOf(t)
	for how, root := range roots {
		for name, want := range map[string]string{ // a path, or the code of the refusal
			"": ".", ".": ".", "./": ".", "file": "file", "./file": "file", "sub//inner": "sub/inner", "sub/../file": "file",
			"inside": "sub/inner", "inside-chain": "sub/inner", "folder-in": "sub/deep", "up-and-in": "file", "sub/up": "file",
			"..": frame.PermissionDenied, "../outside/secret": frame.PermissionDenied, "sub/../../outside/secret": frame.PermissionDenied,
			"/etc/passwd": frame.PermissionDenied, "/": frame.PermissionDenied, "absolute": frame.PermissionDenied,
			"relative-out": frame.PermissionDenied, "folder-out/secret": frame.PermissionDenied, "folder-out": frame.PermissionDenied,
			"chain1": frame.PermissionDenied, "proc": frame.PermissionDenied, "loop1": frame.PermissionDenied,
			"evil": frame.PermissionDenied, "absolute-in": frame.PermissionDenied,
			"dangling": frame.NotFound, "missing": frame.NotFound, "missing/more": frame.NotFound, "file/more": frame.NotDirectory,
			".orchestration": frame.PermissionDenied, "./.orchestration/journal": frame.PermissionDenied,
			"sub/../.orchestration": frame.PermissionDenied, ".orchestration/none": frame.PermissionDenied,
			"to-reserved": frame.PermissionDenied, "to-reserved/journal": frame.PermissionDenied, "to-journal": frame.PermissionDenied,
			".Orchestration": frame.NotFound, "sub/.orchestration": frame.NotFound,
			"a\x00b": frame.InvalidArgument, strings.Repeat("n", 300): frame.InvalidArgument, strings.Repeat("n/", 3_000): frame.InvalidArgument,
		} {
			got, err := root.Resolve(name)
			if err != nil {
				got = frame.CodeOf(err)
			}
			if got != want {
				t.Errorf("%s: %.60q gives %q (%v), not %q", how, name, got, err, want)
			}
		}
	}
}

func TestOpenFollowsNothing(t *testing.T) {
	dir, roots := workspaceOf(t)
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	for how, root := range roots {
		for _, name := range []string{"inside", "folder-in/x", "absolute", "../outside/secret", "sub/../../outside"} {
			if fd, err := root.Open(name, unix.O_RDONLY); err == nil {
				unix.Close(fd)
				t.Errorf("%s: %q was opened", how, name)
			}
		}
		for _, name := range []string{"file", "sub/inner", ".", "sub", "fifo"} { // the control; a FIFO does not block
			fd, err := root.Open(name, unix.O_RDONLY)
			if err != nil {
				t.Errorf("%s: %q: %v", how, name, err)
				continue
			}
			unix.Close(fd)
		}
	}
}

func TestParentAndMakeDirs(t *testing.T) {
	dir, roots := workspaceOf(t)
	for how, root := range roots {
		for name, code := range map[string]string{
			".": frame.InvalidArgument, "folder-out/new": frame.PermissionDenied, "to-reserved/new": frame.PermissionDenied,
			".orchestration": frame.PermissionDenied, "missing/new": frame.NotFound, "file/new": frame.NotDirectory,
			"sub/../../x": frame.PermissionDenied,
		} {
			if fd, _, _, err := root.Parent(name); frame.CodeOf(err) != code {
				unix.Close(fd)
				t.Errorf("%s: parent of %q gives %v, not %s", how, name, err, code)
			}
		}
		fd, base, real, err := root.Parent("folder-in/new")
		if err != nil || base != "new" || real != "sub/deep/new" {
			t.Errorf("%s: %q %q %v", how, base, real, err)
		}
		unix.Close(fd)
		for _, name := range []string{"folder-out/made", "to-reserved/made", "dangling/made", "absolute", ".orchestration/made", "file/made", "dangling"} {
			if err := root.MakeDirs(name); err == nil {
				t.Errorf("%s: %q was made", how, name)
			}
		}
		must(t, root.MakeDirs("new-"+how+"/a/b"))
		must(t, root.MakeDirs("folder-in/c"))
		for _, made := range []string{"new-" + how + "/a/b", "sub/deep/c"} {
			if info, err := os.Stat(filepath.Join(dir, made)); err != nil || !info.IsDir() {
				t.Errorf("%s: %q was not made: %v", how, made, err)
			}
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "../outside")); len(entries) != 1 {
		t.Errorf("outside changed: %v", entries)
	}
}

func TestWalkStaysInside(t *testing.T) {
	_, roots := workspaceOf(t)
	for how, root := range roots {
		var met []string
		complete, err := root.Walk(".", func(item *Item) (bool, bool) {
			met = append(met, item.Path)
			return true, true
		})
		if err != nil || !complete {
			t.Fatal(how, err, complete)
		}
		if !slices.Contains(met, "sub/deep") || !slices.Contains(met, "folder-out") {
			t.Errorf("%s: met %v", how, met)
		}
		for _, name := range met {
			if strings.Contains(name, "secret") || strings.HasPrefix(name, Reserved) || strings.HasPrefix(name, "folder-in/") {
				t.Errorf("%s: walked into %q", how, name)
			}
		}
	}
}

func TestDeepTreesEnd(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("d/", 400))
	must(t, os.MkdirAll(deep, 0o755))
	root, err := OpenRoot(dir)
	must(t, err)
	defer root.Close()
	count := 0
	complete, err := root.Walk(".", func(*Item) (bool, bool) { count++; return true, true })
	if err != nil || complete || count < 200 || count > 202 {
		t.Fatalf("%d entries, complete %v, %v", count, complete, err)
	}
}

func TestShowEscapesWhatCannotBeSeen(t *testing.T) {
	for name, want := range map[string]string{
		"plain é 日本": "", "new\nline": `new\x0aline`, "\x1b[31m": `\x1b[31m`, "bad\xff": `bad\xff`,
		"bidi\u202e": `bidi\xe2\x80\xae`, "zero\u200bwidth": `zero\xe2\x80\x8bwidth`, "sep\u2028": `sep\xe2\x80\xa8`,
	} {
		text, exact := Show(name)
		if want == "" && (text != name || exact != "") || want != "" && (text != want || exact == "") {
			t.Errorf("%q is shown as %q (%s)", name, text, exact)
		}
	}
}
