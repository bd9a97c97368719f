package edit

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

// noMatch says why old was not found, as far as it can be told.
func noMatch(content, old []byte) error {
	if bytes.IndexByte(content[:min(len(content), probeBytes)], 0) >= 0 {
		return frame.Faultf(frame.Binary, "the file is binary (it holds NUL bytes) and has no such bytes; use a command to change it")
	}
	why := "read the file again and copy the text exactly"
	if bytes.Count(content, lf) <= limit.EditHintMaxLines {
		if hint := hintFor(content, old); hint != "" {
			why = hint
		}
	}
	return frame.Faultf(frame.NoMatch, "text not found; %s", why)
}

// likeness is one way in which text that was copied from a file may differ from it.
type likeness struct {
	fold func([]byte) []byte
	told string
}

var likenesses = []likeness{
	{trimRight, "it differs in trailing whitespace at line %d"},
	{bytes.TrimSpace, "it differs in indentation at line %d"},
	{squeezed, "it differs in blanks and tabs at line %d"},
	{bytes.ToLower, "it differs in letter case at line %d"},
	{plainMarks, "it differs in the kind of quotes, dashes or blanks at line %d"},
}

func hintFor(content, old []byte) string {
	if bytes.TrimSpace(old) == nil || len(bytes.TrimSpace(old)) == 0 {
		return ""
	}
	wanted, lines := bytes.Split(old, lf), bytes.Split(content, lf)
	if len(wanted) > 1 && len(wanted[len(wanted)-1]) == 0 {
		wanted = wanted[:len(wanted)-1]
	}
	for _, like := range likenesses {
		if line := lineLike(lines, wanted, like.fold); line > 0 {
			return fmt.Sprintf(like.told, line)
		}
	}
	switch bare, numbered := withoutNumbers(old); {
	case numbered && occurs(content, bare):
		return "it carries line-number prefixes that are not in the file, leave them out"
	case foreign(content) && beyondASCII(old):
		return "the file is not UTF-8 (" + firstBadByte(content) + "), so characters outside ASCII do not match; use a part without them"
	case occurs(content, unescaped(old)):
		return `it holds escapes such as \u{200b} or \xe9 that stand for characters or bytes of the file; use a part without them`
	}
	return nearest(lines, wanted)
}

func occurs(content, text []byte) bool {
	matches, err := find(content, text, true)
	return err == nil && len(text) > 0 && len(matches) > 0
}

func trimRight(line []byte) []byte { return bytes.TrimRight(line, " \t\r") }

func squeezed(line []byte) []byte { return bytes.Join(bytes.Fields(line), []byte(" ")) }

var marks = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "–", "-", "—", "-", "‐", "-", "‑", "-", "−", "-",
	"\u00a0", " ", "\u2009", " ", "\u202f", " ", "…", "...", "\u200b", "", "\ufeff", "", "\u00ad", "")

func plainMarks(line []byte) []byte { return trimRight([]byte(marks.Replace(string(line)))) }

// lineLike is the first line that differs at the first place where lines and wanted agree after fold, or 0.
func lineLike(lines, wanted [][]byte, fold func([]byte) []byte) int {
	folded := make([][]byte, len(wanted))
	for i := range wanted {
		folded[i] = fold(wanted[i])
	}
	steps := limit.EditHintMaxSteps
	for at := 0; at+len(wanted) <= len(lines); at++ {
		different := -1
		for i := range wanted {
			if steps--; steps < 0 {
				return 0
			}
			if !bytes.Equal(fold(lines[at+i]), folded[i]) {
				different = -2
				break
			}
			if different < 0 && !bytes.Equal(bytes.TrimSuffix(lines[at+i], []byte("\r")), wanted[i]) {
				different = i
			}
		}
		if different != -2 {
			return at + max(different, 0) + 1
		}
	}
	return 0
}

// nearest says where the text begins and then differs, or which line is most like its first.
func nearest(lines, wanted [][]byte) string {
	begins, agreed, close, share := 0, 0, 0, 0
	first := bytes.TrimSpace(wanted[0])
	steps := limit.EditHintMaxSteps
	for at := range lines {
		same := 0
		for same < len(wanted) && at+same < len(lines) && bytes.Equal(trimRight(lines[at+same]), trimRight(wanted[same])) && steps > 0 {
			same++
			steps--
		}
		if same > agreed {
			begins, agreed = at+1, same
		}
		if alike := commonShare(bytes.TrimSpace(lines[at]), first); alike > share {
			close, share = at+1, alike
		}
	}
	switch {
	case agreed > 0 && len(bytes.TrimSpace(wanted[0])) > 0:
		return fmt.Sprintf("its first %s at line %d, but line %d differs", firstLines(agreed), begins, begins+agreed)
	case share >= closePercent:
		return fmt.Sprintf("the line most like its first is line %d", close)
	}
	return ""
}

const closePercent = 60

func firstLines(count int) string {
	if count == 1 {
		return "line is there"
	}
	return fmt.Sprintf("%d lines are there", count)
}

// commonShare is how much of the longer line is a common beginning or end, in percent; very short lines say nothing.
func commonShare(line, wanted []byte) int {
	longer, shorter := max(len(line), len(wanted)), min(len(line), len(wanted))
	if shorter < 6 {
		return 0
	}
	head, tail := 0, 0
	for head < shorter && line[head] == wanted[head] {
		head++
	}
	for tail < shorter-head && line[len(line)-1-tail] == wanted[len(wanted)-1-tail] {
		tail++
	}
	return (head + tail) * 100 / longer
}

func firstBadByte(content []byte) string {
	line := 1
	for at := 0; at < len(content); {
		char, size := utf8.DecodeRune(content[at:])
		if char == utf8.RuneError && size == 1 {
			return fmt.Sprintf("byte 0x%02x at line %d", content[at], line)
		}
		if char == '\n' {
			line++
		}
		at += size
	}
	return "no bad byte"
}

var numbered = regexp.MustCompile(`^ *\d+(\t|: ?| ?\| ?|→| )`)

// withoutNumbers takes a line-number column off every line; all is false when some line has none.
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

var escape = regexp.MustCompile(`\\x([0-9a-f]{2})|\\u\{([0-9a-f]{4,6})\}`)

// unescaped turns the escapes a reader is shown back into what they stand for; nil when there are none.
func unescaped(text []byte) []byte {
	if !escape.Match(text) {
		return nil
	}
	return escape.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := escape.FindSubmatch(found)
		if len(parts[1]) > 0 {
			value, _ := strconv.ParseUint(string(parts[1]), 16, 8)
			return []byte{byte(value)}
		}
		value, _ := strconv.ParseUint(string(parts[2]), 16, 32)
		return utf8.AppendRune(nil, rune(value))
	})
}
