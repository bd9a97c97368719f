package patch

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// apply is an independent, unforgiving reader of hunks: it must get new from old.
func applyPairs(old, new [][]byte, to []int) []byte {
	var out bytes.Buffer
	for _, s := range script(to, len(new)) {
		switch {
		case s.kept():
			out.Write(old[s.old])
		case s.new >= 0:
			out.Write(new[s.new])
		}
	}
	return out.Bytes()
}

func randomText(random *rand.Rand, lines, kinds int) []byte {
	var out bytes.Buffer
	for range random.IntN(lines + 1) {
		out.WriteByte(byte('a' + random.IntN(kinds)))
		out.WriteByte('\n')
	}
	if random.IntN(3) == 0 {
		out.WriteString("tail")
	}
	return out.Bytes()
}

func TestPairsAreTrueAndNeverCross(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 4_000 {
		kinds := 1 + random.IntN(26)
		old, new := splitLines(randomText(random, 40, kinds)), splitLines(randomText(random, 40, kinds))
		to := pairLines(old, new)
		last := -1
		for i, j := range to {
			if j < 0 {
				continue
			}
			if j <= last || !bytes.Equal(old[i], new[j]) {
				t.Fatalf("round %d: pair %d-%d is false or crosses", round, i, j)
			}
			last = j
		}
		if got, want := applyPairs(old, new, to), bytes.Join(new, nil); !bytes.Equal(got, want) {
			t.Fatalf("round %d: script gives %q, not %q", round, got, want)
		}
	}
}

func TestShortestEditIsShortest(t *testing.T) {
	cases := []struct {
		old, new string
		kept     int
	}{
		{"a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 4}, // Myers' own example
		{"x\nx\nx\n", "x\nx\n", 2},
		{"a\na\nb\nb\n", "b\nb\na\na\n", 2},
	}
	for _, c := range cases {
		kept := 0
		for _, j := range pairLines(splitLines([]byte(c.old)), splitLines([]byte(c.new))) {
			if j >= 0 {
				kept++
			}
		}
		if kept != c.kept {
			t.Errorf("%q to %q keeps %d lines, not %d", c.old, c.new, kept, c.kept)
		}
	}
}

func TestHopelessStretchIsReplacedNotSearchedForEver(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	old, new := randomRepeats(random, 30_000), randomRepeats(random, 30_000)
	var out bytes.Buffer
	if !writeHunks(&out, old, new) {
		t.Fatal("refused")
	}
	if out.Len() < len(old)/2 {
		t.Fatal("no true patch")
	}
}

func randomRepeats(random *rand.Rand, lines int) []byte {
	var out bytes.Buffer
	for range lines {
		out.WriteString([]string{"a\n", "b\n", "c\n"}[random.IntN(3)])
	}
	return out.Bytes()
}

func TestTooManyLinesAreRefused(t *testing.T) {
	var out bytes.Buffer
	if writeHunks(&out, nil, bytes.Repeat([]byte("\n"), linesMax+1)) {
		t.Fatal("a million lines were accepted")
	}
	if !writeHunks(&out, nil, bytes.Repeat([]byte("\n"), 1_000)) {
		t.Fatal("a thousand lines were refused")
	}
}
