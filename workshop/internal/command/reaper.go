package command

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// registry knows which children of this process are keepers. Any other child is an orphan whose keeper was killed.
type registry struct {
	mutex sync.Mutex
	pids  map[int]bool
}

var keepers = &registry{pids: map[int]bool{}}

func (r *registry) start(keeper *exec.Cmd) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := keeper.Start(); err != nil {
		return err
	}
	r.pids[keeper.Process.Pid] = true
	return nil
}

func (r *registry) forget(pid int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.pids, pid)
}

// sweep kills living orphans and reaps dead ones, again and again until none is left.
func (r *registry) sweep() {
	for range sweepMaxRounds {
		if r.sweepOnce() == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *registry) sweepOnce() (met int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	self := os.Getpid()
	for _, one := range table() {
		if one.parent != self || r.pids[one.pid] {
			continue
		}
		met++
		if !one.zombie {
			unix.Kill(one.pid, unix.SIGKILL)
		}
		unix.Wait4(one.pid, nil, unix.WNOHANG, nil)
	}
	return met
}

// Adopt makes this process the reaper of all that its commands leave behind, as PID 1 or not.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	go func() {
		for range deaths {
			keepers.sweep()
		}
	}()
	return nil
}
