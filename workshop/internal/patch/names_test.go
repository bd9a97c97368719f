package patch

import "testing"

func TestNamesAreQuotedAsGitDoes(t *testing.T) {
	for name, want := range map[string]string{
		"a/plain.txt":    "a/plain.txt",
		"a/with space":   "a/with space",
		"a/tab\tx":       `"a/tab\tx"`,
		"a/quote\"x":     `"a/quote\"x"`,
		"a/back\\slash":  `"a/back\\slash"`,
		"a/é":            `"a/\303\251"`,
		"a/\xff\x01\x7f": `"a/\377\001\177"`,
	} {
		if got := quoted(name); got != want {
			t.Errorf("%q is written %s, not %s", name, got, want)
		}
	}
	if got := fileLine("a/with space"); got != "a/with space\t" {
		t.Errorf("a name with a blank is written %q", got)
	}
}

func TestCachesAreKnownByPlace(t *testing.T) {
	for name, want := range map[string]string{
		"pkg/__pycache__/m.pyc":       "pkg/__pycache__",
		".pytest_cache/v/x":           ".pytest_cache",
		"web/node_modules/.cache/a/b": "web/node_modules/.cache",
		"src/.cache/a":                "",
		"__pycache__":                 "", // a file of that name is no cache
		"src/main.py":                 "",
	} {
		if got := cacheOf(name); got != want {
			t.Errorf("%q lies in %q, not %q", name, got, want)
		}
	}
}
