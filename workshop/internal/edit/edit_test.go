package edit

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall.dev/workshop/internal/frame"
)

func TestReplaceTouchesNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		content, old, new, want string
		all                     bool
		lines                   []int
	}{
		"plain":                              {"a\nb\nc\n", "b", "B", "a\nB\nc\n", false, []int{2}},
		"CRLF met by LF (FT-01)":             {"one\r\ntwo\r\nthree", "one\ntwo", "ONE\nTWO", "ONE\r\nTWO\r\nthree", false, []int{1}},
		"CRLF met by LF, all (FT-01)":        {"one\r\ntwo\r\nthree", "one\ntwo", "ONE\nTWO", "ONE\r\nTWO\r\nthree", true, []int{1}},
		"new lines in a CRLF file":           {"a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n", false, []int{2}},
		"new lines at the end of CRLF":       {"a\r\nb", "b", "b\nc", "a\r\nb\r\nc", false, []int{2}},
		"new lines in an LF file":            {"a\nb\n", "b", "b\nc", "a\nb\nc\n", false, []int{2}},
		"mixed endings stay (FT-02)":         {"1\r\n2\n3\r\n4\r5\n6\r\n", "3", "drei", "1\r\n2\ndrei\r\n4\r5\n6\r\n", false, []int{3}},
		"mixed endings inside the match":     {"1\r\n2\n3\r\n", "1\n2\n3", "x\ny\nz", "x\r\ny\nz\r\n", false, []int{1}},
		"a match that begins with LF":        {"a\r\nb\r\nc", "\nb", "", "a\r\nc", false, []int{1}},
		"a match that ends with LF":          {"a\r\nb\r\nc", "b\n", "", "a\r\nc", false, []int{2}},
		"explicit CRLF is exact":             {"a\r\nb\n", "a\r\n", "a\n", "a\nb\n", false, []int{1}},
		"dollar and backslash are text":      {"x", "x", `$& $$ \1 \g<0> $1 ${1}\`, `$& $$ \1 \g<0> $1 ${1}\`, false, []int{1}},
		"pattern characters are text":        {"a.b(c)*[d]", ".b(c)*[", "_", "a_d]", false, []int{1}},
		"all, with the lines of the result":  {"a\na\na\n", "a", "b\nb", "b\nb\nb\nb\nb\nb\n", true, []int{1, 3, 5}},
		"all, growing text is not met again": {"aa", "a", "aa", "aaaa", true, []int{1, 1}},
		"bytes that are not UTF-8 stay":      {"caf\xe9\x00\xff b\n", "b", "c", "caf\xe9\x00\xff c\n", false, []int{1}},
		"no final newline is added":          {"a\nb", "b", "c", "a\nc", false, []int{2}},
		"overlapping starts":                 {"aab\r\nc", "ab\nc", "x", "ax", false, []int{1}},
		"overlapping, all":                   {"aaaaa", "aa", "b", "bba", true, []int{1, 1}},
		"one ending is no overlap":           {"a\r\n\r\nb", "\n\n", "\n", "a\r\nb", false, []int{1}},
		"first line matches, second does not": {
			"a\r\nx\r\na\r\nb\r\n", "a\nb", "c", "a\r\nx\r\nc\r\n", false, []int{3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Replace([]byte(c.content), []byte(c.old), []byte(c.new), c.all)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Content) != c.want || !slices.Equal(got.Lines, c.lines) {
				t.Fatalf("got %q at %v, not %q at %v", got.Content, got.Lines, c.want, c.lines)
			}
		})
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	for name, c := range map[string]struct{ content, old, code, says string }{
		"three times (FT-10)":           {"x\nfoo\nfoo\ny foo\n", "foo", frame.Ambiguous, "occurs 3 times, at lines 2, 3, 4"},
		"twice across endings":          {"a\r\nb\r\na\nb\n", "a\nb", frame.Ambiguous, "occurs 2 times, at lines 1, 3"},
		"overlapping":                   {"x\naaa", "aa", frame.Ambiguous, "occurs 2 times that overlap, at lines 2, 2; add context"},
		"overlapping lines":             {"x {\n    }\n    }\n    }\n}\n", "    }\n    }\n", frame.Ambiguous, "at lines 2, 3;"},
		"overlapping across endings":    {"}\r\n}\n}\r\n", "}\n}\n", frame.Ambiguous, "at lines 1, 2;"},
		"overlapping with LF first":     {"a\r\n\r\n\r\nb", "\n\n", frame.Ambiguous, "at lines 1, 2;"},
		"trailing blanks (FT-10)":       {"a\nfoo  \nbar\n", "foo\nbar", frame.NoMatch, "trailing whitespace at line 2"},
		"trailing blanks in the search": {"a\nfoo\nbar\n", "foo \nbar", frame.NoMatch, "trailing whitespace at line 2"},
		"indentation":                   {"a\n    foo\n", "foo\n  ", frame.NoMatch, "not found"},
		"indentation of a line":         {"if x:\n    foo()\n    bar()\n", "  foo()\n  bar()", frame.NoMatch, "indentation at line 2"},
		"line numbers (FT-02)":          {"def f():\n    pass\n", "     1\tdef f():\n     2\t    pass\n", frame.NoMatch, "line-number prefixes"},
		"empty (FT-10)":                 {"a", "", frame.InvalidArgument, "empty search text"},
		"the same":                      {"a", "a", frame.InvalidArgument, "the same"},
		"letter case":                   {"a\nDef Run():\n", "def run():", frame.NoMatch, "letter case at line 2"},
		"blanks within a line":          {"a\nx  =\t1\n", "x = 1", frame.NoMatch, "blanks and tabs at line 2"},
		"typographic quotes":            {"a\nsay(\u201chi\u201d)\n", `say("hi")`, frame.NoMatch, "quotes, dashes or blanks at line 2"},
		"no-break space":                {"x\u00a0= 1\n", "x = 1", frame.NoMatch, "at line 1"},
		"begins right":                  {"a\nfoo(\n  1,\n  2)\n", "foo(\n  1,\n  3)", frame.NoMatch, "first 2 lines are there at line 2, but line 4 differs"},
		"a near line":                   {"zebra\nreturn compute_total(items)\n", "return compute_totals(items)", frame.NoMatch, "most like its first is line 2"},
		"shown escape":                  {"a\u200bb\n", `a\u{200b}b`, frame.NoMatch, "escapes such as"},
		"shown byte":                    {"caf\xe9 and more\n", `caf\xe9 and`, frame.NoMatch, "escapes such as"},
		"character in latin-1":          {"caf\xe9 and more\n", "café and", frame.NoMatch, "not UTF-8 (byte 0xe9 at line 1)"},
		"UTF-32":                        {"\xff\xfe\x00\x00a\x00\x00\x00", "a", frame.Binary, "UTF-32"},
		"UTF-16 without a mark":         {"a\x00b\x00c\x00d\x00", "a", frame.Binary, "without a byte order mark"},
		"UTF-16 with half a unit":       {"\xff\xfea\x00b", "a", frame.Binary, "begins like UTF-16"},
		"UTF-16 with half a pair":       {"\xff\xfe\x3d\xd8a\x00", "a", frame.Binary, "begins like UTF-16"},
		"binary without it":             {"\x7fELF\x00\x01\x02abcdefghijklmnop", "zz", frame.Binary, "NUL bytes"},
		"not there":                     {"a\n", "zebra", frame.NoMatch, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			replacement := "new"
			if name == "the same" {
				replacement = c.old
			}
			_, err := Replace([]byte(c.content), []byte(c.old), []byte(replacement), false)
			if frame.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestLineListIsBounded(t *testing.T) {
	_, err := Replace([]byte(strings.Repeat("a\n", 5_000)), []byte("a"), []byte("b"), false)
	if frame.CodeOf(err) != frame.Ambiguous || len(err.Error()) > 300 || !strings.Contains(err.Error(), "5000 times") {
		t.Fatal(err)
	}
	got, err := Replace([]byte(strings.Repeat("a\n", 5_000)), []byte("a"), []byte("b"), true)
	if err != nil || got.Count != 5_000 || len(got.Lines) != linesShown {
		t.Fatalf("%d %d %v", got.Count, len(got.Lines), err)
	}
}

func utf16Of(text string, big bool) string {
	form := utf16Little
	if big {
		form = utf16Big
	}
	return string(form.encode([]byte(text)))
}

func TestEncodingsStay(t *testing.T) {
	for name, c := range map[string]struct{ content, old, new, want string }{
		"UTF-16 LE":            {utf16Of("eins\r\nzwei\r\n😀 drei", false), "zwei\n😀", "2 ü\n😁", utf16Of("eins\r\n2 ü\r\n😁 drei", false)},
		"UTF-16 BE":            {utf16Of("a\nb\n", true), "b", "日本", utf16Of("a\n日本\n", true)},
		"UTF-16, one letter":   {utf16Of("abc", false), "b", "x", utf16Of("axc", false)},
		"mark":                 {"\ufeffa\r\nb\r\n", "a\nb", "x\ny", "\ufeffx\r\ny\r\n"},
		"mark in the search":   {"\ufeffa\n", "\ufeffa", "b", "\ufeffb\n"},
		"mark in both":         {"\ufeffa\n", "\ufeffa", "\ufeffb", "\ufeffb\n"},
		"latin-1, ASCII edit":  {"caf\xe9 = 1\n\xe4\n", "= 1", "= 22", "caf\xe9 = 22\n\xe4\n"},
		"one stray byte":       {"ä ö ü \xff x\n", "x", "é", "ä ö ü \xff é\n"},
		"bytes as they are":    {"caf\xe9 b", "b", "\xfc", "caf\xe9 \xfc"},
		"NUL in a binary file": {"\x00\x01abc\xff\xfe def", "abc", "ABC", "\x00\x01ABC\xff\xfe def"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Replace([]byte(c.content), []byte(c.old), []byte(c.new), false)
			if err != nil || string(got.Content) != c.want {
				t.Fatalf("%+v %v, not %q", got, err, c.want)
			}
		})
	}
	for name, content := range map[string]string{"latin-1": "caf\xe9 = 1\n", "shift-jis": "\x83e\x83X\x83g = 1\n"} {
		_, err := Replace([]byte(content), []byte("= 1"), []byte("= é"), false)
		if frame.CodeOf(err) != frame.Binary || !strings.Contains(err.Error(), "mix two encodings") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRestyleKeepsTheForm(t *testing.T) {
	for name, c := range map[string]struct{ before, text, want, kept string }{
		"plain":                {"a\n", "b\nc\n", "b\nc\n", ""},
		"empty before":         {"", "b\n", "b\n", ""},
		"CRLF":                 {"a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n", "crlf"},
		"mixed stays as given": {"a\r\nb\n", "x\ny\n", "x\ny\n", ""},
		"CRLF given":           {"a\r\n", "x\r\ny\n", "x\r\ny\n", ""},
		"mark":                 {"\ufeffa\n", "b\n", "\ufeffb\n", "bom"},
		"mark given":           {"\ufeffa\n", "\ufeffb\n", "\ufeffb\n", "bom"},
		"mark and CRLF":        {"\ufeffa\r\n", "b\n", "\ufeffb\r\n", "crlf bom"},
		"UTF-16 and CRLF":      {utf16Of("a\r\n", true), "ü\n", utf16Of("ü\r\n", true), "crlf utf-16"},
		"ASCII over latin-1":   {"caf\xe9\n", "plain\n", "plain\n", ""},
		"binary over marked":   {"\ufeffa\n", "\xff\x00", "\xff\x00", ""},
		"no lines over CRLF":   {"a\r\n", "x", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, kept, err := Restyle([]byte(c.before), []byte(c.text))
			if err != nil || string(got) != c.want || strings.Join(kept, " ") != c.kept {
				t.Fatalf("%q %v %v", got, kept, err)
			}
		})
	}
	if _, _, err := Restyle([]byte("caf\xe9\n"), []byte("é\n")); frame.CodeOf(err) != frame.Binary {
		t.Fatalf("UTF-8 over latin-1: %v", err)
	}
}

// Each of these took minutes or gigabytes before it had a bound.
func TestHostileFilesCostLittle(t *testing.T) {
	const size = 8 << 20
	began := time.Now()
	if _, err := Replace(bytes.Repeat([]byte("a"), size), []byte("a"), []byte("b"), true); frame.CodeOf(err) != frame.TooLarge {
		t.Errorf("millions of matches: %v", err)
	}
	if _, err := Replace(bytes.Repeat([]byte("a "), 400_000), []byte("a"), make([]byte, 100_000), true); frame.CodeOf(err) != frame.TooLarge {
		t.Errorf("forty gigabytes: %v", err)
	}
	dos := bytes.Repeat([]byte("}\r\n"), size/3)
	if _, err := Replace(dos, []byte("}\nfoo"), []byte("x"), false); frame.CodeOf(err) != frame.NoMatch {
		t.Errorf("CRLF: %v", err)
	}
	same := bytes.Repeat([]byte("a\n"), 100_000)
	if _, err := Replace(dos, append(same, 'b'), []byte("x"), false); frame.CodeOf(err) != frame.NoMatch {
		t.Errorf("many lines: %v", err)
	}
	almost := append(bytes.Repeat([]byte("a\n"), 50_000), 'b')
	if _, err := Replace(bytes.Repeat([]byte("a\n"), 190_000), almost, []byte("x"), false); frame.CodeOf(err) != frame.NoMatch {
		t.Errorf("almost everywhere: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	got, err := Replace(append(slices.Clone(dos), "}\r\nfoo"...), []byte("}\nfoo"), []byte("x"), false) // control
	if err != nil || got.Count != 1 || got.Lines[0] != size/3+1 {
		t.Errorf("%v", err)
	}
}

func TestTextIsWhatAReaderSees(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"plain":          {"a\xe9\n", "a\xe9\n"},
		"mark":           {"\ufeffa\n", "a\n"},
		"UTF-16 LE":      {utf16Of("a\r\nü😀", false), "a\r\nü😀"},
		"UTF-16 BE":      {utf16Of("日本", true), "日本"},
		"half a unit":    {"\xff\xfea\x00b", "a"},
		"half a pair":    {"\xff\xfe\x3d\xd8a\x00\x3d\xd8", "\ufffda\ufffd"},
		"UTF-32":         {"\xff\xfe\x00\x00a\x00\x00\x00", "\xff\xfe\x00\x00a\x00\x00\x00"},
		"nothing":        {"", ""},
		"the mark alone": {"\xff\xfe", ""},
	} {
		if got := string(Text([]byte(c.content), []byte("room"))); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
