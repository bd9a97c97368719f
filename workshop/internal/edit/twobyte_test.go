package edit

import (
	"strings"
	"testing"

	"guildhall.dev/workshop/internal/frame"
)

func TestNoCharacterOfTwoBytesIsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		content, old string
		all          bool
		says         string
	}{
		"Shift-JIS, a backslash":      {"a\n\x95\x5cx\n", `\`, false, "in Shift-JIS the text at line 2 would begin or end inside a character (bytes 0x95 0x5c)"},
		"Shift-JIS, a letter":         {"\x83e\x83X\x83g = 1\n", "e", false, "Shift-JIS"},
		"Shift-JIS, all":              {"a\\b\n\x95\x5c\n", `\`, true, "at line 2"},
		"GBK, a letter":               {"\x81a\x81b foo\n", "a", false, "(bytes 0x81 0x61)"},
		"GBK, a bar":                  {"\xb9|x\n", "|x", false, "GBK"},
		"Big5, a backslash":           {"\xa5\x5c\xaf\xe0\n", `\`, false, "Big5"},
		"EUC-KR, a letter":            {"\xc1a\xb0\xa1\n", "a", false, "EUC-KR"},
		"GB18030, a digit":            {"\xb0\xa1 \x81\x30\x81\x31\n", "1\n", false, "(bytes 0x81 0x30)"},
		"a pair that is UTF-8 too":    {"\xd2\xbb \x81@\n", "@", false, "(bytes 0x81 0x40)"},
		"the end inside":              {"x = \x95\x5c\n", "= \x95", false, "(bytes 0x95 0x5c)"},
		"a UTF-8 letter across two":   {"\xb0\xc3\xa9\xa1\n", "é", false, "(bytes 0xb0 0xc3)"},
		"nothing says it is Latin-1":  {"f\xfcr x in y", "r x", false, "begin or end inside"},
		"half-width before a bracket": {"\xb1\xb2\xb3(\x95\x5c)", `\)`, false, "Shift-JIS"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Replace([]byte(c.content), []byte(c.old), []byte("/"), c.all)
			if frame.CodeOf(err) != frame.Binary || !strings.Contains(err.Error(), c.says) {
				t.Fatal(err)
			}
		})
	}
}

func TestWhatLiesBetweenCharactersIsEdited(t *testing.T) {
	for name, c := range map[string]struct{ content, old, want string }{
		"Shift-JIS, behind an ASCII byte": {"\x93\xfa\x96\x7bfoo", "foo", "\x93\xfa\x96\x7b/"},
		"Shift-JIS, behind a high byte":   {"\x82\xa0foo", "foo", "\x82\xa0/"},
		"Shift-JIS, before one":           {"foo\x95\x5c", "foo", "/\x95\x5c"},
		"Shift-JIS, half width and blank": {"\xb1 foo\x95\x5c", "foo", "\xb1 /\x95\x5c"},
		"GBK":                             {"\xb0\xa1\xb9|x\n", "x", "\xb0\xa1\xb9|/\n"},
		"GB18030, behind four bytes":      {"\x81\x30\x81\x31x", "x", "\x81\x30\x81\x31/"},
		"latin-1, within a word":          {"f\xfcr x in caf\xe9 1", "r x", "f\xfc/ in caf\xe9 1"},
		"latin-1, the last letter":        {"f\xfcr x in caf\xe9", "r x", "f\xfc/ in caf\xe9"},
		"latin-1, nothing but blanks":     {"f\xfcr x in y", " x", "f\xfcr/ in y"},
		"cp1251":                          {"\xe4\xe0\xe9 \xed\xe5\xf2x", "x", "\xe4\xe0\xe9 \xed\xe5\xf2/"},
		"UTF-8 with a stray byte":         {"— ö ü \xe9t", "t", "— ö ü \xe9/"},
		"bytes of no encoding":            {"\x00\xfft\x95\x5c", "t", "\x00\xff/\x95\x5c"},
		"UTF-16":                          {utf16Of("表\\", false), `\`, utf16Of("表/", false)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Replace([]byte(c.content), []byte(c.old), []byte("/"), false)
			if err != nil || string(got.Content) != c.want {
				t.Fatalf("%+v %v, not %q", got, err, c.want)
			}
		})
	}
}
