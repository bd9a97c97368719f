package patch

import (
	"fmt"
	"sort"
	"strings"

	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

// caches are directories tools fill by themselves. New files in them are no change of the Run; files the source brought
// are compared like any other. The list is fixed: a workspace's own ignore files are not believed.
var caches = map[string]bool{
	"__pycache__": true, ".pytest_cache": true, ".mypy_cache": true, ".ruff_cache": true, ".hypothesis": true,
	".tox": true, ".nox": true, ".gradle": true, "node_modules/.cache": true, "node_modules/.vite": true,
}

// cacheOf is the cache directory name lies in, "" for none.
func cacheOf(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		if caches[part] || i > 0 && caches[parts[i-1]+"/"+part] {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// omissions gathers what a patch leaves out, within OmittedMaxCount lines.
type omissions struct {
	lines   []string
	more    int
	lacking int // how many tell of content that a commit made of the patch would lack: no cache, nothing of git's own
	caches  map[string]int
}

func newOmissions() *omissions { return &omissions{caches: map[string]int{}} }

func (o *omissions) add(name, reason string) {
	if reason == unchanged {
		return
	}
	o.lacking++
	o.tell(name, reason)
}

func (o *omissions) tell(name, reason string) {
	if len(o.lines) >= limit.OmittedMaxCount-2 {
		o.more++
		return
	}
	o.lines = append(o.lines, omission(name, reason))
}

// first adds a line that must not be lost among the others.
func (o *omissions) first(name, reason string) {
	o.lines = append([]string{omission(name, reason)}, o.lines...)
	if over := len(o.lines) - (limit.OmittedMaxCount - 2); over > 0 {
		o.lines = o.lines[:limit.OmittedMaxCount-2]
		o.more += over
	}
}

func omission(name, reason string) string {
	shown, _ := tree.Show(name)
	if len(shown) > limit.OmittedMaxChars-80 {
		shown = strings.ToValidUTF8(shown[:limit.OmittedMaxChars-80], "") + "…"
	}
	return shown + ": " + reason
}

func (o *omissions) addCache(dir string) { o.caches[dir]++ }

func (o *omissions) list() []string {
	var dirs []string
	for dir := range o.caches {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		o.tell(dir+"/", fmt.Sprintf("cache directory, %d new files", o.caches[dir]))
	}
	lines := append([]string{}, o.lines...)
	if o.more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", o.more))
	}
	return lines
}
