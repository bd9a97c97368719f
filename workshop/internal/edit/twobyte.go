package edit

import (
	"unicode/utf8"

	"guildhall.dev/workshop/internal/frame"
)

// East Asian encodings have characters whose second byte is an ASCII letter, "\" or "|". An edit that begins or ends
// inside one breaks it, and what follows on its line with it.

// width is how many bytes the character at the head of text has; 0 when the encoding has none that begins so.
type width func(text []byte) int

var eastAsian = []struct {
	name  string
	width width
}{{"Shift-JIS", shiftJIS}, {"GBK, Big5 or EUC-KR", gb18030}}

func shiftJIS(text []byte) int {
	switch lead := text[0]; {
	case lead < 0x80, lead > 0xa0 && lead < 0xe0: // ASCII, and katakana of half the width
		return 1
	case lead == 0x80, lead == 0xa0, lead > 0xfc:
		return 0
	case len(text) > 1 && text[1] >= 0x40 && text[1] != 0x7f && text[1] <= 0xfc:
		return 2
	}
	return 0
}

// gb18030 holds GBK, and the pairs of Big5 and of EUC-KR with its extension.
func gb18030(text []byte) int {
	isLead := func(char byte) bool { return char > 0x80 && char < 0xff }
	isDigit := func(char byte) bool { return char >= '0' && char <= '9' }
	switch {
	case text[0] < 0x80:
		return 1
	case !isLead(text[0]):
		return 0
	case len(text) > 3 && isDigit(text[1]) && isLead(text[2]) && isDigit(text[3]):
		return 4
	case len(text) > 1 && text[1] >= 0x40 && text[1] != 0x7f && text[1] < 0xff:
		return 2
	}
	return 0
}

// checkWhole refuses matches that begin or end inside a character, if all of content can be text in such an encoding.
// One accented letter before a blank, a digit or a mark of punctuation shows that it is not: Latin-1 stays editable.
func checkWhole(content []byte, matches []span) error {
	if utf8.Valid(content) {
		return nil
	}
	for _, encoding := range eastAsian {
		if at := brokenBy(content, matches, encoding.width); at >= 0 {
			return frame.Faultf(frame.Binary, "the file is not UTF-8, and in %s the text at line %s would begin or end inside a "+
				"character (bytes 0x%02x 0x%02x). Take more or less text, from a blank or line end to another, or use a command that "+
				"knows the encoding",
				encoding.name, lineList(content, []span{{from: at}}), content[at], content[at+1])
		}
	}
	return nil
}

// brokenBy is where the first character lies that a match splits; -1 when there is none, or content is not so encoded.
func brokenBy(content []byte, matches []span, width width) int {
	broken, next := -1, 0
	for at := 0; at < len(content); {
		size := width(content[at:])
		if size == 0 {
			return -1
		}
		for ; next < 2*len(matches) && edge(matches, next) < at+size; next++ {
			if broken < 0 && edge(matches, next) > at {
				broken = at
			}
		}
		at += size
	}
	return broken
}

// edge is the n-th place where a match begins or ends.
func edge(matches []span, n int) int {
	if n%2 == 0 {
		return matches[n/2].from
	}
	return matches[n/2].to
}
