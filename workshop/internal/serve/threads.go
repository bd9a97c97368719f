package serve

import (
	"runtime"
	"sync"
)

// spareThreads are made at the start: when a command has used up the pod's process limit, the runtime could not make
// one and would end the server.
const spareThreads = 32

// warmUp makes spareThreads threads and leaves them idle, for the runtime to use later.
func warmUp() {
	var made, finished sync.WaitGroup
	release := make(chan struct{})
	for range spareThreads {
		made.Add(1)
		finished.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			made.Done()
			<-release
		})
	}
	made.Wait()
	close(release)
	finished.Wait()
}
