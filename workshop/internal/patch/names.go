package patch

import (
	"fmt"
	"strings"
)

var escapes = map[byte]string{
	'\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`, '\f': `\f`, '\r': `\r`, '"': `\"`, '\\': `\\`,
}

// quoted is a name as git writes it in a patch: plain, or C-quoted with octal bytes.
func quoted(name string) string {
	plain := true
	var out strings.Builder
	for _, b := range []byte(name) {
		escape, special := escapes[b]
		switch {
		case special:
			out.WriteString(escape)
		case b < 0x20 || b >= 0x7f:
			fmt.Fprintf(&out, `\%03o`, b)
		default:
			out.WriteByte(b)
			continue
		}
		plain = false
	}
	if plain {
		return name
	}
	return `"` + out.String() + `"`
}

// fileLine is a "---" or "+++" name: git ends one with blanks in it with a tab.
func fileLine(name string) string {
	shown := quoted(name)
	if shown == name && strings.Contains(name, " ") {
		return shown + "\t"
	}
	return shown
}
