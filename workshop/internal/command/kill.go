package command

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	killMaxTime    = 20 * time.Second
	crowdCount     = 32 // above it, processes are stopped before they are killed
	killPause      = time.Millisecond
	killPauseMost  = 20 * time.Millisecond
	freezeRounds   = 50 // then a crowd is killed as it is
	sweepMaxRounds = 400
)

// killBelow kills every descendant of ancestor until none is left, and gives how many it met. It ends after
// killMaxTime, so that a process the kernel cannot end does not hold the call.
func killBelow(ancestor int) int {
	met := map[int]bool{}
	end := time.Now().Add(killMaxTime)
	for pause := killPause; time.Now().Before(end); pause = min(2*pause, killPauseMost) {
		found := below(table(), ancestor)
		if len(found) == 0 {
			break
		}
		if len(found) > crowdCount {
			found = freeze(ancestor, found)
		}
		for _, one := range found {
			met[one.pid] = true
		}
		signalAll(found, unix.SIGKILL)
		time.Sleep(pause)
	}
	return len(met)
}

// freeze stops a crowd until nobody in it runs. Killing at once would give a fork bomb back the room and the processor
// time it needs to go on; what is stopped neither forks nor competes with us. Some can be killed but not stopped (one
// that waits for its vfork), and one traced has other threads: so all are signalled, for a bounded number of rounds.
func freeze(ancestor int, found []process) []process {
	for range freezeRounds {
		signalAll(found, unix.SIGSTOP)
		time.Sleep(killPause)
		found = below(table(), ancestor)
		if !slices.ContainsFunc(found, func(one process) bool { return !one.stopped }) {
			break
		}
	}
	return found
}
