// Package edit replaces text in a file's bytes and touches no other byte. Pure.
package edit

import (
	"bytes"
	"fmt"
	"strings"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
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

var (
	lf   = []byte("\n")
	crlf = []byte("\r\n")
)

// Replace puts new in place of old. When old holds LF only, each of its LFs also matches CRLF, and LFs of new are
// written with the ending found at that place. A byte order mark and UTF-16 stay; what would mix two encodings is
// refused. Errors are Faults: no_match, ambiguous, binary, too_large, invalid_argument.
func Replace(content, old, new []byte, all bool) (*Outcome, error) {
	switch {
	case len(old) == 0:
		return nil, frame.Faultf(frame.InvalidArgument, "empty search text; give the text to be replaced")
	case bytes.Equal(old, new):
		return nil, frame.Faultf(frame.InvalidArgument, "old and new text are the same; nothing to change")
	}
	form := formOf(content)
	text, err := form.decode(content)
	if err != nil {
		return nil, err
	}
	if form.marked() {
		old, new = bytes.TrimPrefix(old, utf8Mark), bytes.TrimPrefix(new, utf8Mark)
		if len(old) == 0 {
			return nil, frame.Faultf(frame.InvalidArgument, "the byte order mark cannot be edited")
		}
	}
	if err := checkMix(form, text, old, new); err != nil {
		return nil, err
	}
	out, err := replace(text, old, new, all)
	if err != nil {
		return nil, err
	}
	if out.Content = form.encode(out.Content); len(out.Content) > limit.FileEditMaxBytes {
		return nil, tooLong()
	}
	return out, nil
}

func tooLong() error {
	return frame.Faultf(frame.TooLarge, "the file would become larger than %d bytes", limit.FileEditMaxBytes)
}

func replace(content, old, new []byte, all bool) (*Outcome, error) {
	matches, err := find(content, old, all)
	if err != nil {
		return nil, err
	}
	if len(matches) == 0 {
		return nil, noMatch(content, old)
	}
	if len(matches) > 1 && !all {
		return nil, frame.Faultf(frame.Ambiguous, "the text occurs %d times, at lines %s; add context or replace all",
			len(matches), lineList(content, matches))
	}
	if err := checkWhole(content, matches); err != nil {
		return nil, err
	}
	longest := len(new) + bytes.Count(new, lf)
	if len(content)+len(matches)*max(longest-len(old), 0) > 2*limit.FileEditMaxBytes {
		return nil, tooLong() // before anything of that size is built
	}
	return replaceAt(content, new, matches, !bytes.Contains(old, crlf)), nil
}

// find gives the non-overlapping matches, left to right. Unless all are wanted, one that overlaps another is refused:
// nobody can say which of the two was meant.
func find(content, old []byte, all bool) ([]span, error) {
	if !bytes.Contains(old, lf) || bytes.Contains(old, crlf) || !bytes.Contains(content, crlf) {
		return findExact(content, old, all)
	}
	matches, err := findExact(bytes.ReplaceAll(content, crlf, lf), old, all)
	return widened(content, matches), err
}

func findExact(content, old []byte, all bool) ([]span, error) {
	var matches []span
	for at := 0; ; {
		next := bytes.Index(content[at:], old)
		if next < 0 && len(matches) == 1 && !all {
			return matches, checkOverlap(content, old, matches[0])
		}
		if next < 0 {
			return matches, nil
		}
		if len(matches) == limit.EditMatchesMaxCount {
			return nil, frame.Faultf(frame.TooLarge, "the text occurs more than %d times; use a command for that",
				limit.EditMatchesMaxCount)
		}
		matches = append(matches, span{at + next, at + next + len(old)})
		at += next + len(old)
	}
}

// checkOverlap refuses a text that occurs once more from within its only match on.
func checkOverlap(content, old []byte, match span) error {
	again := bytes.Index(content[match.from+1:], old)
	if again < 0 {
		return nil
	}
	second := span{from: match.from + 1 + again}
	return frame.Faultf(frame.Ambiguous, "the text occurs 2 times that overlap, at lines %s; add context that only one "+
		"of them has", lineList(content, []span{match, second}))
}

// widened turns places in content whose CRLFs were read as LF into places in content itself.
func widened(content []byte, matches []span) []span {
	at, read := 0, 0 // content[:at] was read as that many bytes
	forward := func(to int) int {
		for read < to {
			if bytes.HasPrefix(content[at:], crlf) {
				at++
			}
			at++
			read++
		}
		return at
	}
	for i, match := range matches {
		matches[i] = span{forward(match.from), forward(match.to)}
	}
	return matches
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
	if !bytes.Contains(text, lf) {
		return text
	}
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
