package files

import (
	"path"
	"regexp"
	"strings"

	"guildhall.dev/workshop/internal/frame"
)

// glob says whether a file is wanted: a pattern with "/" is matched against the path below the search root, one
// without against the last part. `*` and `?` stop at "/", `**` does not; `[…]` and `{a,b}` as usual.
type glob struct {
	pattern *regexp.Regexp
	whole   bool
}

func newGlob(text *string) (*glob, error) {
	if text == nil || *text == "" {
		return nil, nil
	}
	pattern, err := regexp.Compile(`(?s)\A` + globExpression(belowRoot(*text)) + `\z`)
	if err != nil {
		return nil, frame.Faultf(frame.InvalidArgument, "%q is not a glob", *text)
	}
	return &glob{pattern: pattern, whole: strings.Contains(*text, "/")}, nil
}

// belowRoot is the pattern without the ways to write "from the search root": `/src`, `./src`. `src/` means what is in it.
func belowRoot(text string) string {
	if strings.HasSuffix(text, "/") {
		text += "**"
	}
	for {
		rest := strings.TrimPrefix(strings.TrimPrefix(text, "/"), "./")
		if rest == text {
			return text
		}
		text = rest
	}
}

func (g *glob) wants(below string) bool {
	switch {
	case g == nil:
		return true
	case g.whole:
		return g.pattern.MatchString(below)
	}
	return g.pattern.MatchString(path.Base(below))
}

func globExpression(text string) string {
	var out strings.Builder
	braces := 0
	for at := 0; at < len(text); at++ {
		switch char := text[at]; {
		case strings.HasPrefix(text[at:], "**/"):
			out.WriteString(`(?:.*/)?`)
			at += 2
		case strings.HasPrefix(text[at:], "**"):
			out.WriteString(`.*`)
			at++
		case char == '*':
			out.WriteString(`[^/]*`)
		case char == '?':
			out.WriteString(`[^/]`)
		case char == '[' && strings.Contains(text[at:], "]"):
			at += bracket(text[at:], &out)
		case char == '{':
			braces++
			out.WriteString(`(?:`)
		case char == '}' && braces > 0:
			braces--
			out.WriteString(`)`)
		case char == ',' && braces > 0:
			out.WriteString(`|`)
		default:
			next := strings.IndexAny(text[at+1:], "*?[{},") + at + 1
			if next == at {
				next = len(text)
			}
			out.WriteString(regexp.QuoteMeta(text[at:next]))
			at = next - 1
		}
	}
	return out.String()
}

// bracket writes the class at the head of text and gives how many bytes behind its "[" it took.
func bracket(text string, out *strings.Builder) int {
	end := strings.Index(text[1:], "]") + 1
	if end == 1 { // "[]…]": the bracket is a member
		if further := strings.Index(text[2:], "]"); further >= 0 {
			end = further + 2
		}
	}
	inside := text[1:end]
	out.WriteByte('[')
	if strings.HasPrefix(inside, "!") {
		out.WriteByte('^')
		inside = inside[1:]
	}
	out.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`).Replace(inside))
	out.WriteByte(']')
	return end
}
