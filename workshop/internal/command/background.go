package command

import (
	"fmt"
	"os"
	"path"
	"time"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

const earlyEnd = 300 * time.Millisecond

func (r *Runner) backgroundCount() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	count := 0
	for _, j := range r.jobs {
		if j.background {
			count++
		}
	}
	return count
}

// background lets the command run on, its output going to a bounded log file below the temporary directory. A command
// that ends within a moment, with all it started, is answered like a foreground one.
func (r *Runner) background(request *frame.Exec, j *job) (*frame.ExecResult, error) {
	name := path.Join(r.tmp, fmt.Sprintf("background-%d.log", request.ID))
	log, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		r.leave(request.ID)
		return nil, frame.FromErrno(err, "the background log")
	}
	sink := &logSink{file: log}
	c := newCall(request, j, func(data []byte, _ int64) { sink.add(data) })
	c.live.maxBytes = limit.BackgroundLogMaxBytes
	began := time.Now()
	if !c.until(j.ended, earlyEnd) {
		c.show()
		go r.follow(request.ID, c, sink)
		text := []byte("running in the background; output goes to " + name + "\n")
		return &frame.ExecResult{Ended: "started", Head: text, TotalBytes: int64(len(text))}, nil
	}
	r.leave(request.ID)
	c.drain()
	log.Close()
	os.Remove(name)
	result := &frame.ExecResult{ElapsedMilliseconds: time.Since(began).Milliseconds(), TotalBytes: c.output.total}
	describe(result, <-j.status)
	result.Head, result.Tail, result.OmittedBytes = c.output.parts()
	return result, nil
}

// follow writes a background command's output to its log until all its processes are gone, and watches their number.
func (r *Runner) follow(id int64, c *call, sink *logSink) {
	for !c.until(c.job.ended, countInterval) {
		c.show()
		if len(c.job.processes()) > limit.CommandProcessesMaxCount {
			sink.add([]byte("\nended: too many processes\n"))
			break
		}
	}
	r.leave(id)
	c.drain()
	sink.file.Close()
}

// logSink is a file that takes BackgroundLogMaxBytes and no more.
type logSink struct {
	file *os.File
	size int
}

func (s *logSink) add(data []byte) {
	room := limit.BackgroundLogMaxBytes - s.size
	if room <= 0 {
		return
	}
	s.file.Write(data[:min(room, len(data))])
	if s.size += len(data); s.size >= limit.BackgroundLogMaxBytes {
		s.file.WriteString("\n[the log is full; later output is left out]\n")
	}
}
