package edit

import (
	"bytes"
	"regexp"

	"guildhall.dev/workshop/internal/frame"
)

// noMatch says why old was not found, as far as it can be told.
func noMatch(content, old []byte) error {
	if looksEncoded(content) {
		return frame.Faultf(frame.Binary, "the file is not plain text (NUL bytes or UTF-16); it can only be changed as bytes")
	}
	if line := lineWithout(content, old, trimRight); line > 0 {
		return frame.Faultf(frame.NoMatch, "text not found; it differs in trailing whitespace at line %d", line)
	}
	if line := lineWithout(content, old, bytes.TrimSpace); line > 0 {
		return frame.Faultf(frame.NoMatch, "text not found; it differs in indentation at line %d", line)
	}
	if bare, numbered := withoutNumbers(old); numbered && len(find(content, bare)) > 0 {
		return frame.Faultf(frame.NoMatch,
			"text not found; it carries line-number prefixes that are not in the file, leave them out")
	}
	return frame.Faultf(frame.NoMatch, "text not found; read the file again and copy the text exactly")
}

func looksEncoded(content []byte) bool {
	head := content[:min(len(content), 8_000)]
	return bytes.IndexByte(head, 0) >= 0 || bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff})
}

func trimRight(line []byte) []byte { return bytes.TrimRight(line, " \t\r") }

// lineWithout is the first line that differs at the first place where content and old agree after trim, or 0.
func lineWithout(content, old []byte, trim func([]byte) []byte) int {
	wanted, lines := bytes.Split(old, lf), bytes.Split(content, lf)
	if len(wanted) > 1 && len(wanted[len(wanted)-1]) == 0 {
		wanted = wanted[:len(wanted)-1]
	}
	if len(bytes.TrimSpace(old)) == 0 {
		return 0
	}
	for at := 0; at+len(wanted) <= len(lines); at++ {
		if different, agrees := agree(lines[at:at+len(wanted)], wanted, trim); agrees {
			return at + different + 1
		}
	}
	return 0
}

// agree says whether lines equal wanted after trim, and the index of the first that differs without it.
func agree(lines, wanted [][]byte, trim func([]byte) []byte) (different int, agrees bool) {
	different = -1
	for i := range wanted {
		if !bytes.Equal(trim(lines[i]), trim(wanted[i])) {
			return 0, false
		}
		if different < 0 && !bytes.Equal(bytes.TrimSuffix(lines[i], []byte("\r")), wanted[i]) {
			different = i
		}
	}
	return max(different, 0), true
}

var numbered = regexp.MustCompile(`^ *\d+(\t|: ?| ?\| ?|→| )`)

// withoutNumbers takes a line-number column off every line; numbered is false when some line has none.
func withoutNumbers(old []byte) (bare []byte, all bool) {
	lines := bytes.Split(bytes.TrimSuffix(old, lf), lf)
	for i, line := range lines {
		prefix := numbered.Find(line)
		if prefix == nil {
			return nil, false
		}
		lines[i] = line[len(prefix):]
	}
	return bytes.Join(lines, lf), true
}
