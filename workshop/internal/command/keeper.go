package command

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Files a keeper is started with, beside the command's own 0, 1 and 2.
const (
	statusFD  = 3 // written: one byte when the command exists, then the shell's wait status
	controlFD = 4 // read: end of file means that the server is gone or done with the call
	folderFD  = 5 // the command's working directory
)

// Keep is the process between server and command, one for each call. All that the command starts, in whatever session
// and however often it forks, comes back to this process when orphaned; so "the processes of a call" has one meaning.
func Keep(argv []string) error {
	for _, err := range []error{
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Fchdir(folderFD),
	} {
		if err != nil {
			return fmt.Errorf("keeper: %w", err)
		}
	}
	unix.Close(folderFD)
	unix.CloseOnExec(statusFD)
	unix.CloseOnExec(controlFD)
	go endWithServer()
	child, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	unix.Write(statusFD, []byte{1})
	dropOutput()
	reap(child)
	return nil
}

// dropOutput lets go of the command's streams, so that their end is seen when the command's last process is gone.
func dropOutput() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		unix.Dup3(null, fd, 0)
	}
}

// reap waits for everything below; the first child's status goes to the server at once.
func reap(child int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return
		case pid == child:
			var word [4]byte
			binary.BigEndian.PutUint32(word[:], uint32(status))
			unix.Write(statusFD, word[:])
			unix.Close(statusFD)
		}
	}
}

// endWithServer kills what is left when the server closes its end or dies.
func endWithServer() {
	var one [1]byte
	os.NewFile(controlFD, "control").Read(one[:]) // nothing is ever written: this returns at the end only
	killBelow(os.Getpid())
	os.Exit(0)
}
