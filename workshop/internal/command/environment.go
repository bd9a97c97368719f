package command

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// passed are variables images set so that their toolchain works; everything else of the container's environment stays out.
var passed = regexp.MustCompile(`^(JAVA_HOME|JDK_HOME|GOROOT|GOPATH|GOTOOLCHAIN|CARGO_HOME|RUSTUP_HOME|RUST_VERSION|` +
	`NODE_VERSION|NODE_PATH|NVM_DIR|NPM_CONFIG_PREFIX|YARN_VERSION|PYTHON_VERSION|PYTHONHOME|PYTHONPATH|VIRTUAL_ENV|CONDA_[A-Z_]+|` +
	`GEM_HOME|BUNDLE_[A-Z_]+|RUBY_VERSION|MAVEN_HOME|MAVEN_CONFIG|GRADLE_HOME|DOTNET_[A-Za-z_]+|PHP_[A-Z_]+|` +
	`LD_LIBRARY_PATH|PKG_CONFIG_PATH|SSL_CERT_FILE|SSL_CERT_DIR|TZ)$`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// Places are the directories a command's environment names.
type Places struct{ Workspace, Tmp, Home string }

// FixedEnvironment is what every command of a Run starts from: fixed values, the image's toolchain variables, and the
// Run's own plain ones last. inherited is the server's environment as KEY=VALUE.
func FixedEnvironment(inherited []string, places Places, run map[string]string) map[string]string {
	env := map[string]string{}
	search := ""
	for _, pair := range inherited {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == "PATH":
			search = value
		case passed.MatchString(name):
			env[name] = value
		}
	}
	maps.Copy(env, map[string]string{
		"PATH": scopedPath(search, places), "HOME": places.Home, "TMPDIR": places.Tmp,
		"USER": "workshop", "LOGNAME": "workshop", "LANG": "C.UTF-8", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1",
	})
	maps.Copy(env, unattended)
	maps.Copy(env, run)
	return env
}

// noEditor stands for an editor, whatever a repository's configuration names: it says why there is none.
const noEditor = "echo 'there is no editor and no input: give the text on the command line' >&2; false"

// unattended keeps programs from asking, paging and editing: nobody is there.
var unattended = map[string]string{
	"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat", "AWS_PAGER": "",
	"EDITOR": "false", "VISUAL": "false", "GIT_EDITOR": noEditor, "GIT_SEQUENCE_EDITOR": noEditor, "GIT_MERGE_AUTOEDIT": "no",
	"GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never", "SSH_ASKPASS_REQUIRE": "never",
	"DEBIAN_FRONTEND": "noninteractive", "APT_LISTCHANGES_FRONTEND": "none",
	"PIP_NO_INPUT": "1", "POETRY_NO_INTERACTION": "1", "COMPOSER_NO_INTERACTION": "1", "NPM_CONFIG_YES": "true",
}

// scopedPath keeps the absolute entries of search that no command can write to.
func scopedPath(search string, places Places) string {
	var kept []string
	for _, entry := range strings.Split(search, ":") {
		clean := path.Clean(entry)
		if path.IsAbs(entry) && !inside(clean, places.Workspace) && !inside(clean, places.Tmp) && !slices.Contains(kept, clean) {
			kept = append(kept, clean)
		}
	}
	if len(kept) == 0 {
		return defaultPath
	}
	return strings.Join(kept, ":")
}

func inside(name, dir string) bool {
	return dir != "" && (name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/"))
}

// CheckEnvironment refuses names that are no variables or are the product's, and values that are too long.
func CheckEnvironment(env map[string]string) error {
	if len(env) > limit.EnvMaxCount {
		return fmt.Errorf("%d variables; at most %d are allowed", len(env), limit.EnvMaxCount)
	}
	for name, value := range env {
		switch {
		case !variableName.MatchString(name) || strings.HasPrefix(name, "GUILDHALL_"):
			return fmt.Errorf("%.60q is not a name a variable may have", name)
		case len(value) > limit.EnvValueMaxChars*4 || strings.ContainsRune(value, 0):
			return fmt.Errorf("the value of %s is longer than %d characters or holds a NUL byte", name, limit.EnvValueMaxChars)
		}
	}
	return nil
}

// environ merges one call's variables into the fixed ones, as sorted KEY=VALUE.
func environ(fixed, call map[string]string) ([]string, error) {
	if err := CheckEnvironment(call); err != nil {
		return nil, frame.Faultf(frame.InvalidArgument, "env: %s", err)
	}
	merged := maps.Clone(fixed)
	maps.Copy(merged, call)
	pairs := make([]string, 0, len(merged))
	for name, value := range merged {
		pairs = append(pairs, name+"="+value)
	}
	slices.Sort(pairs)
	return pairs, nil
}
