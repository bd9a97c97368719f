package baseline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

func take(t *testing.T, build func(dir string)) (*Baseline, Summary, string) {
	t.Helper()
	dir, kept := t.TempDir(), t.TempDir()
	build(dir)
	root, err := tree.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found, err := Take(root, kept)
	if err != nil {
		t.Fatal(err)
	}
	base, err := Open(kept)
	if err != nil {
		t.Fatal(err)
	}
	return base, found, kept
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsTakenComesBack(t *testing.T) {
	base, found, _ := take(t, func(dir string) {
		write(t, dir, "a b/\"quoted\"\nname\xff", "content\x00")
		write(t, dir, "empty", "")
		write(t, dir, "sub/.git/config", "taken: git obeys it")
		write(t, dir, ".git/HEAD", "not taken")
		write(t, dir, ".git/objects/hooks/x", "not taken")
		write(t, dir, ".git/hooks/x.sample", "not taken")
		write(t, dir, "large", strings.Repeat("x", limit.BaselineFileMaxBytes+1))
		os.Symlink("somewhere else", filepath.Join(dir, "link"))
		os.Chmod(filepath.Join(dir, "empty"), 0o755)
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644)
	})
	entries, err := base.Entries()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range entries {
		data, kept, err := base.Content(&entry)
		if err != nil {
			t.Fatal(err)
		}
		if !kept {
			data = []byte("hash " + entry.SHA256[:4])
		}
		got[entry.Path] = entry.Mode + " " + string(data)
	}
	want := map[string]string{
		"a b/\"quoted\"\nname\xff": "100644 content\x00", "empty": "100755 ", "link": "120000 somewhere else",
		"large": got["large"], "sub/.git/config": "100644 taken: git obeys it",
	}
	if len(got) != len(want) || !strings.HasPrefix(got["large"], "100644 hash ") {
		t.Fatalf("%q", got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%q is %q, not %q", name, got[name], text)
		}
	}
	if found.Files != 5 || found.HashedOnly != 1 || found.ContentBytes != int64(len("content\x00somewhere elsetaken: git obeys it")) || len(found.ManifestSHA256) != 64 {
		t.Errorf("%+v", found)
	}
}

func TestDamagedBaselineIsAnErrorNotAnEmptyOne(t *testing.T) {
	base, _, kept := take(t, func(dir string) { write(t, dir, "a", "text"); write(t, dir, "b", "text") })
	manifest := filepath.Join(kept, manifestName)
	whole, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, text := range map[string]string{
		"empty": "", "other": "hello\n", "cut": lines[0] + lines[1], "line missing": lines[0] + lines[2] + lines[3],
		"fields missing": lines[0] + "100644 4\nend 1\n", "no number": lines[0] + strings.Replace(lines[1], " 4 ", " x ", 1) + "end 1\n",
		"bad offset": lines[0] + strings.Replace(lines[1], " 0 ", " -7 ", 1) + "end 1\n", "bad quote": lines[0] + strings.TrimSuffix(lines[1], "\"\n") + "\nend 1\n",
	} {
		os.Chmod(manifest, 0o600)
		if err := os.WriteFile(manifest, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if entries, err := base.Entries(); err == nil {
			t.Errorf("%s: %v", name, entries)
		}
	}
	os.WriteFile(manifest, whole, 0o644)
	entries, err := base.Entries() // the control
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v %v", entries, err)
	}
	os.Chmod(filepath.Join(kept, contentName), 0o600)
	os.Truncate(filepath.Join(kept, contentName), 5)
	if _, _, err := base.Content(&entries[1]); err == nil {
		t.Error("cut content was read")
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("an empty directory is a baseline")
	}
}

func TestUntouchedNeedsTheSameFile(t *testing.T) {
	info := unix.Stat_t{Ino: 5, Size: 3, Mode: unix.S_IFREG | 0o644, Mtim: unix.Timespec{Sec: 1}, Ctim: unix.Timespec{Sec: 2}}
	entry := Entry{Mode: ModeFile, Size: 3, Inode: 5, Changed: TimesOf(&info)}
	if !entry.Untouched(&info) {
		t.Fatal("the control is touched")
	}
	for name, change := range map[string]func(*unix.Stat_t){
		"inode": func(s *unix.Stat_t) { s.Ino++ }, "size": func(s *unix.Stat_t) { s.Size++ }, "mode": func(s *unix.Stat_t) { s.Mode |= 0o100 },
		"modified": func(s *unix.Stat_t) { s.Mtim.Nsec++ }, "changed": func(s *unix.Stat_t) { s.Ctim.Nsec++ },
	} {
		other := info
		change(&other)
		if entry.Untouched(&other) {
			t.Errorf("another %s counts as untouched", name)
		}
	}
}
