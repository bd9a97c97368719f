package files

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

// hit is one matching line.
type hit struct {
	line int
	text string
}

// matcher is a pattern and what tells quickly that a file cannot hold it.
type matcher struct {
	*regexp.Regexp
	quick prefilter
}

// compile makes the line matcher of a search; RE2 keeps every pattern linear.
func compile(request *frame.Search) (*matcher, error) {
	text := request.Pattern
	if request.Literal {
		text = regexp.QuoteMeta(text)
	}
	flags := "m"
	if request.IgnoreCase {
		flags += "i"
	}
	expression := "(?" + flags + ":" + text + ")"
	_, err := syntax.Parse(text, syntax.Perl) // alone first: an error then quotes what the caller wrote
	var pattern *regexp.Regexp
	if err == nil {
		pattern, err = regexp.Compile(expression)
	}
	if err != nil {
		return nil, frame.Faultf(frame.InvalidArgument, "the pattern is not a regular expression: %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if states(expression) > limit.SearchStatesMaxCount {
		return nil, frame.Faultf(frame.InvalidArgument, "the pattern is too large once its repetitions are written out; make it simpler")
	}
	return &matcher{pattern, newPrefilter(expression)}, nil
}

// states is the size of the machine for expression: matching may take as many steps for each byte.
func states(expression string) int {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// scan gives the lines of content that match, at most most of them. Lines are matched without their ending.
func scan(content []byte, pattern *regexp.Regexp, most int) []hit {
	if bytes.Contains(content, []byte("\r\n")) {
		return scanLines(content, pattern, most)
	}
	var hits []hit
	line, counted := 1, 0
	for at := 0; at < len(content) && len(hits) < most; {
		found := pattern.FindIndex(content[at:])
		if found == nil {
			break
		}
		// The match may span lines ("[^x]" takes a newline): try the lines it touches one by one.
		start := bytes.LastIndexByte(content[:at+found[0]], '\n') + 1
		if start == len(content) {
			break // an empty match behind the last line
		}
		line += bytes.Count(content[counted:start], []byte("\n"))
		counted = start
		for last := at + found[1]; ; {
			end := lineEnd(content, start)
			if pattern.Match(content[start:end]) && len(hits) < most {
				hits = append(hits, hit{line, showLine(content[start:end])})
			}
			at = end + 1
			if at >= last || at >= len(content) {
				break
			}
			start, counted, line = at, at, line+1
		}
	}
	return hits
}

func lineEnd(content []byte, start int) int {
	if end := bytes.IndexByte(content[start:], '\n'); end >= 0 {
		return start + end
	}
	return len(content)
}

func scanLines(content []byte, pattern *regexp.Regexp, most int) []hit {
	var hits []hit
	for line, start := 1, 0; start < len(content) && len(hits) < most; line++ {
		end := lineEnd(content, start)
		if text := bytes.TrimSuffix(content[start:end], []byte("\r")); pattern.Match(text) {
			hits = append(hits, hit{line, showLine(text)})
		}
		start = end + 1
	}
	return hits
}

// showLine is a line as valid text within SearchLineMaxBytes; bytes that are not UTF-8 become \xNN.
func showLine(line []byte) string {
	cut := line[:min(len(line), limit.SearchLineMaxBytes)]
	if len(cut) < len(line) {
		cut = cut[:wholeRunes(cut)]
	}
	if utf8.Valid(cut) {
		return string(cut)
	}
	var out strings.Builder
	for len(cut) > 0 && out.Len() < limit.SearchLineMaxBytes-4 {
		char, size := utf8.DecodeRune(cut)
		if char == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, cut[0])
		} else {
			out.Write(cut[:size])
		}
		cut = cut[size:]
	}
	return out.String()
}

// wholeRunes is the length of text without a rune cut off at its end.
func wholeRunes(text []byte) int {
	for back := 1; back <= utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}
