package command

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

const (
	// A command that ignores TERM must be gone within its limit and COMMAND_KILL_GRACE_SECONDS, reaping included.
	termGrace     = limit.CommandKillGraceSeconds*time.Second - 500*time.Millisecond
	lingerGrace   = 100 * time.Millisecond // for `> >(tee log)` and the like, after the shell is gone
	drainGrace    = 500 * time.Millisecond
	countInterval = 150 * time.Millisecond
	crowdInterval = 20 * time.Millisecond // while many processes live
)

// call is one foreground command under way.
type call struct {
	request *frame.Exec
	job     *job
	emit    Emit
	output  *output
	live    *live
	pieces  chan []byte
	last    time.Time // of output, or of the start
}

func newCall(request *frame.Exec, j *job, emit Emit) *call {
	c := &call{
		request: request, job: j, emit: emit, pieces: make(chan []byte), last: time.Now(),
		output: newOutput(request.HeadBytes, request.TailBytes), live: &live{maxBytes: limit.LivePieceMaxBytes},
	}
	go pump(j, c.pieces)
	return c
}

// pump reads the command's output until its end; it holds one piece at a time.
func pump(j *job, pieces chan<- []byte) {
	defer close(pieces)
	defer j.out.Close()
	buffer := make([]byte, 32*limit.KiB)
	for {
		size, err := j.out.Read(buffer)
		if size > 0 {
			pieces <- append([]byte{}, buffer[:size]...)
		}
		if err != nil {
			return
		}
	}
}

func (c *call) run(ctx context.Context) (*frame.ExecResult, error) {
	began := time.Now()
	ended, status, killed := c.wait(ctx)
	c.drain()
	if ended == "cancelled" {
		return nil, frame.Faultf(frame.Cancelled, "the command was cancelled and ended with all its processes")
	}
	result := &frame.ExecResult{Ended: ended, KilledProcesses: killed, ElapsedMilliseconds: time.Since(began).Milliseconds()}
	if ended == "" {
		describe(result, status)
	}
	result.Head, result.Tail, result.OmittedBytes, result.TotalBytes = c.output.parts()
	return result, nil
}

// wait follows the command until its shell has ended or a limit is met, and ends what is left. ended is "" when the
// shell ended by itself.
func (c *call) wait(ctx context.Context) (ended string, status unix.WaitStatus, killed int) {
	wall := time.NewTimer(seconds(c.request.WallSeconds))
	show := time.NewTicker(limit.LiveIntervalMilliseconds * time.Millisecond)
	count := time.NewTimer(countInterval)
	defer wall.Stop()
	defer show.Stop()
	defer count.Stop()
	pieces := c.pieces
	for {
		select {
		case piece, more := <-pieces:
			if !more {
				pieces = nil
				continue
			}
			c.take(piece)
		case status = <-c.job.status:
			return "", status, c.endLingering()
		case <-show.C:
			c.show()
			if time.Since(c.last) > seconds(c.request.IdleSeconds) {
				return "idle_timeout", 0, c.endPolitely(ctx)
			}
		case <-wall.C:
			return "wall_timeout", 0, c.endPolitely(ctx)
		case <-ctx.Done():
			return "cancelled", 0, c.endNow()
		case <-count.C:
			living := len(c.job.processes())
			if living > limit.CommandProcessesMaxCount {
				return "process_limit", 0, c.endNow()
			}
			count.Reset(nextCount(living))
		}
	}
}

func nextCount(living int) time.Duration {
	if living > limit.CommandProcessesMaxCount/8 {
		return crowdInterval
	}
	return countInterval
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }

func (c *call) take(piece []byte) {
	c.output.add(piece)
	c.live.add(piece)
	c.last = time.Now()
}

func (c *call) show() {
	if data, skipped := c.live.take(); len(data) > 0 || skipped > 0 {
		c.emit(data, skipped)
	}
}

// until takes output until done is closed or the time is over; it says whether done came first.
func (c *call) until(done <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	pieces := c.pieces
	for {
		select {
		case piece, more := <-pieces:
			if !more {
				pieces = nil
				continue
			}
			c.take(piece)
		case <-done:
			return true
		case <-timer.C:
			return false
		}
	}
}

// endLingering gives what the shell left a moment to finish, then kills it.
func (c *call) endLingering() int {
	if c.until(c.job.ended, lingerGrace) {
		return 0
	}
	return c.endNow()
}

// endPolitely asks first and kills after the grace.
func (c *call) endPolitely(ctx context.Context) int {
	before := len(c.job.processes())
	c.job.signal(unix.SIGTERM)
	if !c.until(c.job.ended, termGrace) {
		c.endNow()
	}
	return before
}

// endNow kills everything. The kill runs aside, since a process may have to write before it can die.
func (c *call) endNow() int {
	killed := make(chan int, 1)
	done := make(chan struct{})
	go func() {
		killed <- c.job.end()
		close(done)
	}()
	c.until(done, 10*time.Second)
	select {
	case count := <-killed:
		return count
	default:
		return 0
	}
}

// drain takes what is still in the pipe; a process that escaped every net cannot hold it open.
func (c *call) drain() {
	c.job.out.SetReadDeadline(time.Now().Add(drainGrace))
	for piece := range c.pieces {
		c.take(piece)
	}
	c.show()
}

func describe(result *frame.ExecResult, status unix.WaitStatus) {
	if status.Signaled() {
		result.Ended, result.Signal = "signalled", unix.SignalName(status.Signal())
		return
	}
	code := status.ExitStatus()
	result.Ended, result.ExitCode = "exited", &code
}
