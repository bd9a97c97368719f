package patch

import (
	"bytes"
	"fmt"
)

const contextLines = 3

// linesMax bounds the lines held at once, both sides together, equal ends left out.
const linesMax = 1_000_000

// writeHunks writes the unified hunks that turn old into new; false when the change has more than linesMax lines.
func writeHunks(out *bytes.Buffer, old, new []byte) bool {
	start := commonStart(old, new)
	end := commonEnd(old[start:], new[start:])
	oldMiddle, newMiddle := old[start:len(old)-end], new[start:len(new)-end]
	if bytes.Count(oldMiddle, lf)+bytes.Count(newMiddle, lf) > linesMax {
		return false
	}
	oldLines, newLines := splitLines(oldMiddle), splitLines(newMiddle)
	offset := bytes.Count(old[:start], lf)
	for _, h := range hunksOf(pairLines(oldLines, newLines), len(newLines)) {
		h.write(out, oldLines, newLines, offset)
	}
	return true
}

var lf = []byte("\n")

// commonStart is how many first bytes of both may be left out: whole equal lines, less the context.
func commonStart(old, new []byte) int {
	at := 0
	for most := min(len(old), len(new)); at < most && old[at] == new[at]; {
		at++
	}
	for range contextLines + 1 {
		if at = bytes.LastIndexByte(old[:at], '\n'); at < 0 {
			return 0
		}
	}
	return at + 1
}

// commonEnd is the same for the last bytes.
func commonEnd(old, new []byte) int {
	size := 0
	for most := min(len(old), len(new)); size < most && old[len(old)-1-size] == new[len(new)-1-size]; {
		size++
	}
	at := len(old) - size
	for range contextLines + 1 {
		next := bytes.IndexByte(old[at:], '\n')
		if next < 0 {
			return 0
		}
		at += next + 1
	}
	return len(old) - at
}

// step is one line of a hunk: kept (both), removed (old only) or added (new only); -1 for the side it is not on.
type step struct{ old, new int }

type hunk struct{ steps []step }

// script is all lines in patch order, removals before additions.
func script(to []int, newCount int) []step {
	var steps []step
	next := 0
	for i, j := range to {
		if j < 0 {
			steps = append(steps, step{i, -1})
			continue
		}
		for ; next < j; next++ {
			steps = append(steps, step{-1, next})
		}
		steps = append(steps, step{i, j})
		next = j + 1
	}
	for ; next < newCount; next++ {
		steps = append(steps, step{-1, next})
	}
	return steps
}

func (s step) kept() bool { return s.old >= 0 && s.new >= 0 }

// hunksOf groups the changes with contextLines around them; groups whose context touches are one.
func hunksOf(to []int, newCount int) []hunk {
	steps := script(to, newCount)
	var hunks []hunk
	for at := 0; at < len(steps); {
		if steps[at].kept() {
			at++
			continue
		}
		end, quiet := at, 0
		for scan := at; scan < len(steps) && quiet <= 2*contextLines; scan++ {
			quiet++
			if !steps[scan].kept() {
				end, quiet = scan+1, 0
			}
		}
		from, to := max(0, at-contextLines), min(len(steps), end+contextLines)
		hunks = append(hunks, hunk{steps[from:to]})
		at = to
	}
	return hunks
}

// write writes the hunk; offset is how many equal lines before old and new are left out.
func (h hunk) write(out *bytes.Buffer, old, new [][]byte, offset int) {
	oldStart, oldCount := span(h.steps, func(s step) int { return s.old })
	newStart, newCount := span(h.steps, func(s step) int { return s.new })
	fmt.Fprintf(out, "@@ -%s +%s @@\n", position(oldStart+offset, oldCount), position(newStart+offset, newCount))
	for _, s := range h.steps {
		switch {
		case s.kept():
			line(out, ' ', old[s.old])
		case s.old >= 0:
			line(out, '-', old[s.old])
		default:
			line(out, '+', new[s.new])
		}
	}
}

func span(steps []step, side func(step) int) (start, count int) {
	start = -1
	for _, s := range steps {
		if at := side(s); at >= 0 {
			if start < 0 {
				start = at
			}
			count++
		}
	}
	return start, count
}

// position is a hunk's place on one side. With context, a side without lines is an empty file.
func position(start, count int) string {
	switch count {
	case 1:
		return fmt.Sprint(start + 1)
	case 0:
		return "0,0"
	}
	return fmt.Sprintf("%d,%d", start+1, count)
}

func line(out *bytes.Buffer, mark byte, text []byte) {
	out.WriteByte(mark)
	out.Write(text)
	if !bytes.HasSuffix(text, []byte("\n")) {
		out.WriteString("\n\\ No newline at end of file\n")
	}
}
