package patch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/limit"
)

var fixed = time.Unix(1_000_000_000, 0)

func TestWhatAPatchLeavesOutIsSaid(t *testing.T) {
	b := newBench(t, func(dir string) {
		put(dir, "pkg/__pycache__/tracked.pyc", "brought by the source\n", 0o644)
		put(dir, ".git/config", "[core]\n", 0o644)
		put(dir, "large", strings.Repeat("0123456789abcdef", limit.BaselineFileMaxBytes/16)+"x", 0o644)
		put(dir, "large-same", strings.Repeat("0123456789abcdef", limit.BaselineFileMaxBytes/16)+"x", 0o644)
	})
	w := b.workspace
	put(w, "pkg/__pycache__/tracked.pyc", "changed\n", 0o644)
	put(w, "pkg/__pycache__/new.pyc", "cache", 0o644)
	put(w, ".pytest_cache/v/cache/lastfailed", "{}", 0o644)
	put(w, ".git/config", "[core]\n\tfsmonitor = evil\n", 0o644)
	put(w, "sub/.git", "gitdir: ../x\n", 0o644)
	put(w, ".orchestration/events.jsonl", "ours\n", 0o644)
	put(w, "new.bin", strings.Repeat("\x00", limit.DiffBinaryMaxBytes+1), 0o644)
	put(w, "large", strings.Repeat("fedcba9876543210", limit.BaselineFileMaxBytes/16)+"x", 0o644)
	must(os.Chtimes(filepath.Join(w, "large-same"), fixed, fixed))
	must(unix.Mkfifo(filepath.Join(w, "fifo"), 0o644))
	made := b.make()
	text, omitted := string(made.Text), strings.Join(made.Omitted, "\n")
	if !strings.Contains(text, "+changed") {
		t.Error("a change of a file the source brought is missing")
	}
	for _, absent := range []string{"new.pyc", "lastfailed", "fsmonitor", "gitdir", "ours", "new.bin"} {
		if strings.Contains(text, absent) {
			t.Errorf("the patch holds %q", absent)
		}
	}
	for _, said := range []string{"pkg/__pycache__/: cache directory, 1 new files", ".pytest_cache/", "new.bin: binary", "large: too large", "fifo: a FIFO"} {
		if !strings.Contains(omitted, said) {
			t.Errorf("%q is not said in:\n%s", said, omitted)
		}
	}
	if made.Lacking != 3 {
		t.Errorf("%d of new.bin, large and fifo are content", made.Lacking)
	}
	if strings.Contains(omitted, "large-same") {
		t.Error("a large file that did not change is called left out")
	}
}

func TestWhatGitRunsIsNamed(t *testing.T) {
	b := newBench(t, func(dir string) {
		put(dir, ".git/config", "[core]\n", 0o644)
		put(dir, ".git/hooks/gone", "x", 0o755)
		put(dir, ".git/hooks/stays", "x", 0o755)
		put(dir, ".git/HEAD", "ref: x\n", 0o644)
	})
	w := b.workspace
	put(w, ".git/config", "[core]\n\thooksPath = /tmp\n", 0o644)
	put(w, ".git/hooks/pre-commit", "evil", 0o755)
	put(w, ".git/hooks/pre-push.sample", "harmless", 0o755)
	put(w, ".git/hooks/stays", "x", 0o755)
	put(w, ".git/HEAD", "ref: y\n", 0o644)
	put(w, "sub/.git", "gitdir: ../elsewhere\n", 0o644)
	must(os.Remove(filepath.Join(w, ".git/hooks/gone")))
	for n := range 2 * limit.OmittedMaxCount {
		must(unix.Mkfifo(filepath.Join(w, fmt.Sprintf("a%d", n)), 0o644))
	}
	made := b.make()
	got := strings.Join(made.Omitted, "\n")
	for _, said := range []string{".git/config: changed;", ".git/hooks/pre-commit: added;", ".git/hooks/gone: deleted;", "sub/.git: added;"} {
		if !strings.Contains(got, said) {
			t.Errorf("%q is not said in:\n%s", said, got)
		}
	}
	if strings.Count(got, "git runs") != 4 || len(made.Text) > 0 || len(made.Omitted) > limit.OmittedMaxCount {
		t.Errorf("%q\n%s", made.Text, got)
	}
}

func TestTooLargePatchHasOnlyTheHeadsOfItsFiles(t *testing.T) {
	b := newBench(t, func(string) {})
	put(b.workspace, "a.txt", strings.Repeat("text\n", 100), 0o644)
	put(b.workspace, "b.txt", "b\n", 0o644)
	const heads = "diff --git a/a.txt b/a.txt\nnew file mode 100644\ndiff --git a/b.txt b/b.txt\nnew file mode 100644\n"
	made, err := Make(context.Background(), b.root, b.base, 200)
	if err != nil || !made.TooLarge || string(made.Text) != heads || len(made.Omitted) != 0 {
		t.Fatalf("%+v %v", made, err)
	}
	if made, err = Make(context.Background(), b.root, b.base, 80); string(made.Text) != heads[:len(heads)/2] || len(made.Omitted) != 1 {
		t.Fatalf("cut: %q %q %v", made.Text, made.Omitted, err)
	}
	if made := b.make(); made.TooLarge || len(made.Text) == 0 {
		t.Fatal("the control is too large as well")
	}
}

func TestCachesAreNoContentHoweverMany(t *testing.T) {
	b := newBench(t, func(string) {})
	for n := range 2 * limit.OmittedMaxCount {
		put(b.workspace, fmt.Sprintf("%s%d/__pycache__/x.pyc", strings.Repeat("p", 180), n), "cache", 0o644)
	}
	if made := b.make(); made.Lacking != 0 || len(made.Omitted) == 0 {
		t.Errorf("%d of %d lines are called content", made.Lacking, len(made.Omitted))
	}
	put(b.workspace, "x: cache directory, 3 new files", strings.Repeat("\x00", limit.DiffBinaryMaxBytes+1), 0o644)
	if made := b.make(); made.Lacking != 1 {
		t.Errorf("control: %d", made.Lacking)
	}
}

func TestOmissionsAreBounded(t *testing.T) {
	o := newOmissions()
	for range 5_000 {
		o.add(strings.Repeat("n", 4_000)+"\n", "why")
		o.addCache(strings.Repeat("c", 4_000))
	}
	list := o.list()
	if len(list) > limit.OmittedMaxCount || len(list[0]) > limit.OmittedMaxChars || !strings.Contains(list[len(list)-1], "more") {
		t.Fatalf("%d lines, %d bytes, %q", len(list), len(list[0]), list[len(list)-1])
	}
}
