// Package patch writes the change set as one patch that `git apply` takes. It runs no git and reads no git setting.
package patch

import (
	"bytes"
	"sort"
)

// distanceMax bounds the work on one stretch without a line that is unique on both sides; beyond it the whole stretch
// is shown as replaced, which is longer but as true.
const distanceMax = 1_000

// splitLines cuts text behind every "\n"; the last line may lack it.
func splitLines(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// pairing says for each old line which new line it became: -1 for none. Pairs never cross.
type pairing struct {
	old, new []int // line identities
	to       []int
}

func pairLines(old, new [][]byte) []int {
	identities := map[string]int{}
	p := &pairing{old: identify(old, identities), new: identify(new, identities), to: make([]int, len(old))}
	for i := range p.to {
		p.to[i] = -1
	}
	p.match(0, len(old), 0, len(new))
	return p.to
}

func identify(lines [][]byte, identities map[string]int) []int {
	ids := make([]int, len(lines))
	for i, line := range lines {
		id, known := identities[string(line)]
		if !known {
			id = len(identities)
			identities[string(line)] = id
		}
		ids[i] = id
	}
	return ids
}

// match pairs old[a:b] with new[c:d]: equal ends first, then lines unique on both sides, then shortest edit.
func (p *pairing) match(a, b, c, d int) {
	for a < b && c < d && p.old[a] == p.new[c] {
		p.to[a] = c
		a, c = a+1, c+1
	}
	for a < b && c < d && p.old[b-1] == p.new[d-1] {
		b, d = b-1, d-1
		p.to[b] = d
	}
	if a == b || c == d {
		return
	}
	anchors := p.anchors(a, b, c, d)
	if len(anchors) == 0 {
		p.shortest(a, b, c, d)
		return
	}
	for _, anchor := range anchors {
		p.to[anchor.old] = anchor.new
		p.match(a, anchor.old, c, anchor.new)
		a, c = anchor.old+1, anchor.new+1
	}
	p.match(a, b, c, d)
}

type anchor struct{ old, new int }

// anchors are the longest rising run of lines that occur exactly once on each side.
func (p *pairing) anchors(a, b, c, d int) []anchor {
	type place struct{ oldCount, newCount, old, new int }
	places := map[int]*place{}
	for i := a; i < b; i++ {
		if places[p.old[i]] == nil {
			places[p.old[i]] = &place{}
		}
		places[p.old[i]].oldCount++
		places[p.old[i]].old = i
	}
	for j := c; j < d; j++ {
		if at := places[p.new[j]]; at != nil {
			at.newCount++
			at.new = j
		}
	}
	var unique []anchor
	for i := a; i < b; i++ {
		if at := places[p.old[i]]; at.oldCount == 1 && at.newCount == 1 {
			unique = append(unique, anchor{at.old, at.new})
		}
	}
	return rising(unique)
}

// rising is the longest subsequence with rising new positions (patience sorting).
func rising(all []anchor) []anchor {
	var tops []int // index into all of the smallest end of a run of each length
	before := make([]int, len(all))
	for i, one := range all {
		at := sort.Search(len(tops), func(k int) bool { return all[tops[k]].new > one.new })
		before[i] = -1
		if at > 0 {
			before[i] = tops[at-1]
		}
		if at == len(tops) {
			tops = append(tops, i)
		} else {
			tops[at] = i
		}
	}
	if len(tops) == 0 {
		return nil
	}
	run := make([]anchor, len(tops))
	for i, at := len(tops)-1, tops[len(tops)-1]; i >= 0; i-- {
		run[i] = all[at]
		at = before[at]
	}
	return run
}

// shortest is Myers' greedy algorithm, given up at distanceMax.
func (p *pairing) shortest(a, b, c, d int) {
	n, m := b-a, d-c
	most := min(n+m, distanceMax)
	reach := make([]int, 2*most+2)
	at := func(k int) int { return k + most }
	var trace [][]int
	for distance := 0; distance <= most; distance++ {
		trace = append(trace, append([]int{}, reach[max(0, at(-distance)-1):min(len(reach), at(distance)+2)]...))
		for k := -distance; k <= distance; k += 2 {
			x := 0
			if distance > 0 {
				if k == -distance || k != distance && reach[at(k-1)] < reach[at(k+1)] {
					x = reach[at(k+1)]
				} else {
					x = reach[at(k-1)] + 1
				}
			}
			for x < n && x-k < m && p.old[a+x] == p.new[c+x-k] {
				x++
			}
			reach[at(k)] = x
			if x >= n && x-k >= m {
				p.back(a, c, n, m, distance, trace, most)
				return
			}
		}
	}
}

// back walks the trace from the end and notes the equal lines on the way.
func (p *pairing) back(a, c, x, y, distance int, trace [][]int, most int) {
	for ; distance > 0; distance-- {
		first := max(0, most-distance-1)
		reach := func(k int) int { return trace[distance][k+most-first] }
		k := x - y
		down := k == -distance || k != distance && reach(k-1) < reach(k+1)
		from := k - 1
		if down {
			from = k + 1
		}
		fromX := reach(from)
		startX := fromX
		if !down {
			startX++
		}
		for ; x > startX; x, y = x-1, y-1 {
			p.to[a+x-1] = c + y - 1
		}
		x, y = fromX, fromX-from
	}
	for ; x > 0; x, y = x-1, y-1 {
		p.to[a+x-1] = c + y - 1
	}
}
