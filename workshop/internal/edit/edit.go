// Package edit replaces text in a file's bytes and touches no other byte. Pure.
package edit

import (
	"bytes"
	"fmt"
	"strings"

	"guildhall.dev/workshop/internal/frame"
)

// Outcome is the new content and the 1-based lines, in the new content, where the replacements begin.
type Outcome struct {
	Content []byte
	Count   int
	Lines   []int
}

const linesShown = 100

// span is one match: content[from:to].
type span struct{ from, to int }

// Replace puts new in place of old. When old holds LF only, each of its LFs also matches CRLF, and LFs of new are
// written with the ending found at that place. Errors are Faults: no_match, ambiguous, binary, invalid_argument.
func Replace(content, old, new []byte, all bool) (*Outcome, error) {
	switch {
	case len(old) == 0:
		return nil, frame.Faultf(frame.InvalidArgument, "empty search text; give the text to be replaced")
	case bytes.Equal(old, new):
		return nil, frame.Faultf(frame.InvalidArgument, "old and new text are the same; nothing to change")
	}
	matches := find(content, old)
	if len(matches) == 0 {
		return nil, noMatch(content, old)
	}
	if len(matches) > 1 && !all {
		return nil, frame.Faultf(frame.Ambiguous, "the text occurs %d times, at lines %s; add context or replace all",
			len(matches), lineList(content, matches))
	}
	return replaceAt(content, new, matches, !bytes.Contains(old, crlf)), nil
}

var (
	lf   = []byte("\n")
	crlf = []byte("\r\n")
)

// find gives the non-overlapping matches, left to right.
func find(content, old []byte) []span {
	if !bytes.Contains(old, lf) || bytes.Contains(old, crlf) || !bytes.Contains(content, crlf) {
		return findExact(content, old)
	}
	parts := bytes.Split(old, lf)
	var matches []span
	for at := 0; ; {
		match, found := nextFlexible(content, parts, at)
		if !found {
			return matches
		}
		matches = append(matches, match)
		at = match.to
	}
}

func findExact(content, old []byte) []span {
	var matches []span
	for at := 0; ; {
		next := bytes.Index(content[at:], old)
		if next < 0 {
			return matches
		}
		matches = append(matches, span{at + next, at + next + len(old)})
		at += next + len(old)
	}
}

// nextFlexible finds parts joined by LF or CRLF, beginning at or after at.
func nextFlexible(content []byte, parts [][]byte, at int) (span, bool) {
	anchor := append(append([]byte{}, parts[0]...), '\n')
	for start := at; start < len(content); {
		from, after := nextLineEnd(content, parts[0], anchor, start)
		if from < 0 {
			return span{}, false
		}
		if to, fits := followParts(content, parts[1:], after); fits {
			return span{from, to}, true
		}
		start = from + 1
	}
	return span{}, false
}

// nextLineEnd finds first followed by LF or CRLF; after is the position behind the ending.
func nextLineEnd(content, first, anchor []byte, start int) (from, after int) {
	plain := bytes.Index(content[start:], anchor)
	dos := bytes.Index(content[start:], append(anchor[:len(first):len(first)], crlf...))
	switch {
	case plain < 0 && dos < 0:
		return -1, -1
	case dos >= 0 && (plain < 0 || dos <= plain):
		return start + dos, start + dos + len(first) + 2
	}
	return start + plain, start + plain + len(anchor)
}

func followParts(content []byte, parts [][]byte, at int) (int, bool) {
	for i, part := range parts {
		if !bytes.HasPrefix(content[at:], part) {
			return 0, false
		}
		at += len(part)
		if i == len(parts)-1 {
			return at, true
		}
		switch {
		case bytes.HasPrefix(content[at:], crlf):
			at += 2
		case bytes.HasPrefix(content[at:], lf):
			at++
		default:
			return 0, false
		}
	}
	return at, true
}

func replaceAt(content, new []byte, matches []span, mapEndings bool) *Outcome {
	out := &Outcome{Count: len(matches)}
	var built bytes.Buffer
	line, at := 1, 0
	for _, match := range matches {
		built.Write(content[at:match.from])
		line += bytes.Count(content[at:match.from], lf)
		if len(out.Lines) < linesShown {
			out.Lines = append(out.Lines, line)
		}
		text := new
		if mapEndings {
			text = withEndings(new, endingsAt(content, match))
		}
		built.Write(text)
		line += bytes.Count(text, lf)
		at = match.to
	}
	built.Write(content[at:])
	out.Content = built.Bytes()
	return out
}

// endingsAt lists the line endings inside the match, true for CRLF; when it has none, the ending of its line (or of
// the line before, at the end of a file).
func endingsAt(content []byte, match span) []bool {
	var endings []bool
	for at := match.from; at < match.to; at++ {
		if content[at] == '\n' {
			endings = append(endings, at > 0 && content[at-1] == '\r')
		}
	}
	if len(endings) > 0 {
		return endings
	}
	if next := bytes.IndexByte(content[match.to:], '\n'); next >= 0 {
		at := match.to + next
		return []bool{at > 0 && content[at-1] == '\r'}
	}
	last := bytes.LastIndexByte(content[:match.from], '\n')
	return []bool{last > 0 && content[last-1] == '\r'}
}

// withEndings writes the n-th bare LF of text with the n-th ending, the last one repeating.
func withEndings(text []byte, endings []bool) []byte {
	var out bytes.Buffer
	for at, char := range text {
		if char == '\n' && !(at > 0 && text[at-1] == '\r') {
			if endings[0] {
				out.WriteByte('\r')
			}
			if len(endings) > 1 {
				endings = endings[1:]
			}
		}
		out.WriteByte(char)
	}
	return out.Bytes()
}

func lineList(content []byte, matches []span) string {
	var shown []string
	line, at := 1, 0
	for i, match := range matches {
		if i == 20 {
			shown = append(shown, "…")
			break
		}
		line += bytes.Count(content[at:match.from], lf)
		at = match.from
		shown = append(shown, fmt.Sprint(line))
	}
	return strings.Join(shown, ", ")
}
