package files

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// prefilter says quickly that a file cannot match: it lacks a text every match must hold. It never says so wrongly.
type prefilter struct {
	needle []byte // lower case when folded; empty: nothing is known
	folded bool
	odd    bool // the needle has a letter that some non-ASCII letter equals when case is ignored
}

// needleMinBytes: shorter texts are nearly everywhere.
const needleMinBytes = 3

func newPrefilter(expression string) prefilter {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return prefilter{}
	}
	text, folded := required(parsed.Simplify())
	if len(text) < needleMinBytes || folded && len(text) != utf8.RuneCountInString(text) {
		return prefilter{}
	}
	if folded {
		text = strings.ToLower(text)
	}
	return prefilter{needle: []byte(text), folded: folded, odd: folded && strings.ContainsAny(text, "ks")}
}

// required gives the longest literal that every match of the expression holds.
func required(expression *syntax.Regexp) (text string, folded bool) {
	switch expression.Op {
	case syntax.OpLiteral:
		return string(expression.Rune), expression.Flags&syntax.FoldCase != 0
	case syntax.OpCapture, syntax.OpPlus:
		return required(expression.Sub[0])
	case syntax.OpConcat:
		for _, part := range expression.Sub {
			if found, fold := required(part); len(found) > len(text) {
				text, folded = found, fold
			}
		}
	}
	return text, folded
}

// The letters whose lower case is k and s though they are not ASCII: the Kelvin sign and the long s.
var (
	kelvin = []byte("\u212a")
	longS  = []byte("\u017f")
)

// mayMatch is false only when no line of content can match. lower is a buffer for it.
func (p prefilter) mayMatch(content []byte, lower *[]byte) bool {
	switch {
	case len(p.needle) == 0:
		return true
	case !p.folded:
		return bytes.Contains(content, p.needle)
	case p.odd && (bytes.Contains(content, kelvin) || bytes.Contains(content, longS)):
		return true
	}
	*lower = lowered((*lower)[:0], content)
	return bytes.Contains(*lower, p.needle)
}

// lowered appends content with ASCII letters in lower case.
func lowered(out, content []byte) []byte {
	out = append(out, content...)
	for at, char := range out {
		if 'A' <= char && char <= 'Z' {
			out[at] = char | 0x20
		}
	}
	return out
}
