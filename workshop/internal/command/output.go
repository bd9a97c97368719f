package command

import (
	"sync"
	"unicode/utf8"
)

// output keeps the head and the tail of a stream and counts the rest. Memory is head plus tail, whatever comes. Safe
// for one that adds and others that look.
type output struct {
	mutex            sync.Mutex
	headMax, tailMax int
	head             []byte
	ring             []byte // the last tailMax bytes behind the head; full: at is where the oldest lies
	at               int
	total            int64
}

func newOutput(headMax, tailMax int) *output { return &output{headMax: headMax, tailMax: tailMax} }

func (o *output) add(data []byte) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.total += int64(len(data))
	if room := o.headMax - len(o.head); room > 0 {
		take := min(room, len(data))
		o.head = append(o.head, data[:take]...)
		data = data[take:]
	}
	if len(data) > o.tailMax {
		data = data[len(data)-o.tailMax:]
	}
	if room := o.tailMax - len(o.ring); room > 0 {
		take := min(room, len(data))
		o.ring = append(o.ring, data[:take]...)
		data = data[take:]
	}
	for len(data) > 0 {
		copied := copy(o.ring[o.at:], data)
		o.at = (o.at + copied) % o.tailMax
		data = data[copied:]
	}
}

func (o *output) size() int64 {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.total
}

// parts gives head, tail, how many bytes between them are left out, and how many there were in all. Where bytes are
// left out, no character is cut.
func (o *output) parts() (head, tail []byte, omitted, total int64) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	head = append([]byte{}, o.head...)
	tail = append(append([]byte{}, o.ring[o.at:]...), o.ring[:o.at]...)
	omitted = o.total - int64(len(head)) - int64(len(tail))
	if omitted == 0 {
		return head, tail, 0, o.total
	}
	head = head[:len(head)-cutAtEnd(head)]
	tail = tail[cutAtStart(tail):]
	return head, tail, o.total - int64(len(head)) - int64(len(tail)), o.total
}

// cutAtEnd is how many last bytes are the beginning of a character that does not end.
func cutAtEnd(data []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		last := data[len(data)-back:]
		if utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return back
		}
	}
	return 0
}

// cutAtStart is how many first bytes are the end of a character that began before.
func cutAtStart(data []byte) int {
	at := 0
	for at < len(data) && at < utf8.UTFMax-1 && !utf8.RuneStart(data[at]) {
		at++
	}
	return at
}

// live is the copy of the stream a person watches: at most maxBytes between two takes, the rest only counted.
type live struct {
	maxBytes int
	data     []byte
	skipped  int64
}

func (l *live) add(data []byte) {
	take := min(l.maxBytes-len(l.data), len(data))
	l.data = append(l.data, data[:take]...)
	l.skipped += int64(len(data) - take)
}

func (l *live) take() (data []byte, skipped int64) {
	data, skipped = l.data, l.skipped
	l.data, l.skipped = nil, 0
	return data, skipped
}
