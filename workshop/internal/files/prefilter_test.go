package files

import (
	"regexp"
	"testing"
)

func TestPrefilterKnowsWhatEveryMatchHolds(t *testing.T) {
	for expression, needle := range map[string]string{
		`(?m:needle)`: "needle", `(?m:\w+needle_[0-9]+x)`: "needle_", `(?m:(abc|abd)+)`: "", `(?mi:NeedLe)`: "needle",
		`(?m:a|b)`: "", `(?m:(?:hello)?)`: "", `(?m:(hello)+ world)`: " world", `(?m:.*)`: "", `(?mi:größe)`: "",
		`(?m:größe)`: "größe", `(?m:x{3}yz)`: "", `(?m:^begin)`: "begin", `(?m:[a-z]bc)`: "",
	} {
		if got := string(newPrefilter(expression).needle); got != needle && (needle != "" || got != "") {
			t.Errorf("%s needs %q, not %q", expression, got, needle)
		}
	}
}

// What the filter turns away never matches.
func FuzzPrefilter(f *testing.F) {
	for _, seed := range [][2]string{{"needle", "a needle"}, {"(?i)task", "ta\u017f\u212a"}, {"(?i)KELVIN", "\u212aelvin"}, {"a(bcd)+e|xyz", "xyz"}, {"(?i)stra\u00dfe", "STRASSE"}} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, expression string, content []byte) {
		pattern, err := regexp.Compile(expression)
		if err != nil {
			return
		}
		var lower []byte
		if !newPrefilter(expression).mayMatch(content, &lower) && pattern.Match(content) {
			t.Fatalf("%q matches %q", expression, content)
		}
	})
}
