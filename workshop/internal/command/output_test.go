package command

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOutputKeepsHeadAndTail(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 3_000 {
		headMax, tailMax := random.IntN(20), random.IntN(20)
		kept := newOutput(headMax, tailMax)
		var whole []byte
		for range random.IntN(8) {
			piece := make([]byte, random.IntN(30))
			for i := range piece {
				piece[i] = byte('a' + random.IntN(26))
			}
			whole = append(whole, piece...)
			kept.add(piece)
		}
		head, tail, omitted, _ := kept.parts()
		wantHead := whole[:min(len(whole), headMax)]
		rest := whole[len(wantHead):]
		wantTail := rest[max(0, len(rest)-tailMax):]
		if !bytes.Equal(head, wantHead) || !bytes.Equal(tail, wantTail) || int(omitted) != len(rest)-len(wantTail) {
			t.Fatalf("%q kept as %q … %q, %d left out (head %d, tail %d)", whole, head, tail, omitted, headMax, tailMax)
		}
	}
}

func TestOutputCutsNoCharacter(t *testing.T) {
	text := strings.Repeat("é日😀", 100)
	for size := 1; size < 40; size++ {
		kept := newOutput(size, size)
		kept.add([]byte(text))
		head, tail, omitted, _ := kept.parts()
		if !utf8.Valid(head) || !utf8.Valid(tail) || len(head)+len(tail)+int(omitted) != len(text) {
			t.Fatalf("size %d: %q … %q, %d left out", size, head, tail, omitted)
		}
	}
	whole := newOutput(5, 100) // nothing left out: nothing trimmed, the parts join
	whole.add([]byte("日本日本"))
	head, tail, omitted, _ := whole.parts()
	if string(head)+string(tail) != "日本日本" || omitted != 0 {
		t.Fatalf("%q %q %d", head, tail, omitted)
	}
}

func TestOutputMemoryIsBounded(t *testing.T) {
	kept := newOutput(10, 10)
	for range 1_000 {
		kept.add(make([]byte, 100_000))
	}
	if cap(kept.head) > 64 || cap(kept.ring) > 64 || kept.total != 100_000_000 {
		t.Fatalf("%d %d %d", cap(kept.head), cap(kept.ring), kept.total)
	}
}

func TestLiveCountsWhatItSkips(t *testing.T) {
	l := &live{maxBytes: 4}
	l.add([]byte("abc"))
	l.add([]byte("defg"))
	if data, skipped := l.take(); string(data) != "abcd" || skipped != 3 {
		t.Fatalf("%q %d", data, skipped)
	}
	if data, skipped := l.take(); len(data) != 0 || skipped != 0 {
		t.Fatalf("%q %d", data, skipped)
	}
}
