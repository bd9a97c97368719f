package edit

import (
	"bytes"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/frame"
)

// Names of what Restyle kept, as the contract lists them.
const (
	KeptMark  = "bom"
	KeptUTF16 = "utf-16"
	KeptCRLF  = "crlf"
)

// Restyle gives text the form of the file it replaces: its byte order mark, UTF-16, and CRLF when every line ended so.
// before is the file's beginning. Text that would bring a second encoding to a file that is not UTF-8 is refused.
func Restyle(before, text []byte) (styled []byte, kept []string, err error) {
	form := formOf(before)
	if form == plain || form == wide {
		if foreign(before) && beyondASCII(text) {
			return nil, nil, frame.Faultf(frame.Binary, "the file there is not UTF-8 (%s) and the new content has characters outside "+
				"ASCII. Edit it in place, or delete it first to write it anew as UTF-8", firstBadByte(before))
		}
		form = plain
	}
	if form != plain && !utf8.Valid(text) {
		return text, nil, nil
	}
	old, err := form.decode(before[:len(before)/2*2])
	if form == plain || form == utf8Marked || err != nil {
		old = before
	}
	styled = bytes.TrimPrefix(text, utf8Mark)
	if form == plain {
		styled = text
	}
	if onlyCRLF(old) && bytes.Contains(styled, lf) && !bytes.Contains(styled, []byte("\r")) {
		styled, kept = bytes.ReplaceAll(styled, lf, crlf), append(kept, KeptCRLF)
	}
	switch form {
	case utf8Marked:
		kept = append(kept, KeptMark)
	case utf16Little, utf16Big:
		kept = append(kept, KeptUTF16)
	}
	return form.encode(styled), kept, nil
}

func onlyCRLF(text []byte) bool {
	ends := bytes.Count(text, crlf)
	return ends > 0 && ends == bytes.Count(text, lf)
}
