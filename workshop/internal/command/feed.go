package command

import (
	"os"
	"sync"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

// feed carries input to a command in order, holding at most StdinQueueMaxBytes that the command has not read.
type feed struct {
	mutex  sync.Mutex
	wake   *sync.Cond
	queue  []byte
	eof    bool
	broken bool
	pipe   *os.File
}

func newFeed(pipe *os.File) *feed {
	f := &feed{pipe: pipe}
	f.wake = sync.NewCond(&f.mutex)
	go f.pump()
	return f
}

func (f *feed) add(data []byte, eof bool) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch {
	case f.broken || f.eof:
		return frame.Faultf(frame.InvalidArgument, "the command's input is closed")
	case len(f.queue)+len(data) > limit.StdinQueueMaxBytes:
		return frame.Faultf(frame.Busy, "the command has not read the last %d bytes of its input", len(f.queue))
	}
	f.queue = append(f.queue, data...)
	f.eof = eof
	f.wake.Signal()
	return nil
}

func (f *feed) pump() {
	for {
		f.mutex.Lock()
		for len(f.queue) == 0 && !f.eof && !f.broken {
			f.wake.Wait()
		}
		data := f.queue
		f.queue = nil
		done := f.broken || len(data) == 0
		f.mutex.Unlock()
		if done {
			f.pipe.Close()
			return
		}
		if _, err := f.pipe.Write(data); err != nil {
			f.close()
		}
	}
}

// close gives up: what is queued is lost and a write under way fails.
func (f *feed) close() {
	f.mutex.Lock()
	f.broken = true
	f.wake.Signal()
	f.mutex.Unlock()
	f.pipe.Close()
}
