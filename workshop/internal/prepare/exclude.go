package prepare

import (
	"context"
	"path"
	"strings"

	"guildhall.dev/workshop/internal/files"
	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/tree"
)

const excludeLine = "/" + tree.Reserved + "/"

// excludeReserved adds the reserved directory to the exclude file that git reads for the workspace: in `.git`, or where
// a `.git` file and `commondir` point to, but only inside the workspace. Anything else is left alone; the answer says
// what was done.
func excludeReserved(root *tree.Root) string {
	common, note := commonDirectory(root)
	if common == "" {
		return note
	}
	name := path.Join(common, "info/exclude")
	doer := files.New(root)
	text, err := readSmall(doer, name)
	if err != nil && frame.CodeOf(err) != frame.NotFound {
		return "git's exclude file was left alone: it is no ordinary file inside the workspace"
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == excludeLine {
			return ""
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if _, err := doer.Write(&frame.Write{Path: frame.Path{Path: name}, Data: []byte(text + excludeLine + "\n"), MakeParents: true}); err != nil {
		return "git's exclude file could not be written"
	}
	return ""
}

// commonDirectory is the directory git keeps shared settings in, "" with a reason when there is none to trust.
func commonDirectory(root *tree.Root) (dir, note string) {
	doer := files.New(root)
	found, err := doer.Stat(&frame.Stat{Path: frame.Path{Path: ".git"}})
	if err != nil {
		return "", "" // no repository
	}
	git := ".git"
	switch found.Entry.Kind {
	case "directory":
	case "file":
		pointer, err := readSmall(doer, ".git")
		target, points := strings.CutPrefix(strings.TrimSpace(pointer), "gitdir:")
		if err != nil || !points {
			return "", "the workspace's .git file is not one git writes; it was left alone"
		}
		git = relative(".", strings.TrimSpace(target))
	default:
		return "", "the workspace's .git is a link; it was left alone"
	}
	if common, err := readSmall(doer, path.Join(git, "commondir")); err == nil {
		git = relative(git, strings.TrimSpace(common))
	}
	if real, err := root.Resolve(git); err != nil || git == "" {
		return "", "the workspace's .git points outside the workspace; it was left alone"
	} else {
		return real, ""
	}
}

// relative joins target to dir; "" for an absolute one, which cannot be trusted to lie inside.
func relative(dir, target string) string {
	if target == "" || path.IsAbs(target) {
		return ""
	}
	return path.Join(dir, target)
}

func readSmall(doer *files.Files, name string) (string, error) {
	result, err := doer.Read(context.Background(), &frame.Read{Path: frame.Path{Path: name}, Limit: 64 * 1024})
	if err != nil {
		return "", err
	}
	if result.SHA256 == "" {
		return "", frame.Faultf(frame.TooLarge, "%q is too large", name)
	}
	return string(result.Data), nil
}
