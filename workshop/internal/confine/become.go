package confine

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// commandNice leaves the server the processor time to end a command that takes all of it.
const commandNice = 10

// Become confines this process and turns it into argv. It returns only when that failed; a confinement that the kernel
// offers but refuses is a failure, never a warning.
func Become(writable, argv, environment []string) error {
	runtime.LockOSThread()
	os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) // memory pressure takes the command, not the server
	unix.Setpriority(unix.PRIO_PROCESS, 0, commandNice)
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("setrlimit: %w", err)
	}
	unix.Umask(0o022)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := Landlock(writable); err != nil {
		return err
	}
	if SeccompAvailable() {
		if err := Seccomp(); err != nil {
			return err
		}
	}
	return unix.Exec(argv[0], argv, environment)
}
