package command

import (
	"time"

	"golang.org/x/sys/unix"
)

const killRoundsMaxCount = 400

// killBelow kills every descendant of ancestor until none is left, and gives how many it met. A fork in flight is
// caught by the next round; rounds are bounded so that an unkillable process cannot hold the call.
func killBelow(ancestor, rounds int) int {
	met := map[int]bool{}
	for round := range rounds {
		found := below(table(), ancestor)
		if len(found) == 0 {
			break
		}
		for _, one := range found {
			met[one.pid] = true
		}
		signalAll(found, unix.SIGKILL)
		time.Sleep(min(time.Millisecond<<min(round, 5), 20*time.Millisecond))
	}
	return len(met)
}
