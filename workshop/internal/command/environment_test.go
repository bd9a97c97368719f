package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"guildhall.dev/workshop/internal/frame"
)

var places = Places{Workspace: "/workspace", Tmp: "/tmp", Home: "/tmp/home"}

func TestFixedEnvironmentLetsNothingElseIn(t *testing.T) {
	env := FixedEnvironment([]string{
		"PATH=/usr/bin:/workspace/bin:relative:/tmp/x:/tmp:/usr/bin::/workspaces/bin", "JAVA_HOME=/opt/java", "HOME=/root",
		"KUBERNETES_SERVICE_HOST=10.0.0.1", "GUILDHALL_GATE={}", "X_SERVICE_HOST=1", "LD_PRELOAD=/x.so", "BASH_ENV=/x", "ENV=/x",
		"GIT_DIR=/x", "OPENAI_API_KEY=canary", "NOVALUE", "PYTHONSTARTUP=/x", "PYTHON_VERSION=3.11", "PROMPT_COMMAND=x",
	}, places, map[string]string{"CI": "1", "LANG": "de_DE.UTF-8"})
	for name, want := range map[string]string{
		"PATH": "/usr/bin:/workspaces/bin", "JAVA_HOME": "/opt/java", "HOME": "/tmp/home", "TMPDIR": "/tmp",
		"PYTHON_VERSION": "3.11", "CI": "1", "LANG": "de_DE.UTF-8", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, not %q", name, env[name], want)
		}
	}
	for name, value := range env {
		if strings.Contains(value, "canary") || strings.HasPrefix(name, "KUBERNETES") || strings.HasPrefix(name, "GUILDHALL") ||
			strings.HasSuffix(name, "_SERVICE_HOST") || strings.HasPrefix(name, "LD_P") || name == "BASH_ENV" || name == "ENV" || name == "GIT_DIR" {
			t.Errorf("%s came in", name)
		}
	}
	if got := FixedEnvironment(nil, places, nil)["PATH"]; got != defaultPath {
		t.Errorf("without a PATH it is %q", got)
	}
}

func TestCallVariablesAreChecked(t *testing.T) {
	fixed := map[string]string{"A": "fixed"}
	got, err := environ(fixed, map[string]string{"A": "call", "B": "="})
	if err != nil || strings.Join(got, " ") != "A=call B==" || fixed["A"] != "fixed" {
		t.Fatalf("%v %v %v", got, err, fixed)
	}
	for name, value := range map[string]string{"": "x", "A=B": "x", "1A": "x", "A B": "x", "GUILDHALL_X": "x", "A": "a\x00b", "C": strings.Repeat("x", 20_000), "Ä": "x"} {
		if _, err := environ(fixed, map[string]string{name: value}); frame.CodeOf(err) != frame.InvalidArgument {
			t.Errorf("%q=%.10q is accepted: %v", name, value, err)
		}
	}
}

func TestShellIsFoundWithoutRunningIt(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if got := FindShell(dir); got != "" {
		t.Fatalf("found %q in an empty directory", got)
	}
	put("sh", 0o755)
	put("bash", 0o644) // not executable
	if got := FindShell("relative:" + dir); got != filepath.Join(dir, "sh") {
		t.Fatalf("found %q", got)
	}
	os.Chmod(filepath.Join(dir, "bash"), 0o755)
	if got := FindShell(dir); got != filepath.Join(dir, "bash") {
		t.Fatalf("found %q", got)
	}
}
