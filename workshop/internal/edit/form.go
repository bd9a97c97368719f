package edit

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/frame"
)

// form is how a file's bytes stand for text. Decoding and encoding give back the same bytes, or it is refused.
type form int

const (
	plain form = iota // UTF-8, or bytes of whatever kind, taken as they are
	utf8Marked
	utf16Little
	utf16Big
	wide // UTF-32, or UTF-16 without a mark: text in it cannot be found by its UTF-8 bytes
)

var (
	utf8Mark   = []byte("\xef\xbb\xbf")
	littleMark = []byte("\xff\xfe")
	bigMark    = []byte("\xfe\xff")
)

const probeBytes = 8_000

func formOf(content []byte) form {
	form := markedForm(content)
	if form == plain && looksWide(content) {
		return wide
	}
	return form
}

// markedForm goes by the mark alone.
func markedForm(content []byte) form {
	switch {
	case bytes.HasPrefix(content, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(content, []byte("\x00\x00\xfe\xff")):
		return wide
	case bytes.HasPrefix(content, littleMark):
		return utf16Little
	case bytes.HasPrefix(content, bigMark):
		return utf16Big
	case bytes.HasPrefix(content, utf8Mark):
		return utf8Marked
	}
	return plain
}

// looksWide says whether every second byte is NUL more often than text of one byte a character could explain.
func looksWide(content []byte) bool {
	head := content[:min(len(content), probeBytes)]
	var nul [2]int
	for at, char := range head {
		if char == 0 {
			nul[at%2]++
		}
	}
	half := len(head) / 2
	return half > 0 && (nul[0] > half*2/3 && nul[1] < half/4 || nul[1] > half*2/3 && nul[0] < half/4)
}

func (f form) marked() bool { return f == utf8Marked || f == utf16Little || f == utf16Big }

// decode gives the text without its mark.
func (f form) decode(content []byte) ([]byte, error) {
	switch f {
	case utf8Marked:
		return content[len(utf8Mark):], nil
	case wide:
		return nil, frame.Faultf(frame.Binary, "the file is UTF-32 or UTF-16 without a byte order mark; use a command to change it")
	case plain:
		return content, nil
	}
	text, sound := f.fromUTF16(content[2:], make([]byte, 0, len(content)))
	if !sound {
		return nil, frame.Faultf(frame.Binary, "the file begins like UTF-16 but is none; use a command to change it")
	}
	return text, nil
}

func (f form) encode(text []byte) []byte {
	switch f {
	case utf8Marked:
		return append(append([]byte{}, utf8Mark...), text...)
	case utf16Little:
		return f.toUTF16(append([]byte{}, littleMark...), text)
	case utf16Big:
		return f.toUTF16(append([]byte{}, bigMark...), text)
	}
	return text
}

func (f form) unit(pair []byte) uint16 {
	if f == utf16Little {
		return uint16(pair[0]) | uint16(pair[1])<<8
	}
	return uint16(pair[1]) | uint16(pair[0])<<8
}

// fromUTF16 appends data as UTF-8 to out, and says whether it is sound: a lone surrogate, which becomes U+FFFD, or half
// a unit, which is left out, could not be written back.
func (f form) fromUTF16(data, out []byte) (text []byte, sound bool) {
	text, sound = out, len(data)%2 == 0
	for ; len(data) > 1; data = data[2:] {
		char := rune(f.unit(data))
		if utf16.IsSurrogate(char) {
			char = utf8.RuneError
			if len(data) > 3 {
				char = utf16.DecodeRune(rune(f.unit(data)), rune(f.unit(data[2:])))
			}
			if char == utf8.RuneError {
				sound = false
			} else {
				data = data[2:]
			}
		}
		text = utf8.AppendRune(text, char)
	}
	return text, sound
}

// IsUTF16 says whether a file that begins so is UTF-16 with a mark: its text holds NUL bytes and is text all the same.
func IsUTF16(content []byte) bool {
	form := markedForm(content)
	return form == utf16Little || form == utf16Big
}

// Text is the text of a file that begins with a byte order mark, as UTF-8 and without it; of any other, its bytes.
// UTF-16 is decoded into room.
func Text(content, room []byte) []byte {
	switch form := markedForm(content); form {
	case utf8Marked:
		return content[len(utf8Mark):]
	case utf16Little, utf16Big:
		text, _ := form.fromUTF16(content[2:], room[:0])
		return text
	}
	return content
}

func (f form) toUTF16(out, text []byte) []byte {
	var units [2]uint16
	for len(text) > 0 {
		char, size := utf8.DecodeRune(text)
		text = text[size:]
		for _, unit := range utf16.AppendRune(units[:0], char) {
			if f == utf16Little {
				out = append(out, byte(unit), byte(unit>>8))
			} else {
				out = append(out, byte(unit>>8), byte(unit))
			}
		}
	}
	return out
}

// checkMix refuses text that would put a second encoding into a file.
func checkMix(f form, content, old, new []byte) error {
	switch {
	case (f == utf16Little || f == utf16Big) && !(utf8.Valid(old) && utf8.Valid(new)):
		return frame.Faultf(frame.Binary, "the file is UTF-16; give old and new text as UTF-8")
	case !foreign(content) || !beyondASCII(new):
		return nil
	}
	return frame.Faultf(frame.Binary, "the file is not UTF-8 (%s); new text with characters outside ASCII would mix two encodings. "+
		"Keep the new text to ASCII, or change the file with a command that knows its encoding", firstBadByte(content))
}

// beyondASCII says whether text is UTF-8 with characters that other encodings write differently.
func beyondASCII(text []byte) bool {
	return utf8.Valid(text) && len(text) != utf8.RuneCount(text)
}

// foreign says whether content is in some other encoding than UTF-8: it has more bytes that are not UTF-8 than
// characters that are. A stray byte in a file of UTF-8 does not make it so.
func foreign(content []byte) bool {
	if utf8.Valid(content) {
		return false
	}
	bad, good := 0, 0
	for at := 0; at < len(content); {
		char, size := utf8.DecodeRune(content[at:])
		switch {
		case char == utf8.RuneError && size == 1:
			bad++
		case size > 1:
			good++
		}
		at += size
	}
	return bad > good
}
