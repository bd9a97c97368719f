package edit

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// Whatever a file holds, an edit either is refused or changes the bytes of the match alone: taking it back gives the
// file as it was.
func FuzzReplaceTouchesOnlyTheMatch(f *testing.F) {
	for _, content := range []string{
		"one\r\ntwo\nthree\rfour", "\xef\xbb\xbfmarked\r\n", "caf\xe9\n", "\xff\xfea\x00b\x00\r\x00\n\x00", "\xfe\xff\x00a\x00b",
		"\x00\x01\x02binary\xff", "日本\n😀", "\xff\xfe\x3d\xd8\x00\xdeb\x00", "a\x00b\x00c\x00", "\xef\xbb\xbf", "\n", "\xc3",
	} {
		f.Add([]byte(content), uint16(0), uint16(2))
		f.Add([]byte(content), uint16(3), uint16(5))
	}
	const token = "<token of its own>"
	f.Fuzz(func(t *testing.T, content []byte, from, size uint16) {
		old := textOf(content, int(from), int(size))
		if len(old) == 0 || bytes.ContainsAny(old, "\r\n") || bytes.Contains(content, []byte(token)) {
			return
		}
		changed, err := Replace(content, old, []byte(token), false)
		if err != nil {
			return
		}
		back, err := Replace(changed.Content, []byte(token), old, false)
		if err != nil {
			if foreign(formText(content)) || foreign(formText(changed.Content)) {
				return // what it had beyond ASCII may not be put back there
			}
			t.Fatalf("%q, %q: %v", content, old, err)
		}
		if !bytes.Equal(back.Content, content) {
			t.Fatalf("%q became %q by way of %q", content, back.Content, changed.Content)
		}
	})
}

// textOf is a piece of the text of content, as a caller would have read it.
func textOf(content []byte, from, size int) []byte {
	text := formText(content)
	from = min(from, len(text))
	piece := text[from:min(from+size, len(text))]
	if form := formOf(content); form != plain && !utf8.Valid(piece) {
		return nil
	}
	return piece
}

func formText(content []byte) []byte {
	text, err := formOf(content).decode(content)
	if err != nil {
		return content
	}
	return text
}
