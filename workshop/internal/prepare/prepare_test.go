package prepare

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/gate"
	"guildhall.dev/workshop/internal/limit"
)

func TestMessageAlwaysFits(t *testing.T) {
	for _, text := range []string{"", strings.Repeat("x", 5_000), strings.Repeat("ü\"\x00\u2028", 2_000)} {
		for count := range limit.GateTargetsMaxCount + 1 {
			message := Message{Outcome: gate.NotEnforced, Message: text, Workspace: &Workspace{BaselineSHA256: strings.Repeat("a", 64)}}
			for i := range count {
				message.Targets = append(message.Targets, gate.Evidence{
					Name: fmt.Sprintf("%040d", i), Required: i%2 == 0, Attempts: 1 << 30, DeniedInRow: 1 << 30, Last: gate.Unreachable,
				})
			}
			encoded := message.Encode()
			var back Message
			if err := json.Unmarshal(encoded, &back); err != nil || len(encoded) > limit.TerminationMessageMaxBytes {
				t.Fatalf("%d bytes: %v", len(encoded), err)
			}
			if back.Outcome != gate.NotEnforced || back.Version != 1 || utf8.RuneCountInString(back.Message) > 600 || back.Targets == nil {
				t.Fatalf("%+v", back)
			}
			if len(message.Targets) != count {
				t.Fatal("the message itself was changed")
			}
			kept := 0
			for _, target := range back.Targets {
				if target.Required {
					kept++
				}
			}
			if want := min((count+1)/2, 8); kept != want {
				t.Fatalf("%d of %d required targets kept", kept, want)
			}
		}
	}
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

func read(dir, name string) string {
	data, _ := os.ReadFile(filepath.Join(dir, name))
	return string(data)
}

func TestExcludeGoesWhereGitReadsIt(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "info/exclude", "untouched\n")
	for name, c := range map[string]struct {
		build func(dir string)
		file  string // that must hold the line, "" for none
		note  string
	}{
		"no repository": {func(string) {}, "", ""},
		"plain":         {func(dir string) { write(t, dir, ".git/info/exclude", "*.o") }, ".git/info/exclude", ""},
		"no info yet":   {func(dir string) { write(t, dir, ".git/HEAD", "x") }, ".git/info/exclude", ""},
		"worktree inside": {func(dir string) {
			write(t, dir, ".git", "gitdir: main/.git/worktrees/w\n")
			write(t, dir, "main/.git/worktrees/w/commondir", "../..\n")
		}, "main/.git/info/exclude", ""},
		"gitdir outside":  {func(dir string) { write(t, dir, ".git", "gitdir: "+outside+"\n") }, "", "outside"},
		"gitdir climbing": {func(dir string) { write(t, dir, ".git", "gitdir: ../../../"+outside+"\n") }, "", "outside"},
		"commondir outside": {func(dir string) {
			write(t, dir, ".git/commondir", outside+"\n")
		}, "", "outside"},
		"git is a link": {func(dir string) { os.Symlink(outside, filepath.Join(dir, ".git")) }, "", "link"},
		"info is a link": {func(dir string) {
			os.Mkdir(filepath.Join(dir, ".git"), 0o755)
			os.Symlink(outside+"/info", filepath.Join(dir, ".git/info"))
		}, "", "left alone"},
		"exclude is a link": {func(dir string) {
			write(t, dir, ".git/info/x", "")
			os.Symlink(outside+"/info/exclude", filepath.Join(dir, ".git/info/exclude"))
		}, "", "left alone"},
		"nonsense": {func(dir string) { write(t, dir, ".git", "hello\n") }, "", "not one git writes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.build(dir)
			for range 2 { // the second time adds nothing
				message := Run(context.Background(), Plan{Workspace: dir, Baseline: t.TempDir()})
				if message.Outcome != gate.Passed || !strings.Contains(message.Message, c.note) || (c.note == "") != (message.Message == "") {
					t.Fatalf("%+v", message)
				}
			}
			if c.file != "" && strings.Count(read(dir, c.file), "/.orchestration/\n") != 1 {
				t.Errorf("%s holds %q", c.file, read(dir, c.file))
			}
			if read(outside, "info/exclude") != "untouched\n" {
				t.Error("a file outside was changed")
			}
		})
	}
}

