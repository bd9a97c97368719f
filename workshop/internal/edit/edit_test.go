package edit

import (
	"slices"
	"strings"
	"testing"

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
		"trailing blanks (FT-10)":       {"a\nfoo  \nbar\n", "foo\nbar", frame.NoMatch, "trailing whitespace at line 2"},
		"trailing blanks in the search": {"a\nfoo\nbar\n", "foo \nbar", frame.NoMatch, "trailing whitespace at line 2"},
		"indentation":                   {"a\n    foo\n", "foo\n  ", frame.NoMatch, "not found"},
		"indentation of a line":         {"if x:\n    foo()\n    bar()\n", "  foo()\n  bar()", frame.NoMatch, "indentation at line 2"},
		"line numbers (FT-02)":          {"def f():\n    pass\n", "     1\tdef f():\n     2\t    pass\n", frame.NoMatch, "line-number prefixes"},
		"empty (FT-10)":                 {"a", "", frame.InvalidArgument, "empty search text"},
		"the same":                      {"a", "a", frame.InvalidArgument, "the same"},
		"UTF-16":                        {"\xff\xfea\x00b\x00", "ab", frame.Binary, "not plain text"},
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
