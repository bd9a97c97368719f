package command

import (
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

// earlyEnd is how long a background command is watched before its start is told: one that fails at once says so.
const earlyEnd = 300 * time.Millisecond

// declared is a background command: the caller asked for it to outlive its call. Its number is never used again.
type declared struct {
	number  int64
	command string // as it is listed
	request int64
	call    *call
	done    chan struct{} // closed when its last process is gone and state is final

	mutex    sync.Mutex
	stopping bool
	state    string // "" while it runs
	status   unix.WaitStatus
}

// board lists the background commands of the server's life: all that run, and the last that ended. One that is being
// started has its place before it has its number, so that no start goes over the limit and no stop overlooks it.
type board struct {
	mutex    sync.Mutex
	last     int64
	starting []*declared
	all      []*declared
}

// reserve gives a command that is to be started its place; nil when BackgroundMaxCount run.
func (b *board) reserve(request *frame.Exec) *declared {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	count := len(b.starting)
	for _, one := range b.all {
		if !one.isOver() {
			count++
		}
	}
	if count >= limit.BackgroundMaxCount {
		return nil
	}
	one := &declared{command: listed(request.Command), request: request.ID, done: make(chan struct{})}
	b.starting = append(b.starting, one)
	return one
}

// drop takes back the place of a command that did not start, or ended at once. Whoever stops it need not wait.
func (b *board) drop(one *declared, status unix.WaitStatus) {
	one.end(status, false)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.unreserve(one)
}

func (b *board) unreserve(one *declared) {
	b.starting = slices.DeleteFunc(b.starting, func(other *declared) bool { return other == one })
}

// add numbers one and forgets the oldest that ended when BackgroundKeptMaxCount are known.
func (b *board) add(one *declared) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.unreserve(one)
	b.last++
	one.number = b.last
	b.all = append(b.all, one)
	for at := 0; len(b.all) > limit.BackgroundKeptMaxCount && at < len(b.all); {
		if b.all[at].isOver() {
			b.all = append(b.all[:at:at], b.all[at+1:]...)
			continue
		}
		at++
	}
}

func (b *board) list() []*declared {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return append([]*declared{}, b.all...)
}

// living are those that have not ended, whether they have a number already or not.
func (b *board) living() []*declared {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return slices.DeleteFunc(slices.Concat(b.starting, b.all), (*declared).isOver)
}

func (b *board) find(number int64) *declared {
	for _, one := range b.list() {
		if one.number == number {
			return one
		}
	}
	return nil
}

func (d *declared) isOver() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// background lets the command run on, its newest output kept in memory within the request's bounds. A command that
// ends within a moment, with all it started, is answered like a foreground one.
func (r *Runner) background(request *frame.Exec, j *job, one *declared) *frame.ExecResult {
	c := newCall(request, j, func([]byte, int64) {})
	one.call = c
	began := time.Now()
	result := &frame.ExecResult{Ended: "started"}
	if c.until(j.ended, earlyEnd) || one.isStopping() {
		r.leave(request.ID)
		c.drain()
		result.ElapsedMilliseconds = time.Since(began).Milliseconds()
		status := <-j.status
		describe(result, status)
		r.board.drop(one, status)
	} else {
		r.board.add(one)
		go r.follow(one)
		result.Job = one.number
	}
	result.Head, result.Tail, result.OmittedBytes, result.TotalBytes = c.output.parts()
	return result
}

// listed is the beginning of a command as one line.
func listed(command string) string {
	runes := []rune(strings.Join(strings.Fields(command), " "))
	if len(runes) > limit.BackgroundCommandShownChars {
		runes = append(runes[:limit.BackgroundCommandShownChars-1], '…')
	}
	return string(runes)
}

// follow takes a background command's output until all its processes are gone, and watches their number.
func (r *Runner) follow(one *declared) {
	crowded := false
	for !one.call.until(one.call.job.ended, countInterval) {
		if len(one.call.job.processes()) > limit.CommandProcessesMaxCount {
			crowded = true
			break
		}
	}
	r.leave(one.request)
	one.call.drain()
	one.end(<-one.call.job.status, crowded)
}

func (d *declared) end(status unix.WaitStatus, crowded bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.status = status
	switch {
	case crowded:
		d.state = "process_limit"
	case d.stopping:
		d.state = "stopped"
	case status.Signaled():
		d.state = "signalled"
	default:
		d.state = "exited"
	}
	close(d.done)
}

func (d *declared) markStopping() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.stopping = true
}

func (d *declared) isStopping() bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.stopping
}

// show is what the caller is told of it.
func (d *declared) show() frame.JobState {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	shown := frame.JobState{Job: d.number, Command: d.command, State: d.state, TotalBytes: d.call.output.size()}
	switch d.state {
	case "":
		shown.State = "running"
	case "exited":
		code := d.status.ExitStatus()
		shown.ExitCode = &code
	case "signalled":
		shown.Signal = unix.SignalName(d.status.Signal())
	}
	return shown
}

// Jobs lists the background commands, or shows one with its output; stop ends it first, with all it started. Asked to
// stop without a number it ends them all, and at once: the Run is over.
func (r *Runner) Jobs(request *frame.Jobs) (*frame.JobsResult, error) {
	result := &frame.JobsResult{Jobs: []frame.JobState{}}
	if request.Job == nil {
		if request.Stop {
			r.stopAll()
		}
		for _, one := range r.board.list() {
			result.Jobs = append(result.Jobs, one.show())
		}
		return result, nil
	}
	one := r.board.find(*request.Job)
	if one == nil {
		return nil, frame.Faultf(frame.NotFound, "there is no background command %d", *request.Job)
	}
	if request.Stop && !one.isOver() {
		r.stop(one)
	}
	result.Jobs = append(result.Jobs, one.show())
	result.Head, result.Tail, result.OmittedBytes, _ = one.call.output.parts()
	return result, nil
}

// stopAll kills every background command and what it started.
func (r *Runner) stopAll() {
	var all sync.WaitGroup
	for _, one := range r.board.living() {
		all.Go(func() {
			one.markStopping()
			r.leave(one.request)
			<-one.done
		})
	}
	all.Wait()
}

// stop asks first and kills after the grace.
func (r *Runner) stop(one *declared) {
	one.markStopping()
	one.call.job.signal(unix.SIGTERM)
	timer := time.NewTimer(termGrace)
	defer timer.Stop()
	select {
	case <-one.done:
		return
	case <-timer.C:
	}
	r.leave(one.request)
	<-one.done
}
