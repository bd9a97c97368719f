package files

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

func scanText(t *testing.T, request frame.Search, content string, most int) string {
	t.Helper()
	pattern, err := compile(&request)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, one := range scan([]byte(content), pattern.Regexp, most) {
		lines = append(lines, fmt.Sprintf("%d:%s", one.line, one.text))
	}
	return strings.Join(lines, "|")
}

func TestScanMatchesLineByLine(t *testing.T) {
	for name, c := range map[string]struct {
		request frame.Search
		content string
		want    string
	}{
		"simple":                      {frame.Search{Pattern: "b"}, "a\nb\nab\nc", "2:b|3:ab"},
		"once for each line":          {frame.Search{Pattern: "a"}, "aaa\naa", "1:aaa|2:aa"},
		"anchors are the line's":      {frame.Search{Pattern: "^b$"}, "ab\nb\nba", "2:b"},
		"anchors with CRLF":           {frame.Search{Pattern: "^b$"}, "ab\r\nb\r\n", "2:b"},
		"a class takes no newline":    {frame.Search{Pattern: "[^x]b"}, "ab\nb\nbb", "1:ab|3:bb"},
		"a span hides no later line":  {frame.Search{Pattern: `a\s+b|b`}, "a\nb\n", "2:b"},
		"literal":                     {frame.Search{Pattern: "(a+)+$", Literal: true}, "aaa\n(a+)+$\n", "2:(a+)+$"},
		"leading dash":                {frame.Search{Pattern: "-rf"}, "rm -rf\n", "1:rm -rf"},
		"ignoring case":               {frame.Search{Pattern: "É", IgnoreCase: true}, "é\n", "1:é"},
		"empty lines match":           {frame.Search{Pattern: "^$"}, "a\n\nb\n", "2:"},
		"last line without an end":    {frame.Search{Pattern: "c"}, "a\nc", "2:c"},
		"bytes are escaped":           {frame.Search{Pattern: "a"}, "a\xff\n", `1:a\xff`},
		"nothing":                     {frame.Search{Pattern: "z"}, "a\n", ""},
		"the dot takes no newline":    {frame.Search{Pattern: "a.*b"}, "a\nb\nacb\n", "3:acb"},
		"alternatives are held apart": {frame.Search{Pattern: "x|^b"}, "ab\nb\n", "2:b"},
	} {
		if got := scanText(t, c.request, c.content, 100); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	if got := scanText(t, frame.Search{Pattern: "a"}, "a\na\na\n", 2); got != "1:a|2:a" {
		t.Errorf("the limit gives %q", got)
	}
}

func TestNastyPatternIsLinear(t *testing.T) {
	began := time.Now()
	if got := scanText(t, frame.Search{Pattern: "(a+)+$"}, strings.Repeat("a", 200_000)+"b", 10); got != "" {
		t.Error(got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	for _, bad := range []string{"(", `(?=a)`, `\1`, "((a{1000}){1000}){1000}"} {
		if _, err := compile(&frame.Search{Pattern: bad}); frame.CodeOf(err) != frame.InvalidArgument {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestLongLinesAreCutBetweenCharacters(t *testing.T) {
	for pad := range 4 {
		shown := showLine([]byte(strings.Repeat("x", pad) + strings.Repeat("日", 2_000)))
		if len(shown) > limit.SearchLineMaxBytes || !utf8.ValidString(shown) || len(shown) < limit.SearchLineMaxBytes-3 {
			t.Errorf("%d bytes", len(shown))
		}
	}
	if shown := showLine([]byte(strings.Repeat("\xff", 5_000))); len(shown) > limit.SearchLineMaxBytes {
		t.Errorf("%d bytes", len(shown))
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"*.py", "a/b.py", true}, {"*.py", "a/b.pyc", false}, {"b?.py", "a/bc.py", true}, {"src/*.py", "src/a.py", true},
		{"src/*.py", "src/x/a.py", false}, {"src/**/*.py", "src/x/y/a.py", true}, {"src/**/*.py", "src/a.py", true},
		{"**/a.py", "a.py", true}, {"src/**", "src/x/y", true}, {"*.{js,ts}", "a.ts", true}, {"*.{js,ts}", "a.tsx", false},
		{"[ab].c", "b.c", true}, {"[!ab].c", "b.c", false}, {"[!ab].c", "c.c", true}, {"a.b", "axb", false}, {"(x)+", "(x)+", true},
		{"[", "[", true}, {"[]]", "]", true}, {"{a", "{a", false}, {"a,b", "a,b", true}, {"", "x", true}, {`\d`, `\d`, true},
		{"é*", "étude", true}, {"/src/a", "src/a", true}, {"a\nb", "a\nb", true},
		{"./src/*.py", "src/a.py", true}, {"././src/*.py", "src/a.py", true}, {".//src/*.py", "src/a.py", true}, {"/./a", "a", true},
		{"./*.py", "a.py", true}, {"./*.py", "src/a.py", false}, {"./**/*.py", "src/a.py", true}, {".*", ".a", true}, {".a/b", ".a/b", true},
		{"src/", "src/x/y", true}, {"src/", "other/src", false}, {"./src/", "src/x", true}, {"./", "x/y", true}, {"../a", "a", false},
	} {
		wanted, err := newGlob(&c.glob)
		if err != nil {
			if c.want || frame.CodeOf(err) != frame.InvalidArgument {
				t.Errorf("%q: %v", c.glob, err)
			}
			continue
		}
		if got := wanted.wants(c.name); got != c.want {
			t.Errorf("%q on %q is %v", c.glob, c.name, got)
		}
	}
}

func TestBlocksFindWhatOneScanFinds(t *testing.T) {
	lines := make([]string, 40_000)
	for at := range lines {
		lines[at] = strings.Repeat("x", at%97)
		if at%4_999 == 17 {
			lines[at] += " needle"
		}
	}
	lines[20_000] = strings.Repeat("y", 3*limit.SearchBlockBytes) + " needle" // longer than a block
	content := []byte(strings.Join(lines, "\n"))
	pattern := regexp.MustCompile(`(?m:needle$)`)
	var want, got []int
	for _, one := range scan(content, pattern, 100) {
		want = append(want, one.line)
	}
	for _, one := range scanBlocks(context.Background(), content, pattern, 100) {
		got = append(got, one.line)
	}
	if len(want) != 9 || !slices.Equal(got, want) {
		t.Fatalf("%v, not %v", got, want)
	}
	if found := scanBlocks(context.Background(), content, pattern, 3); len(found) != 3 {
		t.Fatalf("%d hits for at most 3", len(found))
	}
}

// A pattern of a thousand states takes a minute or more for this file.
func TestASlowPatternEndsWithItsTime(t *testing.T) {
	content := bytes.Repeat([]byte("x"), limit.SearchFileMaxBytes)
	within, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	huge := frame.Search{Pattern: strings.Repeat(`x{0,999}`, 500)}
	if _, err := compile(&huge); frame.CodeOf(err) != frame.InvalidArgument {
		t.Fatalf("half a million states: %v", err)
	}
	began := time.Now()
	scanBlocks(within, content, regexp.MustCompile(`(?m:([^y]?){900}y)`), 10)
	if took := time.Since(began); took > 15*time.Second {
		t.Fatalf("took %s", took)
	}
}
