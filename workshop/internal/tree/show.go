package tree

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/limit"
)

// Show gives name as text a person can read safely: bytes that are not UTF-8, control, format and separator
// characters become \xNN. exact is the base64 of the true bytes, empty when the text is already exact.
func Show(name string) (text, exact string) {
	if plain(name) {
		return name, ""
	}
	var shown strings.Builder
	for rest := name; len(rest) > 0; {
		char, size := utf8.DecodeRuneInString(rest)
		if hidden(char, size) {
			for _, b := range []byte(rest[:size]) {
				fmt.Fprintf(&shown, `\x%02x`, b)
			}
		} else {
			shown.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	text = shown.String()
	if len(text) > limit.PathMaxChars {
		text = strings.ToValidUTF8(text[:limit.PathMaxChars], "")
	}
	return text, base64.StdEncoding.EncodeToString([]byte(name))
}

func plain(name string) bool {
	for at, char := range name {
		_, size := utf8.DecodeRuneInString(name[at:])
		if hidden(char, size) {
			return false
		}
	}
	return true
}

func hidden(char rune, size int) bool {
	if char == utf8.RuneError && size == 1 {
		return true
	}
	return unicode.In(char, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