func TestReservedNameInTheSourceFails(t *testing.T) {
	for name, build := range map[string]func(dir string){
		"directory": func(dir string) { write(t, dir, ".orchestration/x", "") },
		"file":      func(dir string) { write(t, dir, ".orchestration", "") },
		"link":      func(dir string) { os.Symlink("nowhere", filepath.Join(dir, ".orchestration")) },
	} {
		dir := t.TempDir()
		build(dir)
		if got := Run(context.Background(), Plan{Workspace: dir}); got.Outcome != WorkspaceFailed || !strings.Contains(got.Message, ".orchestration") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	dir := t.TempDir()
	write(t, dir, "sub/.orchestration/x", "") // the control: only the top level is reserved
	if got := Run(context.Background(), Plan{Workspace: dir}); got.Outcome != gate.Passed {
		t.Errorf("%+v", got)
	}
}

func TestInjectIsWholeAndReadOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, BinaryName, "old")
	if err := Inject(dir); err != nil {
		t.Fatal(err)
	}
	self, _ := os.ReadFile("/proc/self/exe")
	info, err := os.Stat(filepath.Join(dir, BinaryName))
	if err != nil || info.Mode() != 0o555 || read(dir, BinaryName) != string(self) {
		t.Fatalf("%v %v", info, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Fatalf("left behind: %v", entries)
	}
	if got := Run(context.Background(), Plan{Workspace: dir, Bin: "/nonexistent"}); got.Outcome != Internal {
		t.Fatalf("%+v", got)
	}
	if got := Run(context.Background(), Plan{Workspace: "/nonexistent"}); got.Outcome != WorkspaceFailed {
		t.Fatalf("%+v", got)
	}
}

// An attempt that follows another finds its work and its baseline; one that follows a torn baseline begins anew.
func TestResumeKeepsTheWorkAndTheBaseline(t *testing.T) {
	plan := Plan{Workspace: t.TempDir(), Baseline: t.TempDir(), Resume: true}
	write(t, plan.Workspace, "kept.txt", "as it was\n")
	first := Run(context.Background(), plan)
	if first.Outcome != gate.Passed || first.Workspace.Files != 1 {
		t.Fatalf("%+v", first)
	}
	write(t, plan.Workspace, "kept.txt", "as the agent left it\n")
	write(t, plan.Workspace, "new.txt", "new\n")
	write(t, plan.Workspace, ".orchestration/mine", "made by a shell meanwhile\n")

	second := Run(context.Background(), plan)
	if second.Outcome != gate.Passed || *second.Workspace != *first.Workspace {
		t.Fatalf("%+v is not the first baseline %+v", second.Workspace, first.Workspace)
	}
	if text, _ := os.ReadFile(filepath.Join(plan.Workspace, "kept.txt")); string(text) != "as the agent left it\n" {
		t.Fatalf("the agent's work is gone: %q", text)
	}

	if err := os.RemoveAll(filepath.Join(plan.Workspace, ".orchestration")); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(plan.Baseline, "manifest")
	info, err := os.Stat(manifest)
	if err != nil || os.Chmod(manifest, 0o644) != nil || os.Truncate(manifest, info.Size()/2) != nil {
		t.Fatal("the manifest could not be torn", err)
	}
	third := Run(context.Background(), plan)
	if third.Outcome != gate.Passed || third.Workspace.Files != 2 {
		t.Fatalf("a torn baseline was taken for a whole one: %+v", third.Workspace)
	}
	plan.Resume = false
	write(t, plan.Workspace, "later.txt", "later\n")
	if again := Run(context.Background(), plan); again.Workspace.Files != 3 {
		t.Fatalf("control: without --resume a baseline is always new: %+v", again.Workspace)
	}
}
